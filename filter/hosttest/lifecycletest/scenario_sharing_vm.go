package lifecycletest

import (
	"testing"
	"time"

	"github.com/zerohop/zerohop/filter/hosttest"
	"github.com/zerohop/zerohop/shared/names"
	"github.com/zerohop/zerohop/shared/plan"
)

// deadStopsCounting loses a VM with open requests: they count for a second at most, whether it is rebuilt or not.
func deadStopsCounting(t *testing.T, s Subject) {
	for _, rebuilt := range []bool{true, false} {
		w := single(t, s, 0)
		w.listen(1, 2)
		k := w.workers(4)
		r := Chat(ChatBody(short))
		receive(k[1], &r, 7)
		live := receive(k[2], &r, 2)
		w.wantInFlight("before", 9)
		if rebuilt {
			k[1].Rebuild()
		} else {
			k[1].Kill()
		}
		w.Run(1100 * time.Millisecond)
		w.wantInFlight("1.1 s after", 2)
		finishOpen(live)
		w.wantInFlight("at the end", 0)
		w.Run(5 * time.Second)
		w.wantMetric("zerohop_sharing_vms", int64(len(w.Workers)))
	}
}

// standsStill lets a VM stand still until another has its number: both count once, under numbers of their own.
func standsStill(t *testing.T, s Subject) {
	w := newWorld(t, s, edge(Plan(plan.DestinationHeader, 2)))
	k := w.workers(3)
	r := Chat(ChatBody(short))
	w.do(k[0], &r, hosttest.ToEndpoint) // it takes over records
	open := receive(k[1], &r, 2)
	old := w.Shared(names.KeyLoad(1))
	still := w.Workers[1]
	w.Workers = append(w.Workers[:1:1], w.Workers[2])
	w.Run(4 * time.Second)
	w.worker() // takes its number
	w.Run(200 * time.Millisecond)
	more := receive(w.Workers[2], &r, 3)
	w.wantInFlight("while it stands still", 3)
	w.writesOnceMore(old, 3)
	w.Workers = append(w.Workers, still)
	more = append(more, receive(still, &r, 1)...)
	w.wantInFlight("when it goes on", 6)
	finishOpen(open)
	finishOpen(more)
	w.wantInFlight("at the end", 0)
	w.check()
}

// writesOnceMore writes under number 1, which another VM has by now, the old vector of the VM that had it before and has not
// noticed. The first worker goes on to believe in what the other VM has in flight, and takes over no record again.
func (w *world) writesOnceMore(old []byte, want int) {
	w.t.Helper()
	r := Chat(ChatBody(short))
	w.do(w.Workers[0], &r, hosttest.ToEndpoint)
	w.Advance(pause)
	w.Put(names.KeyLoad(1), old)
	w.do(w.Workers[0], &r, hosttest.ToEndpoint)
	if f := w.subject.Load; f != nil && f(w.Workers[0].Module()) != want {
		w.t.Errorf("an old vector under another's number: %d believed to be in flight, want %d", f(w.Workers[0].Module()), want)
	}
	w.Run(200 * time.Millisecond)
	folded := w.Metric("zerohop_sharing_folded_records_total").Value
	w.Put(names.KeyLoad(1), old)
	w.Workers[0].Tick()
	w.Run(200 * time.Millisecond)
	w.wantMetric("zerohop_sharing_folded_records_total", folded)
}

// numberedAtOnce sends a request before the first tick: it counts at once, and so do those of a worker that never ticks.
func numberedAtOnce(t *testing.T, s Subject) {
	w := newWorld(t, s, edge(Plan(plan.DestinationHeader, 2)))
	a, b := w.worker(), w.worker()
	r := Chat(ChatBody(short))
	open := append(receive(a, &r, 1), receive(b, &r, 1)...)
	if got, _ := w.inFlight(); got != 2 {
		t.Errorf("%d in flight before the first tick, want 2", got)
	}
	finishOpen(open)
	w.check()
}

// numbersRace lets three VMs take numbers at the same moment: each gets one of its own.
func numbersRace(t *testing.T, s Subject) {
	w := newWorld(t, s, edge(Plan(plan.DestinationHeader, 2)))
	k := []*hosttest.Worker{w.worker(), w.worker(), w.worker()}
	r := Chat(ChatBody(short))
	w.OnStore = func(string) {
		w.OnStore = func(string) {
			w.OnStore = nil
			k[2].Tick()
		}
		k[1].Tick()
	}
	k[0].Tick()
	open := append(receive(k[0], &r, 1), receive(k[1], &r, 2)...)
	open = append(open, receive(k[2], &r, 4)...)
	w.wantInFlight("three VMs", 7)
	finishOpen(open)
	w.check()
}

// edgeLeader kills the leader and the VM that writes the dump where there is no agent: within two seconds others take their
// place. What has no requests writes no dump.
func edgeLeader(t *testing.T, s Subject) {
	w := newWorld(t, s, edge(Plan(plan.DestinationHeader, 2)))
	k := w.workers(3)
	w.Run(3 * time.Second)
	if w.Shared(names.KeyDump(0)) != nil {
		t.Error("a VM without requests has written a dump")
	}
	r := Chat(ChatBody(short))
	w.do(k[1], &r, hosttest.ToEndpoint)
	w.Run(3 * time.Second)
	w.do(k[2], &r, hosttest.ToEndpoint)
	w.wantMetric("zerohop_leases_total", 1)
	if len(w.Shared(names.KeyDump(0))) == 0 {
		t.Error("no dump was written")
	}
	k[0].Kill()
	k[1].Kill()
	w.Run(2 * time.Second)
	w.wantMetric("zerohop_leases_total", 2)
	w.Put(names.KeyDump(0), nil)
	w.Run(3 * time.Second)
	if len(w.Shared(names.KeyDump(0))) == 0 {
		t.Error("no other has written a dump")
	}
	w.check()
}

// sharingIsOff asserts that mode worker costs nothing: no value is written, no other is read.
func sharingIsOff(t *testing.T, s Subject) {
	w := newWorld(t, s, edge(Plan(plan.DestinationHeader, 2)))
	w.plan.Sharing.Mode = plan.SharingWorker
	k := w.workers(3)
	r := Chat(ChatBody(short))
	reads := 0
	for _, k := range k {
		k.Host.OnCall = func(name string) {
			if name == "Shared" {
				reads++
			}
		}
	}
	for range 10 {
		w.do(k[1], &r, hosttest.ToEndpoint)
		w.Run(100 * time.Millisecond)
	}
	if m, _ := matched(w.do(k[2], &r, hosttest.ToEndpoint)); m != "0" || w.Writes != 0 || reads != 0 {
		t.Errorf("%s blocks matched on another worker, %d stores, %d reads; want none", m, w.Writes, reads)
	}
	w.check()
}

// sharingIsSwitched turns sharing off and on under open requests: each counts once at last, where it is to count.
func sharingIsSwitched(t *testing.T, s Subject) {
	w := newWorld(t, s, Plan(plan.DestinationHeader, 2))
	w.listen(1, 2)
	k := w.workers(3)
	r := Chat(ChatBody(short))
	open := append(receive(k[1], &r, 2), receive(k[2], &r, 3)...)
	load := func(mode string) {
		w.plan.Sharing = plan.DefaultSharing
		w.plan.Sharing.Mode = mode
		for _, k := range k {
			k.Load(names.RootDownstream, plan.Append(nil, w.plan))
		}
		w.Run(2 * time.Second)
	}
	for range 2 {
		load(plan.SharingWorker)
		if f := s.Load; f != nil && (f(k[0].Module()) != 0 || f(k[1].Module()) != 2 || f(k[2].Module()) != 3) {
			t.Errorf("alone, the workers believe in %d, %d and %d in flight", f(k[0].Module()), f(k[1].Module()), f(k[2].Module()))
		}
		w.do(k[1], &r, hosttest.ToEndpoint)
		load(plan.SharingProcess)
		w.wantInFlight("shared again", 5)
		fresh := Chat(ChatBody(Text(string(rune('a'+w.Writes%26)), 3000)))
		w.do(k[1], &fresh, hosttest.ToEndpoint)
		w.Advance(pause)
		if m, n := matched(w.do(k[2], &fresh, hosttest.ToEndpoint)); m != n {
			t.Errorf("shared again: %s of %s blocks are known to the other worker", m, n)
		}
	}
	finishOpen(open)
	w.wantInFlight("at the end", 0)
	w.check()
}
