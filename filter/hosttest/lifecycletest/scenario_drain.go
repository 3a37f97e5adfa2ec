package lifecycletest

import (
	"testing"
	"time"

	"github.com/zerohop/zerohop/filter/hosttest"
	"github.com/zerohop/zerohop/shared/snapshot"
)

// drained encodes a snapshot in which some of the endpoints drain.
func drained(version uint64, draining []int, endpoints ...int) []byte {
	return Loaded(version, func(i int, e *snapshot.Endpoint) {
		for _, d := range draining {
			if d == i {
				e.Flags = snapshot.Draining
			}
		}
	}, endpoints...)
}

// endpointDrains lets an endpoint drain, leave and return, each while requests are open: it gets nothing fresh and no retry
// while it drains, what is open goes on, and nothing is released twice.
func endpointDrains(t *testing.T, s Subject) {
	eachMode(t, s, 0, func(w *world) {
		last := w.listen(1)
		k := w.worker()
		w.Run(time.Second)
		version := uint64(1)
		publish := func(draining []int, endpoints ...int) {
			version++
			w.Agent.Publish(version, drained(version, draining, endpoints...))
			w.Run(time.Second)
		}
		r := Chat(ChatBody(short))
		r.Reply = func(string, int) hosttest.Reply { return hosttest.Reply{Chunks: 3} }
		open := func() *hosttest.Stream {
			st := k.Open(&r)
			st.Receive()
			return st
		}
		inFlight := func(when string, want uint32) {
			w.t.Helper()
			if e := last.sum(1); e.InFlight != want {
				w.t.Errorf("%s: %d in flight at the endpoint, want %d", when, e.InFlight, want)
			}
		}
		const n = 6
		before := make([]*hosttest.Stream, 0, n)
		for range n {
			before = append(before, open())
		}
		publish([]int{1}, 1, 2, 3)
		inFlight("draining", n)
		w.avoids(k, 1)
		finish(before[:2])
		w.Run(time.Second)
		inFlight("two have ended", n-2)
		publish(nil, 2, 3)
		inFlight("removed", 0)
		finish(before[2:4])
		publish(nil, 1)
		inFlight("returned", 0)
		after := open()
		w.Run(time.Second)
		inFlight("one more", 1)
		finish(before[4:]) // of the endpoint's earlier life
		w.Run(time.Second)
		inFlight("the old ones have ended", 1)
		publish([]int{1}, 1)
		if res := w.do(k, &r, hosttest.ToEndpoint); res.Endpoint() != Address(1) || res.Reason() != "all_cooling" {
			w.t.Errorf("the only endpoint drains: pick %q", res.Pick)
		}
		finish([]*hosttest.Stream{after})
		w.Run(time.Second)
		inFlight("all have ended", 0)
	})
}

func finish(open []*hosttest.Stream) {
	for _, st := range open {
		st.Forward()
		st.Close()
	}
}

// avoids asserts that neither requests nor retries go to endpoint i.
func (w *world) avoids(k *hosttest.Worker, i int) {
	w.t.Helper()
	for n := range 20 {
		r := dead(Chat(ChatBody(Text(string(rune('a'+n)), 600))), n%2)
		if res := k.Do(&r); res.Status != 200 || res.Hosts[0] == Address(i) || res.Endpoint() == Address(i) {
			w.t.Errorf("attempts at %v, status %d; endpoint %d drains", res.Hosts, res.Status, i)
		}
		w.Advance(20 * time.Second) // past the cool-down
		w.Run(200 * time.Millisecond)
	}
}
