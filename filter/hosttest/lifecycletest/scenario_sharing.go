package lifecycletest

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zerohop/zerohop/filter/hosttest"
	"github.com/zerohop/zerohop/shared/loads"
	"github.com/zerohop/zerohop/shared/names"
	"github.com/zerohop/zerohop/shared/plan"
)

// pause is long enough for a worker to look at what the others wrote.
const pause = 5 * time.Millisecond

// workers starts n workers and lets them take their numbers.
func (w *world) workers(n int) []*hosttest.Worker {
	w.t.Helper()
	for range n {
		w.worker()
	}
	w.Run(300 * time.Millisecond)
	return slices.Clone(w.Workers)
}

// edge takes the agent out of a plan.
func edge(p *plan.Plan) *plan.Plan {
	p.Agent = plan.Agent{}
	return p
}

// inFlight adds up what the vectors in shared data say that is not older than a second.
func (w *world) inFlight() (requests, tokens int) {
	w.t.Helper()
	for i := range names.MaxWorkers {
		b := w.Shared(names.KeyLoad(i))
		if b == nil {
			break
		}
		v, err := loads.Open(b)
		if err != nil {
			w.t.Fatalf("vector of worker %d: %v", i, err)
		}
		if uint64(w.Now()) > v.At+uint64(time.Second) {
			continue
		}
		for k := range v.Len() {
			var e loads.Entry
			v.Entry(k, &e)
			requests, tokens = requests+int(e.InFlight), tokens+int(e.Tokens)
		}
	}
	return requests, tokens
}

// wantInFlight asserts what is in flight by the vectors, and by what every worker believes.
func (w *world) wantInFlight(when string, want int) {
	w.t.Helper()
	w.Advance(pause)
	got, tokens := w.inFlight()
	if got != want || tokens != 0 && want == 0 {
		w.t.Errorf("%s: the vectors have %d in flight with %d tokens, want %d", when, got, tokens, want)
	}
	if w.subject.Load == nil {
		return
	}
	for i, k := range w.Workers {
		k.Tick()
		if got := w.subject.Load(k.Module()); got != want {
			w.t.Errorf("%s: worker %d believes in %d in flight, want %d", when, i, got, want)
		}
	}
}

// receive opens n requests at k and lets them be decided.
func receive(k *hosttest.Worker, r *hosttest.Request, n int) []*hosttest.Stream {
	open := make([]*hosttest.Stream, 0, n)
	for range n {
		st := k.Open(r)
		st.Receive()
		open = append(open, st)
	}
	return open
}

// finishOpen plays the rest of requests.
func finishOpen(open []*hosttest.Stream) {
	for _, st := range open {
		st.Forward()
		st.Close()
	}
}

// loadIsShared opens requests on several workers: all know of all, and nothing is left when they have ended.
func loadIsShared(t *testing.T, s Subject) {
	for _, agent := range []bool{true, false} {
		eachMode(t, s, 3, func(w *world) {
			if !agent {
				edge(w.plan)
			}
			k := w.workers(4)
			r := Chat(ChatBody(short))
			w.wantInFlight("at rest", 0)
			a := receive(k[1], &r, 5)
			w.wantInFlight("five on one", 5)
			b := receive(k[2], &r, 2)
			c := receive(k[3], &r, 1)
			w.wantInFlight("eight on three", 8)
			finishOpen(a)
			w.wantInFlight("five have ended", 3)
			finishOpen(b)
			finishOpen(c)
			w.wantInFlight("all have ended", 0)
		})
	}
}

// burstIsSpread sends requests that have nothing in common from many workers at once: none picks an endpoint that the others
// have filled.
func burstIsSpread(t *testing.T, s Subject) {
	w := single(t, s, 0)
	w.listen(1, 2, 3, 4)
	k := w.workers(5)
	w.Run(time.Second)
	picks := map[string]int{}
	for i := range 80 {
		r := Chat(ChatBody(Text(string(rune('A'+i%26))+string(rune('a'+i/26)), 600)))
		st := receive(k[1+i%4], &r, 1)[0]
		w.Advance(pause)
		st.Forward()
		picks[hosttest.Pick(string(st.Property(names.StatePick)), "endpoint")]++
	}
	for e, n := range picks {
		if n < 16 || n > 24 {
			t.Errorf("%s has %d of 80 requests on four endpoints", e, n)
		}
	}
}

// endings are the ways in which a request can end.
func endings() map[string]hosttest.Request {
	chat := Chat(ChatBody(short))
	status := func(code, chunks, cut int) hosttest.Request {
		r := chat
		r.Reply = func(string, int) hosttest.Reply { return hosttest.Reply{Status: code, Chunks: chunks, Cut: cut} }
		return r
	}
	first := chat
	first.DownstreamFirst = true
	out := map[string]hosttest.Request{
		"answer": chat, "downstream first": first, "headers only": status(204, 0, 0), "500": status(500, 1, 0), "cut": status(200, 3, 1),
		"one retry": dead(chat, 1), "all retries": dead(chat, 9), "retried 503": unavailable(chat, 1), "always 503": unavailable(chat, 9),
		"same size twice": chunked(repeated(Chat(ChatBody(long))), 4096), "trailers": trailers(chat), "no body": Models(),
		"not json": Chat("x"), "long": chunked(Chat(ChatBody(long)), 4096),
	}
	for stage := hosttest.Created; stage <= hosttest.Responded; stage++ {
		r := dead(chunked(Chat(ChatBody(long)), 4096), 1)
		r.Reset = stage
		out["reset at stage "+string(rune('0'+stage))] = r
	}
	return out
}

// releasedOnce ends requests in every way while others watch: what they added to the sums goes once.
func releasedOnce(t *testing.T, s Subject) {
	eachMode(t, s, 4, func(w *world) {
		k := w.workers(3)
		r := Chat(ChatBody(short))
		w.do(k[1], &r, hosttest.ToEndpoint) // shows that bodies come
		other := receive(k[2], &r, 1)       // makes a count below zero visible
		for name, r := range endings() {
			k[1].Do(&r)
			w.wantInFlight(name, 1)
			w.Run(11 * time.Second) // past the cool-downs
		}
		finishOpen(other)
		w.wantInFlight("at the end", 0)
	})
}

// tenMinutes keeps a stream open for long: it counts until its end, and then no more.
func tenMinutes(t *testing.T, s Subject) {
	w := single(t, s, 0)
	w.listen(1, 2)
	k := w.workers(3)
	w.Run(time.Second)
	r := Chat(ChatBody(short))
	r.Reply = func(string, int) hosttest.Reply { return hosttest.Reply{Chunks: 3} }
	r.At, r.Do = hosttest.ResponseChunk, func() {
		for range 10 {
			w.Run(time.Minute)
			if got, _ := w.inFlight(); got != 1 {
				t.Errorf("%v: %d in flight, want 1", w.Now(), got)
			}
		}
	}
	w.do(k[1], &r, hosttest.ToEndpoint)
	w.wantInFlight("at the end", 0)
	w.check()
}

// untouchedByTicks cancels requests and lets ticks pass: none has to do with a stream.
func untouchedByTicks(t *testing.T, s Subject) {
	eachMode(t, s, 2, func(w *world) {
		k := w.workers(2)[1]
		r := dead(chunked(Chat(ChatBody(long)), 4096), 1)
		for r.Reset = hosttest.GotHeaders; r.Reset <= hosttest.Responded; r.Reset++ {
			k.Do(&r)
			k.Host.OnCall = func(name string) {
				if slices.Contains([]string{"Use", "Body", "RequestHeader", "ReplaceRequestHeader", "SetProperty", "SetDestination", "Respond"}, name) {
					w.t.Errorf("a tick after a reset at stage %d calls %s", r.Reset, name)
				}
			}
			w.Run(time.Second)
			k.Host.OnCall = nil
		}
	})
}

// lateScrape has one endpoint whose metrics are old: it gets the requests all the same.
func lateScrape(t *testing.T, s Subject) {
	w := single(t, s, 0)
	w.listen(1)
	k := w.workers(3)
	w.Run(time.Minute)
	w.Agent = nil // and so is the snapshot
	w.Run(time.Minute)
	r := Chat(ChatBody(short))
	for _, k := range k {
		if res := w.do(k, &r, hosttest.ToEndpoint); res.Status != 200 || res.Endpoint() != Address(1) {
			t.Errorf("status %d, pick %q", res.Status, res.Pick)
		}
	}
	w.check()
}

// endpointsGone takes all endpoints away while requests are open: the next one gets a 503 that says why, on every worker.
func endpointsGone(t *testing.T, s Subject) {
	w := single(t, s, 0)
	w.listen(1, 2)
	k := w.workers(3)
	w.Run(time.Second)
	r := Chat(ChatBody(short))
	open := append(receive(k[1], &r, 3), receive(k[2], &r, 3)...)
	w.Agent.Publish(2, Snapshot(2))
	w.Run(time.Second)
	for _, k := range k {
		res := w.do(k, &r, hosttest.ToClient)
		if res.Status != 503 || !strings.Contains(string(res.Local.Headers), names.HeaderDropReason) {
			t.Errorf("status %d, pick %q, headers %q; want 503 with a reason", res.Status, res.Pick, res.Local.Headers)
		}
	}
	finishOpen(open)
	w.Agent.Publish(3, Snapshot(3, 1, 2))
	w.Run(time.Second)
	w.wantInFlight("after they came back", 0)
	w.do(k[0], &r, hosttest.ToEndpoint)
	w.check()
}
