package lifecycletest

import (
	"strconv"
	"testing"
	"time"

	"github.com/zerohop/zerohop/filter/hosttest"
	"github.com/zerohop/zerohop/shared/names"
	"github.com/zerohop/zerohop/shared/plan"
	"github.com/zerohop/zerohop/shared/snapshot"
)

// prompt returns a request whose prompt nobody else has.
func prompt(i int) hosttest.Request { return Chat(ChatBody(Text("p"+strconv.Itoa(i), 2000))) }

// known asserts that a worker knows where all blocks of a prompt are.
func (w *world) known(k *hosttest.Worker, i int, when string) {
	w.t.Helper()
	w.Advance(pause)
	r := prompt(i)
	if m, n := matched(w.do(k, &r, hosttest.ToEndpoint)); m != n || n == "0" {
		w.t.Errorf("%s: %s of %s blocks of prompt %d are known", when, m, n, i)
	}
}

// prefixIsShared lets each worker meet the prompts that another one has sent, and a worker that never ticks.
func prefixIsShared(t *testing.T, s Subject) {
	for _, agent := range []bool{true, false} {
		w := single(t, s, 4)
		if !agent {
			edge(w.plan)
		}
		k := w.workers(4)
		w.spread(k[0])
		for i := range 30 {
			r := prompt(i)
			first := w.do(k[i%4], &r, hosttest.ToEndpoint).Endpoint()
			w.Advance(pause)
			res := w.do(k[(i+1)%4], &r, hosttest.ToEndpoint)
			if m, n := matched(res); m != n || res.Endpoint() != first {
				t.Errorf("prompt %d: sent to %s, then pick %q", i, first, res.Pick)
			}
		}
		w.check()
		w.wantMetric("zerohop_sharing_lost_records_total", 0)
	}
}

// failureIsShared asserts that an endpoint that fails on one worker is left alone by the others, and comes back on all.
func failureIsShared(t *testing.T, s Subject) {
	w := single(t, s, 3)
	k := w.workers(3)
	r := dead(Chat(ChatBody(short)), 1)
	bad := w.do(k[1], &r, hosttest.ToEndpoint).Hosts[0]
	w.Advance(pause)
	for i := range 20 {
		r := prompt(i)
		if res := w.do(k[1+i%2], &r, hosttest.ToEndpoint); res.Hosts[0] == bad {
			t.Errorf("request %d went to the endpoint that has just failed", i)
		}
	}
	w.Run(2 * time.Second)
	seen := 0
	for i := range 40 {
		r := prompt(100 + i)
		if w.do(k[1+i%2], &r, hosttest.ToEndpoint).Hosts[0] == bad {
			seen++
		}
	}
	if seen == 0 {
		t.Error("the endpoint has not come back")
	}
	w.check()
}

// sessionIsShared asserts that a session that one worker has bound is bound on all, also for a VM that was rebuilt.
func sessionIsShared(t *testing.T, s Subject) {
	w := single(t, s, 4)
	use(w.plan, "sticky", "session-affinity-filter", plan.Param{Name: "strategy", Kind: plan.String, Str: "session_id"})
	w.plan.Profiles[0].Filters = []string{"sticky"}
	k := w.workers(4)
	for i := range 10 {
		session := "s" + strconv.Itoa(i)
		first := ""
		for turn := range 6 {
			r := with(prompt(10*i+turn), "x-session-id", session)
			w.Advance(pause)
			res := w.do(k[turn%4], &r, hosttest.ToEndpoint)
			if first == "" {
				first = res.Endpoint()
			}
			if res.Endpoint() != first {
				t.Errorf("turn %d of session %d went to %s, the first to %s", turn, i, res.Endpoint(), first)
			}
			if turn == 3 {
				w.Run(3 * time.Second) // it gets into the dump
				k[0].Rebuild()
			}
		}
	}
	w.check()
}

// recordsAreLost lets a worker stand still until the log of another has gone round: what is lost is counted, and what is
// there is taken over.
func recordsAreLost(t *testing.T, s Subject) {
	w := newWorld(t, s, edge(Plan(plan.DestinationHeader, 4)))
	k := w.workers(2)
	r := prompt(0)
	w.do(k[1], &r, hosttest.ToEndpoint)
	w.known(k[0], 0, "before") // it has met the log
	const more = 3000
	for i := range more {
		r := Chat(ChatBody(Text("q"+strconv.Itoa(i), 300)))
		w.do(k[1], &r, hosttest.ToEndpoint)
	}
	w.known(k[1], 0, "on the worker itself")
	last := prompt(1)
	w.do(k[1], &last, hosttest.ToEndpoint)
	w.Run(500 * time.Millisecond)
	w.known(k[0], 1, "what was sent last")
	lost, folded := w.Metric("zerohop_sharing_lost_records_total").Value, w.Metric("zerohop_sharing_folded_records_total").Value
	const ring = names.LogSlots * 8
	if lost < more-ring || lost > more-ring+16 || lost+folded < more+3 {
		t.Errorf("%d records lost and %d taken over of %d; the log holds %d", lost, folded, more+3, ring)
	}
	w.check()
}

// logIsBounded writes prompts of different lengths with a small budget: the log stays below it, and the newest records are there.
func logIsBounded(t *testing.T, s Subject) {
	w := newWorld(t, s, edge(Plan(plan.DestinationHeader, 4)))
	w.plan.Sharing = plan.Sharing{Mode: plan.SharingProcess, IntervalUs: 2000, LogBytes: 20_000}
	k := w.workers(2)
	w.Workers = w.Workers[:1] // nobody reads meanwhile
	for i := range 300 {
		r := Chat(ChatBody(Text("b"+strconv.Itoa(i), 500+i%7*3000)))
		w.do(k[1], &r, hosttest.ToEndpoint)
		total := 0
		for slot := range names.LogSlots {
			total += len(w.Shared(names.KeyLog(1, slot)))
		}
		if total > w.plan.Sharing.LogBytes {
			t.Fatalf("after %d requests the log has %d bytes", i+1, total)
		}
	}
	r := prompt(1)
	w.do(k[1], &r, hosttest.ToEndpoint)
	w.Run(200 * time.Millisecond)
	w.known(k[0], 1, "what was sent last")
	huge := Chat(ChatBody(Text("huge", 800_000))) // its record alone is beyond the budget
	w.do(k[1], &huge, hosttest.ToEndpoint)
	r = prompt(2)
	w.do(k[1], &r, hosttest.ToEndpoint)
	w.known(k[0], 2, "behind one that the log cannot hold")
	w.check()
}

// restoredFromDump rebuilds a VM: it knows what was sent long ago from the dump, and the newest from the logs, also what it has
// sent itself.
func restoredFromDump(t *testing.T, s Subject) {
	for _, agent := range []string{"there", "unreachable", "none"} {
		w := single(t, s, 4)
		switch agent {
		case "there":
			w.listen()
			w.Agent.Publish(2, Loaded(2, func(_ int, e *snapshot.Endpoint) { e.NumBlocks = 1 << 16 }, 1, 2, 3, 4))
		case "none":
			edge(w.plan)
		}
		k := w.workers(3)
		w.Run(time.Second)
		w.spread(k[0])
		for i := range 10 {
			r := prompt(i)
			w.do(k[1+i%2], &r, hosttest.ToEndpoint)
		}
		for i := range 4200 { // beyond what the logs hold
			r := Chat(ChatBody(Text("q"+strconv.Itoa(i), 300)))
			w.do(k[1+i%2], &r, hosttest.ToEndpoint)
			w.Advance(time.Millisecond)
			if i%100 == 0 {
				w.Run(100 * time.Millisecond)
			}
		}
		w.Run(2 * time.Second)
		for i := 10; i < 20; i++ { // after the newest dump
			r := prompt(i)
			w.do(k[1+i%2], &r, hosttest.ToEndpoint)
		}
		k[1].Rebuild()
		w.Run(500 * time.Millisecond)
		for i := range 20 {
			w.known(k[1], i, "after the rebuild, agent "+agent)
		}
		w.Run(200 * time.Millisecond)
		if w.Metric("zerohop_sharing_restored_blocks_total").Value == 0 {
			t.Error("nothing was restored")
		}
		w.check()
	}
}

// restoredBefore rebuilds a VM whose first request comes at once, before any tick.
func restoredBefore(t *testing.T, s Subject) {
	w := newWorld(t, s, edge(Plan(plan.DestinationHeader, 4)))
	k := w.workers(3)
	for i := range 20 {
		r := prompt(i)
		w.do(k[1+i%2], &r, hosttest.ToEndpoint)
	}
	w.Run(2 * time.Second)
	k[1].Rebuild()
	for i := range 20 {
		w.known(k[1], i, "before the first tick")
	}
	w.check()
}
