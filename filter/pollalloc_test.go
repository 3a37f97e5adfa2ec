package filter_test

import (
	"testing"

	"github.com/zerohop/zerohop/filter/hosttest"
	"github.com/zerohop/zerohop/filter/hosttest/lifecycletest"
	"github.com/zerohop/zerohop/shared/plan"
	"github.com/zerohop/zerohop/shared/snapshot"
)

// TestPollsDoNotAllocate answers polls, whose bodies are reports, with snapshots and deltas in turn: a leader polls a hundred
// times a second for as long as Envoy runs.
func TestPollsDoNotAllocate(t *testing.T) {
	p := hosttest.NewProcess()
	w := p.AddWorker(hosttest.NewNative)
	if !w.LoadBoth(plan.Append(nil, lifecycletest.Plan(plan.DestinationHeader, 0))) {
		t.Fatalf("plan refused: %v", p.Logs)
	}
	eps := make([]int, 200)
	for i := range eps {
		eps[i] = i + 1
	}
	whole := [][]byte{lifecycletest.Snapshot(1, eps...), lifecycletest.Snapshot(2, eps...)}
	delta, ok := snapshot.AppendDelta(nil, whole[0], whole[1])
	if !ok {
		t.Fatal("no delta")
	}
	reports := 0
	answer := func(b []byte) {
		p.Advance(300e6)
		w.Tick()
		calls := w.Calls()
		if len(calls) != 1 {
			t.Fatalf("%d polls are open", len(calls))
		}
		if len(calls[0].Body) > 0 {
			reports++
		}
		w.Answer(calls[0].Token, 200, b)
	}
	r := lifecycletest.Chat(lifecycletest.ChatBody(lifecycletest.Text("poll", 600)))
	run := func() {
		answer(whole[0])
		answer(delta)
		w.Do(&r)
	}
	for range 300 {
		run()
	}
	if n := testing.AllocsPerRun(50, run); n != 0 {
		t.Errorf("%v allocations for two polls", n)
	}
	if errs := p.Metric("zerohop_delta_errors_total").Value + p.Metric("zerohop_snapshot_errors_total").Value; errs != 0 || reports < 600 {
		t.Errorf("%d errors, %d reports", errs, reports)
	}
	if len(p.Faults)+len(p.Panics) != 0 {
		t.Errorf("faults %v, panics %v", p.Faults, p.Panics)
	}
}
