package lifecycletest

import (
	"strings"
	"testing"
	"time"

	"github.com/zerohop/zerohop/filter/hosttest"
	"github.com/zerohop/zerohop/shared/names"
	"github.com/zerohop/zerohop/shared/plan"
)

// unknownStream lets attempts meet a pick that is not theirs: the destination stays, our header is hidden.
func unknownStream(t *testing.T, s Subject) {
	keys := map[string][]byte{
		"none": {}, "short": []byte("x"), "foreign": []byte(strings.Repeat("0", 32)), "huge": []byte(strings.Repeat("f", 32)),
		"not hexadecimal": []byte(strings.Repeat("\xff", 32)),
	}
	for name, key := range keys {
		t.Run(name, func(t *testing.T) {
			eachMode(t, s, 4, func(w *world) {
				k := w.worker()
				r := dead(Chat(ChatBody(short)), 1)
				r.At = hosttest.GotRequest
				st := k.Open(&r)
				r.Do = func() { st.SetProperty(names.StatePick, key) }
				st.Receive()
				st.Forward()
				res := st.Close()
				same := w.plan.Destination != plan.DestinationList // a list is in Envoy's hands
				if len(res.Hosts) != 2 || (res.Hosts[0] == res.Hosts[1]) != same || res.Status != 200 {
					w.t.Errorf("attempts at %v, status %d; want the same endpoint again: %v", res.Hosts, res.Status, same)
				}
				checkSent(w.t, &r, res)
				w.Run(200 * time.Millisecond)
				w.wantMetric("zerohop_stray_attempts_total", 2)
			})
		})
	}
}

func rebuiltBeforeAttempt(t *testing.T, s Subject) {
	eachMode(t, s, 4, func(w *world) {
		k := w.worker()
		r := Chat(ChatBody(short))
		r.At, r.Do = hosttest.GotRequest, k.Rebuild
		res := w.do(k, &r, hosttest.ToEndpoint)
		if len(res.Hosts) != 1 || res.Status != 200 {
			w.t.Errorf("attempts at %v, status %d", res.Hosts, res.Status)
		}
		checkSent(w.t, &r, res)
		r = Chat(ChatBody(short))
		w.do(k, &r, hosttest.ToEndpoint)
	})
}

// rebuiltAndReused rebuilds the VM before an attempt, and gives the new VM a request that has the same place in it as the
// old one had: the attempt must not be taken for the new request's.
func rebuiltAndReused(t *testing.T, s Subject) {
	eachMode(t, s, 4, func(w *world) {
		k := w.worker()
		fresh := Chat(ChatBody(long))
		var other *hosttest.Stream
		r := dead(Chat(ChatBody(short)), 2)
		r.At, r.Do = hosttest.GotRequest, func() {
			k.Rebuild()
			other = k.Open(&fresh)
			other.Receive()
		}
		res := w.do(k, &r, hosttest.ToEndpoint)
		same := w.plan.Destination != plan.DestinationList
		if len(res.Hosts) != 3 || (res.Hosts[2] == res.Hosts[0]) != same {
			w.t.Errorf("attempts at %v; want the same endpoint each time, since nobody knows the stream: %v", res.Hosts, same)
		}
		other.Forward()
		res = other.Close()
		if n := hosttest.Pick(string(res.Pick), "attempts"); n != "1" || len(res.Hosts) != 1 {
			w.t.Errorf("pick %q, attempts at %v; want one attempt", res.Pick, res.Hosts)
		}
	})
}

func rebuiltMidBody(t *testing.T, s Subject) {
	eachMode(t, s, 4, func(w *world) {
		k := w.worker()
		r := chunked(Chat(ChatBody(long)), 1000)
		r.At, r.Do = hosttest.GotChunk, k.Rebuild
		w.do(k, &r, hosttest.LostVM)
		r = Chat(ChatBody(short))
		w.do(k, &r, hosttest.ToEndpoint)
	})
}

func canaryWritesNothing(t *testing.T, s Subject) {
	w := single(t, s, 2)
	if !w.Canary(s.New, plan.Append(nil, w.plan)) {
		t.Error("the plan was refused")
	}
	if w.Canary(s.New, []byte(`{"version":1}`)) {
		t.Error("an empty plan was accepted")
	}
	if w.Writes != 0 {
		t.Errorf("%d stores into shared data", w.Writes)
	}
	w.wantErrors = true
	w.check()
}

func badConfiguration(t *testing.T, s Subject) {
	w := single(t, s, 2)
	w.wantErrors = true
	k := w.worker()
	for _, bad := range []string{"", "{", "null", `{"version":99}`, `{"version":1,"plugins":[{"name":"a","type":"no-such-scorer"}]}`} {
		if r, ok := k.Load(names.RootDownstream, []byte(bad)); ok {
			t.Errorf("%q was accepted", bad)
		} else {
			k.Unload(r)
		}
	}
	r := Chat(ChatBody(short))
	if res := w.do(k, &r, hosttest.ToEndpoint); res.Reason() != "scored" {
		t.Errorf("reason %q", res.Reason())
	}
	w.check()
}

// oldRootTicks updates the configuration while a stream of the old root is open: only the newest root polls, and the old
// root's end changes nothing.
func oldRootTicks(t *testing.T, s Subject) {
	w := single(t, s, 2)
	w.Agent = &hosttest.Agent{Version: 1, Blob: Snapshot(1, 1, 2)}
	k := w.worker()
	old := k.Newest(names.RootDownstream)
	r := Chat(ChatBody(short))
	st := k.Open(&r)
	st.Receive()
	w.Run(time.Second)
	if n := len(k.Calls()); n != 1 {
		t.Fatalf("%d polls are open, want 1", n)
	}
	w.plan.Endpoints = w.plan.Endpoints[:1]
	fresh, ok := k.Load(names.RootDownstream, plan.Append(nil, w.plan))
	if !ok {
		t.Fatalf("the second plan was refused: %v", w.Logs)
	}
	w.Run(time.Second)
	polls := 0
	for _, c := range k.Calls() {
		if c.Root == fresh {
			polls++
		}
	}
	if polls != 1 || len(k.Calls()) > 2 {
		t.Errorf("%d polls of the newest root among %d, want 1", polls, len(k.Calls()))
	}
	st.Forward()
	st.Close()
	k.Unload(old)
	w.Agent.Version, w.Agent.Blob = 2, Snapshot(2, 5)
	w.Run(time.Second)
	w.wantHost(w.do(k, &r, hosttest.ToEndpoint), 5)
	w.check()
}

func changedUnderRequest(t *testing.T, s Subject) {
	for _, to := range modes {
		t.Run("to "+to, func(t *testing.T) {
			eachMode(t, s, 4, func(w *world) {
				k := w.worker()
				next := Plan(w.plan.Destination, 4)
				next.Destination = to
				next.Prefix.AutoTune, next.Prefix.BlockSizeTokens = false, 512
				r := dead(chunked(Chat(ChatBody(long)), 4096), 1)
				for _, r.At = range []hosttest.Stage{hosttest.GotChunk, hosttest.GotRequest, hosttest.Attempt1, hosttest.ResponseChunk} {
					r.Do = func() {
						k.Load(names.RootDownstream, plan.Append(nil, next))
					}
					res := w.do(k, &r, hosttest.ToEndpoint)
					if len(res.Hosts) != 2 || res.Hosts[0] == res.Hosts[1] || res.Status != 200 || res.Endpoint() != res.Hosts[1] {
						w.t.Errorf("stage %d: attempts at %v, status %d, pick %q", r.At, res.Hosts, res.Status, res.Pick)
					}
					checkSent(w.t, &r, res)
					k.Load(names.RootDownstream, plan.Append(nil, w.plan))
					w.Advance(1e12) // past the cool-down
				}
				r = Chat(ChatBody(short))
				w.do(k, &r, hosttest.ToEndpoint)
			})
		})
	}
}

// edits are changes of a plan that leave the prefix index alone.
var edits = []struct {
	name string
	edit func(p *plan.Plan)
}{
	{"weights", func(p *plan.Plan) { p.Profiles[0].Scorers[0].Weight = 1 }},
	{"profile", func(p *plan.Plan) { p.Profiles[0].Scorers = p.Profiles[0].Scorers[2:] }},
	{"plugins", func(p *plan.Plan) {
		p.Plugins = append(p.Plugins[:0:0], p.Plugins...)
		p.Plugins[2].Name, p.Profiles[0].Scorers[2].Plugin = "other", "other"
	}},
	{"mode header", func(p *plan.Plan) { p.Destination = plan.DestinationHeader }},
	{"mode filter_state", func(p *plan.Plan) { p.Destination = plan.DestinationFilterState }},
	{"mode list", func(p *plan.Plan) { p.Destination = plan.DestinationList }},
	{"more index", func(p *plan.Plan) { p.Bounds.IndexBlocks *= 2 }},
	{"less index", func(p *plan.Plan) { p.Bounds.IndexBlocks /= 8 }},
	{"fewer endpoints", func(p *plan.Plan) { p.Bounds.Endpoints = 4 }},
	{"parity", func(p *plan.Plan) { p.Parity = plan.ParityEPP }},
	{"failure mode", func(p *plan.Plan) { p.FailureMode = plan.FailOpen }},
}

// survivesChange edits the plan while requests are open in every stage: each ends well, its load is released once, the old
// root context goes, and what was learned about prefixes and in-flight requests is still known.
func survivesChange(t *testing.T, s Subject) {
	for _, e := range edits {
		t.Run(e.name, func(t *testing.T) {
			eachMode(t, s, 0, func(w *world) {
				last := w.listen(1, 2, 3, 4)
				k := w.worker()
				k.Others = []string{Address(1), Address(2), Address(3), Address(4)}
				w.Run(time.Second)
				w.spread(k)
				base := Chat(baseBody)
				first := w.do(k, &base, hosttest.ToEndpoint).Endpoint()
				open := w.openAll(k)
				old := k.Newest(names.RootDownstream)
				next := *w.plan
				next.Profiles = []plan.Profile{w.plan.Profiles[0]}
				next.Profiles[0].Scorers = append([]plan.Scorer{}, w.plan.Profiles[0].Scorers...)
				e.edit(&next)
				if _, ok := k.Load(names.RootDownstream, plan.Append(nil, &next)); !ok {
					w.t.Fatalf("the plan was refused: %v", w.Logs)
				}
				w.Run(time.Second)
				inFlight := uint32(0)
				for i := 1; i <= 4; i++ {
					inFlight += last.sum(i).InFlight
				}
				if want := uint32(len(open) * 2 / 3); inFlight != want {
					w.t.Errorf("%d in flight after the change, want %d", inFlight, want)
				}
				w.finishAll(open)
				k.Unload(old)
				w.Run(time.Second)
				res := w.do(k, &base, hosttest.ToEndpoint)
				if m, n := matched(res); m != n || res.Endpoint() != first {
					w.t.Errorf("after the change: pick %q; want all blocks at %s", res.Pick, first)
				}
			})
		})
	}
}

// openAll opens requests of which a third has been received in part, a third waits to be forwarded and a third is to fail
// once.
func (w *world) openAll(k *hosttest.Worker) []*hosttest.Stream {
	requests := []hosttest.Request{
		chunked(Chat(ChatBody(long)), 4096), Chat(ChatBody(short)), dead(Chat(ChatBody(short)), 1),
	}
	const n = 12
	open := make([]*hosttest.Stream, 0, n)
	for i := range n {
		st := k.Open(&requests[i%3])
		if i%3 > 0 {
			st.Receive()
		}
		open = append(open, st)
	}
	return open
}

// finishAll ends what openAll opened.
func (w *world) finishAll(open []*hosttest.Stream) {
	w.t.Helper()
	for i, st := range open {
		if i%3 == 0 {
			st.Receive()
		}
		st.Forward()
		res := st.Close()
		want := 1 + i%3/2
		if res.Route != hosttest.ToEndpoint || res.Status != 200 || len(res.Hosts) != want || res.Endpoint() != res.Hosts[want-1] {
			w.t.Errorf("request %d: route %q, status %d, attempts at %v, pick %q", i, res.Route, res.Status, res.Hosts, res.Pick)
		}
		if want == 2 && res.Hosts[0] == res.Hosts[1] {
			w.t.Errorf("request %d: retried at the same endpoint %s", i, res.Hosts[0])
		}
	}
}
