package lifecycletest

import (
	"strings"
	"testing"
	"time"

	"github.com/zerohop/zerohop/filter/hosttest"
	"github.com/zerohop/zerohop/shared/names"
	"github.com/zerohop/zerohop/shared/snapshot"
)

// fleetOf returns endpoints 1 to n. From 60 on deltas pay.
func fleetOf(n int) []int {
	eps := make([]int, n)
	for i := range eps {
		eps[i] = i + 1
	}
	return eps
}

// busyBut returns a snapshot in which all endpoints but one have a queue.
func busyBut(version uint64, idle int) []byte {
	return Loaded(version, func(i int, e *snapshot.Endpoint) {
		e.ScrapeSeq = 1
		if e.Waiting = 1000; i == idle {
			e.Waiting = 0
		}
	}, fleetOf(60)...)
}

// deltas asserts that a delta is put together with what stands in shared data, and that workers see the whole.
func deltas(t *testing.T, s Subject) {
	w := single(t, s, 0)
	w.plan.Agent.StaleMs = 60_000 // all snapshots have the same scrapes
	w.Agent = &hosttest.Agent{Deltas: true}
	w.worker()
	k := w.worker()
	for version := uint64(1); version <= 20; version++ {
		idle := int(version)
		w.Agent.Publish(version, busyBut(version, idle))
		w.Run(200 * time.Millisecond)
		r := Chat(ChatBody(Text(string(rune('a'+idle)), 600)))
		w.wantHost(w.do(k, &r, hosttest.ToEndpoint), idle)
	}
	if w.Agent.DeltasSent < 15 {
		t.Errorf("%d deltas were sent, want most of 19", w.Agent.DeltasSent)
	}
	if string(w.Shared(names.KeySnapshot)) != string(w.Agent.Blob) {
		t.Error("shared data has another snapshot than the agent")
	}
	w.wantMetric("zerohop_delta_errors_total", 0)
	w.wantMetric("zerohop_poll_errors_total", 0)
	w.check()
}

// deltaDoesNotFit changes what stands in shared data behind the leader's back: it asks for the whole, once.
func deltaDoesNotFit(t *testing.T, s Subject) {
	w := single(t, s, 0)
	w.plan.Agent.StaleMs = 60_000 // all snapshots have the same scrapes
	w.Agent = &hosttest.Agent{Deltas: true}
	k := w.worker()
	var paths []string
	w.Agent.OnPoll = func(c *hosttest.Call) { paths = append(paths, c.Path) }
	for i, other := range [][]byte{busyBut(1, 7), []byte("nonsense"), {}} {
		version := uint64(10 * (i + 1))
		w.Agent.Publish(version, busyBut(version, 3))
		w.Run(time.Second)
		w.Put(names.KeySnapshot, other)
		paths = paths[:0]
		w.Agent.Publish(version+1, busyBut(version+1, 5))
		w.Run(time.Second)
		r := Chat(ChatBody(Text(string(rune('a'+i)), 600)))
		w.wantHost(w.do(k, &r, hosttest.ToEndpoint), 5)
		if n := strings.Count(strings.Join(paths, " "), "?v=0"); n != 1 {
			t.Errorf("change %d: polls %v; want one for a whole snapshot", i, paths)
		}
		w.wantMetric("zerohop_delta_errors_total", int64(i+1))
	}
	w.check()
}

// onlyBrokenDeltas has an agent that answers nothing but deltas that do not fit: the filter goes on asking, but not in a loop.
func onlyBrokenDeltas(t *testing.T, s Subject) {
	w := single(t, s, 2)
	delta, ok := snapshot.AppendDelta(nil, busyBut(1, 1), busyBut(2, 2))
	if !ok {
		t.Fatal("no delta")
	}
	w.Agent = &hosttest.Agent{Version: 2, Blob: delta}
	k := w.worker()
	w.Run(10 * time.Second)
	if n := w.Agent.Polls; n > 20 {
		t.Errorf("%d polls in 10 s", n)
	}
	r := Chat(ChatBody(short))
	w.do(k, &r, hosttest.ToEndpoint)
	w.check()
}

// answersAtOnce has polls answered as soon as they are there, as by two agents in turn, each of which takes the other's version
// for an old one, and by one that never holds a poll.
func answersAtOnce(t *testing.T, s Subject) {
	w := single(t, s, 0)
	k := w.worker()
	blobs := [][]byte{Snapshot(7, 1), Snapshot(3, 2)}
	for _, status := range []int{200, 304} {
		for range 10 {
			w.Advance(100 * time.Millisecond)
			k.Tick()
			n := 0
			for ; len(k.Calls()) > 0 && n < 1000; n++ {
				k.Answer(k.Calls()[0].Token, status, blobs[n%2])
			}
			if n < 10 || n > 30 {
				t.Errorf("status %d: %d polls in a tick's time, want as many as an agent publishes versions and not many more", status, n)
			}
		}
	}
	r := Chat(ChatBody(short))
	w.do(k, &r, hosttest.ToEndpoint)
	w.check()
}
