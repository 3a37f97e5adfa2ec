package lifecycletest

import (
	"strconv"
	"testing"
	"time"

	"github.com/zerohop/zerohop/filter/hosttest"
	"github.com/zerohop/zerohop/shared/loads"
	"github.com/zerohop/zerohop/shared/names"
	"github.com/zerohop/zerohop/shared/plan"
)

// logBytes returns the length of the log of worker number i.
func (w *world) logBytes(i int) int { return w.SharedBytes("zerohop.log." + strconv.Itoa(i) + ".") }

// dumperLost kills the VM that writes the dump, whose last one has more chunks than its successor writes at once. A VM that starts
// while the successor is at it has all of the old dump.
func dumperLost(t *testing.T, s Subject) {
	w := newWorld(t, s, edge(Plan(plan.DestinationHeader, 4)))
	w.plan.Bounds.IndexBlocks, w.plan.Prefix.LRUCapacityPerServer = 1<<18, 1<<16
	w.plan.Sharing = plan.Sharing{Mode: plan.SharingProcess, IntervalUs: 2000, LogBytes: 30_000} // the logs have few prompts
	k := w.workers(4)
	const prompts = 90
	long := func(i int) hosttest.Request { return Chat(ChatBody(Text("d"+strconv.Itoa(i), 200_000))) }
	for i := range prompts {
		r := long(i)
		w.do(k[1], &r, hosttest.ToEndpoint)
		w.Run(100 * time.Millisecond)
	}
	w.Run(3 * time.Second)
	r := Chat(ChatBody(short))
	w.do(k[2], &r, hosttest.ToEndpoint) // this one is to write the dump
	w.Run(5 * time.Second)
	k[1].Kill()
	chunk := w.Shared(names.KeyDump(0))
	for string(chunk) == string(w.Shared(names.KeyDump(0))) {
		w.Run(100 * time.Millisecond)
	}
	w.do(k[3], &r, hosttest.ToEndpoint)
	w.Run(time.Second)
	was, all := w.Metric("zerohop_prefix_matched_blocks_total").Value, w.Metric("zerohop_prefix_blocks_total").Value
	for i := range prompts {
		r := long(i)
		w.do(k[3], &r, hosttest.ToEndpoint)
	}
	w.Run(100 * time.Millisecond)
	was, all = w.Metric("zerohop_prefix_matched_blocks_total").Value-was, w.Metric("zerohop_prefix_blocks_total").Value-all
	if all < 60_000 || was < all*95/100 { // a little is in neither dump where one goes over into the other
		t.Errorf("%d of %d blocks are known", was, all)
	}
	w.check()
}

// logsOfTheLost loses a VM again and again: what its predecessors have logged does not stay for ever, and what they knew does.
func logsOfTheLost(t *testing.T, s Subject) {
	w := newWorld(t, s, edge(Plan(plan.DestinationHeader, 4)))
	k := w.workers(3)
	w.spread(k[0])
	numbers := 0
	for i := range 20 {
		r := prompt(i)
		w.do(k[1], &r, hosttest.ToEndpoint)
		w.Run(300 * time.Millisecond)
		k[1].Rebuild()
	}
	for ; w.Shared(names.KeyWorker(numbers)) != nil; numbers++ {
		if numbers > 2 && w.logBytes(numbers) == 0 {
			t.Errorf("the VM with number %d has logged nothing", numbers)
		}
	}
	if numbers < 10 {
		t.Fatalf("%d numbers were taken: the test shows nothing", numbers)
	}
	w.Run(12 * time.Second)
	for i := range numbers {
		v, err := loads.Open(w.Shared(names.KeyLoad(i)))
		if err != nil {
			t.Fatal(err)
		}
		lost := uint64(w.Now()) > v.At+uint64(time.Second)
		if n := w.logBytes(i); lost && n != 0 || !lost && v.Head > 0 && n == 0 {
			t.Errorf("12 s later %d bytes of number %d are there, lost: %v", n, i, lost)
		}
	}
	for i := range 20 {
		w.known(k[1], i, "after the logs have gone")
	}
	w.check()
}

// logIsInherited lets a VM log again after sharing was off, and another one take its number when it is gone: what has been logged
// under the number is within the budget all the time.
func logIsInherited(t *testing.T, s Subject) {
	w := newWorld(t, s, edge(Plan(plan.DestinationHeader, 4)))
	w.plan.Sharing = plan.Sharing{Mode: plan.SharingProcess, IntervalUs: 2000, LogBytes: 20_000}
	k := w.workers(2)[1]
	bounded := func(k *hosttest.Worker, when string) {
		for i := range 50 {
			r := Chat(ChatBody(Text(when+strconv.Itoa(i), 9000)))
			w.do(k, &r, hosttest.ToEndpoint)
			if n := w.logBytes(1); n > w.plan.Sharing.LogBytes || i == 49 && n < 15_000 {
				t.Fatalf("%s, after %d requests: the log has %d bytes", when, i+1, n)
			}
		}
	}
	bounded(k, "first")
	for _, mode := range []string{plan.SharingWorker, plan.SharingProcess} {
		w.plan.Sharing.Mode = mode
		k.Load(names.RootDownstream, plan.Append(nil, w.plan))
		w.Run(time.Second)
	}
	bounded(k, "off and on again")
	k.Kill()
	w.Run(4 * time.Second)
	bounded(w.worker(), "inherited")
	w.check()
}

// fewLooks counts what a decision reads where many VMs were lost: no more than the vectors of those that live, and a few others.
func fewLooks(t *testing.T, s Subject) {
	w := newWorld(t, s, edge(Plan(plan.DestinationHeader, 4)))
	k := w.workers(3)
	r := Chat(ChatBody(short))
	for range 20 {
		w.do(k[1], &r, hosttest.ToEndpoint)
		k[1].Rebuild()
	}
	w.do(k[2], &r, hosttest.ToEndpoint)
	w.Run(2 * time.Second)
	reads := 0
	k[2].Host.OnCall = func(name string) {
		if name == "Shared" {
			reads++
		}
	}
	w.Advance(pause)
	w.do(k[2], &r, hosttest.ToEndpoint)
	if reads == 0 || reads > 8 {
		t.Errorf("%d reads for a decision", reads)
	}
	w.check()
}

// noNumberFree lets other VMs have all numbers: the one without serves requests, and does not search at each of them.
func noNumberFree(t *testing.T, s Subject) {
	w := newWorld(t, s, edge(Plan(plan.DestinationHeader, 4)))
	k := w.workers(1)
	record := w.Shared(names.KeyWorker(0))
	late := w.worker()
	take := func() {
		k[0].Tick()
		record = w.Shared(names.KeyWorker(0))
		for i := 1; i < names.MaxWorkers; i++ {
			w.Put(names.KeyWorker(i), record)
		}
	}
	take()
	r := Chat(ChatBody(short))
	w.do(late, &r, hosttest.ToEndpoint)
	reads := 0
	late.Host.OnCall = func(name string) {
		if name == "Shared" {
			reads++
		}
	}
	for range 20 {
		w.do(late, &r, hosttest.ToEndpoint)
	}
	if reads > 2*names.MaxWorkers {
		t.Errorf("%d reads for 20 requests", reads)
	}
	late.Host.OnCall = nil
	w.Run(5 * time.Second) // the others are gone
	open := receive(late, &r, 3)
	w.wantInFlight("with a number at last", 3)
	finishOpen(open)
	w.check()
}

// newestRootGone takes the newest configuration away, as when its listener is removed: the VM goes on by the one before, its load
// counts, and its polls go on.
func newestRootGone(t *testing.T, s Subject) {
	w := newWorld(t, s, Plan(plan.DestinationHeader, 2))
	w.listen(1, 2)
	k := w.workers(2)
	root, ok := k[1].Load(names.RootDownstream, plan.Append(nil, w.plan))
	root0, ok0 := k[0].Load(names.RootDownstream, plan.Append(nil, w.plan))
	if !ok || !ok0 {
		t.Fatal("the plan was refused")
	}
	w.Run(time.Second)
	k[0].Unload(root0)
	k[1].Unload(root)
	r := Chat(ChatBody(short))
	open := receive(k[1], &r, 2)
	w.Run(3 * time.Second)
	w.wantInFlight("after the newest root has gone", 2)
	w.Agent.Publish(2, Snapshot(2, 1))
	w.Run(2 * time.Second)
	finishOpen(open)
	for i := range 4 {
		r := prompt(i)
		w.wantHost(w.do(k[1], &r, hosttest.ToEndpoint), 1)
	}
	w.check()
}
