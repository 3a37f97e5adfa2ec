package lifecycletest

import (
	"strings"
	"testing"
	"time"

	"github.com/zerohop/zerohop/filter/hosttest"
	"github.com/zerohop/zerohop/shared/names"
	"github.com/zerohop/zerohop/shared/plan"
	"github.com/zerohop/zerohop/shared/snapshot"
)

func resetAtEveryStage(t *testing.T, s Subject) {
	bodies := []hosttest.Request{
		chunked(Chat(ChatBody(long)), 4096),
		trailers(Chat(ChatBody(short))),
		Models(),
		Chat("not json"),
	}
	eachMode(t, s, 4, func(w *world) {
		k := w.worker()
		for stage := hosttest.Created; stage <= hosttest.Responded; stage++ {
			for _, r := range bodies {
				r = dead(r, 1)
				r.Reset = stage
				res := k.Do(&r)
				if res.Status != 0 && res.Route != hosttest.ToEndpoint {
					w.t.Errorf("stage %d: route %q, status %d", stage, res.Route, res.Status)
				}
				if stage >= hosttest.GotRequest && res.Endpoint() == "" {
					w.t.Errorf("stage %d: no pick in %q", stage, res.Pick)
				}
				w.Advance(1e12)
			}
		}
		good := Chat(ChatBody(short))
		w.do(k, &good, hosttest.ToEndpoint)
	})
}

func downstreamFirst(t *testing.T, s Subject) {
	eachMode(t, s, 4, func(w *world) {
		k := w.worker()
		for n := range 3 {
			r := dead(Chat(ChatBody(short)), n)
			r.DownstreamFirst = true
			w.do(k, &r, hosttest.ToEndpoint)
		}
	})
}

func allDead(t *testing.T, s Subject) {
	eachMode(t, s, 3, func(w *world) {
		k := w.worker()
		k.Retries = 2
		for _, r := range []hosttest.Request{dead(Chat(ChatBody(short)), 9), dead(Models(), 9)} {
			res := w.do(k, &r, hosttest.ToEndpoint)
			seen := map[string]bool{}
			for _, h := range res.Hosts {
				seen[h] = true
			}
			if len(seen) != 3 || res.Status != 503 {
				w.t.Errorf("attempts at %v, status %d; want three endpoints and 503", res.Hosts, res.Status)
			}
		}
		// All are cooled down: the least bad one is still used.
		r := Chat(ChatBody(short))
		if res := w.do(k, &r, hosttest.ToEndpoint); res.Reason() != "all_cooling" {
			w.t.Errorf("reason %q, want all_cooling", res.Reason())
		}
	})
}

// unavailableThenDead asserts that a refused attempt counts against its endpoint although the attempt before had an answer.
func unavailableThenDead(t *testing.T, s Subject) {
	eachMode(t, s, 3, func(w *world) {
		k := w.worker()
		k.Retries = 1
		r := Chat(ChatBody(short))
		r.Reply = func(_ string, attempt int) hosttest.Reply {
			return hosttest.Reply{Status: 503, Retry: attempt == 0, Fail: attempt == 1}
		}
		res := w.do(k, &r, hosttest.ToEndpoint)
		if len(res.Hosts) != 2 || res.Status != 503 {
			w.t.Fatalf("attempts at %v, status %d", res.Hosts, res.Status)
		}
		w.Run(200 * time.Millisecond)
		w.wantMetric("zerohop_cooldowns_total", 1)
	})
}

// alwaysUnavailable asserts that answers which only the attempt filter sees count: three 503 in a row cool an endpoint down.
func alwaysUnavailable(t *testing.T, s Subject) {
	eachMode(t, s, 3, func(w *world) {
		k := w.worker()
		asked := 0
		reply := func(addr string, _ int) hosttest.Reply {
			if addr != Address(1) {
				return hosttest.Reply{Chunks: 1}
			}
			asked++
			return hosttest.Reply{Status: 503, Retry: true}
		}
		for i := range 30 {
			r := Chat(ChatBody(Text(string(rune('a'+i)), 600)))
			r.Reply = reply
			if res := w.do(k, &r, hosttest.ToEndpoint); res.Status != 200 {
				w.t.Errorf("status %d", res.Status)
			}
		}
		if asked != 3 {
			w.t.Errorf("asked %d times, want 3", asked)
		}
	})
}

func responseCut(t *testing.T, s Subject) {
	eachMode(t, s, 2, func(w *world) {
		k := w.worker()
		r := Chat(ChatBody(short))
		r.Reply = func(string, int) hosttest.Reply { return hosttest.Reply{Chunks: 5, Cut: 2} }
		for range 3 {
			if res := w.do(k, &r, hosttest.ToEndpoint); len(res.Hosts) != 1 {
				w.t.Errorf("attempts at %v; a response that has begun is not retried", res.Hosts)
			}
		}
	})
}

func noAttemptFilter(t *testing.T, s Subject) {
	eachMode(t, s, 4, func(w *world) {
		k := w.worker()
		k.NoAttempts, k.Retries = true, 0
		for n := range 2 {
			r := dead(Chat(ChatBody(short)), n)
			w.do(k, &r, hosttest.ToEndpoint)
		}
	})
}

func bodyOverLimit(t *testing.T, s Subject) {
	w := single(t, s, 2)
	k := w.worker()
	k.BodyLimit = 10_000
	r := chunked(Chat(ChatBody(long)), 4096)
	w.do(k, &r, hosttest.TooLarge)
	r.Chunk = 0
	w.do(k, &r, hosttest.TooLarge)
	w.Run(200 * time.Millisecond)
	w.wantMetric("zerohop_cooldowns_total", 0) // Envoy's 413 is no endpoint's fault
	w.check()
}

// manyStreams keeps a thousand requests open in every stage, and ends them in another order than they began.
func manyStreams(t *testing.T, s Subject) {
	eachMode(t, s, 8, func(w *world) {
		k := w.worker()
		k.Host.Strict = false
		r := Chat(ChatBody(short))
		const streams = 1000
		open := make([]*hosttest.Stream, 0, streams)
		for i := range streams {
			st := k.Open(&r)
			if i%4 > 0 {
				st.Receive()
			}
			if i%4 > 1 {
				st.Forward()
			}
			open = append(open, st)
		}
		for i := range open {
			open[i*7%len(open)].Close()
		}
		w.do(k, &r, hosttest.ToEndpoint)
	})
}

func noEndpointFailClose(t *testing.T, s Subject) {
	eachMode(t, s, 0, func(w *world) {
		k := w.worker()
		for _, r := range []hosttest.Request{
			Chat(ChatBody(short)), Forged(Chat(ChatBody(short))), Models(), emptyEnd(Chat("")),
			trailers(Chat(ChatBody(short))), ForgedTrailers(Forged(Chat("x"))), chunked(post("/x", "12345"), 1),
		} {
			k.NoEarlyStrip = true
			res := w.do(k, &r, hosttest.ToClient)
			if res.Status != 503 || res.Local == nil || !strings.Contains(string(res.Local.Headers), names.HeaderDropReason) {
				w.t.Errorf("status %d, local response %+v; want 503 with a reason", res.Status, res.Local)
			}
			if res.Reason() != "agent_unreachable" {
				w.t.Errorf("reason %q", res.Reason())
			}
		}
		// A snapshot brings endpoints.
		w.Agent = &hosttest.Agent{Version: 7, Blob: Snapshot(7, 1, 2)}
		w.Run(3e9)
		r := Chat(ChatBody(short))
		w.do(k, &r, hosttest.ToEndpoint)
	})
}

func noEndpointFailOpen(t *testing.T, s Subject) {
	eachMode(t, s, 0, func(w *world) {
		w.plan.FailureMode = plan.FailOpen
		k := w.worker()
		for _, r := range []hosttest.Request{Chat(ChatBody(short)), Forged(Chat(ChatBody(short))), Forged(Models()), trailers(Chat(ChatBody(short)))} {
			k.NoEarlyStrip = true
			res := w.do(k, &r, hosttest.ToFallback)
			if res.Status != 200 || res.Sent.Has(names.HeaderDestination) {
				w.t.Errorf("status %d, headers %v", res.Status, res.Sent)
			}
		}
	})
}

func allDraining(t *testing.T, s Subject) {
	w := single(t, s, 0)
	blob := Loaded(3, func(_ int, e *snapshot.Endpoint) { e.Flags = snapshot.Draining }, 1, 2)
	w.Agent = &hosttest.Agent{Version: 3, Blob: blob}
	k := w.worker()
	w.Run(3e9)
	r := Chat(ChatBody(short))
	if res := w.do(k, &r, hosttest.ToEndpoint); res.Reason() != "all_cooling" {
		t.Errorf("reason %q, want all_cooling", res.Reason())
	}
	w.check()
}
