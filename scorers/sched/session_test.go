package sched

import (
	"encoding/base64"
	"fmt"
	"slices"
	"testing"

	"github.com/zerohop/zerohop/scorers"
	"github.com/zerohop/zerohop/shared/plan"
)

// sessionPlan returns a plan of n endpoints whose profile has a session-affinity-scorer with the given strategy, and the
// further scorers, which have the names of their types.
func sessionPlan(n int, strategy string, scorerTypes ...string) *plan.Plan {
	p := testPlan(n)
	p.Bounds.Sessions = 1000
	p.Plugins = append(p.Plugins, plan.Plugin{
		Name: "session", Type: "session-affinity-scorer", Parameters: plan.Params{{Name: "strategy", Kind: plan.String, Str: strategy}},
	})
	p.Profiles[0].Scorers = append(p.Profiles[0].Scorers, plan.Scorer{Plugin: "session", Weight: 4})
	for _, typ := range scorerTypes {
		p.Plugins = append(p.Plugins, plan.Plugin{Name: typ, Type: typ})
		p.Profiles[0].Scorers = append(p.Profiles[0].Scorers, plan.Scorer{Plugin: typ, Weight: 1})
	}
	return p
}

// turn decides and commits a request whose header for sessions has the given value, and returns the name of its endpoint.
func turn(t *testing.T, s *Scheduler, now uint64, value string, ids []uint64, d *Decision) string {
	t.Helper()
	p := promptOf(ids)
	w := s.Wants().Headers
	p.Headers.Reset(len(w))
	for i := range w {
		p.Headers.Set(scorers.HeaderID(i), []byte(value), 1000)
	}
	s.Decide(now, p, d)
	s.Commit(now, p, d)
	if d.Cur < 0 {
		t.Fatalf("no endpoint: reason %d", d.Reason)
	}
	return string(s.Name(d.Cur)[3:])
}

// TestSessionsSpread has three sessions of three turns each over three idle endpoints: each gets an endpoint of its own and
// stays there. Where own requests do not count, it is the order of cold requests that tells endpoints apart.
func TestSessionsSpread(t *testing.T) {
	tests := []struct {
		name    string
		plan    *plan.Plan
		parity  string
		overlap bool // the first turns are under way at once
	}{
		{"by own requests", sessionPlan(3, "session_id"), plan.ParityNone, true},
		{"by the order of cold requests", sessionPlan(3, "session_id", "no-hit-lru-scorer"), plan.ParityNone, false},
		{"by that order alone", sessionPlan(3, "session_id", "no-hit-lru-scorer"), plan.ParityEPP, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.plan.Parity = tt.parity
			for seed := range uint64(20) {
				s, err := New(tt.plan, seed)
				if err != nil {
					t.Fatal(err)
				}
				publish(t, s, tt.plan, 1, 1*ms, metrics{}, metrics{}, metrics{})
				var home [3]string
				var ds [3]Decision
				now := uint64(2 * ms)
				for round := range 3 {
					for i := range home {
						now += ms
						at := turn(t, s, now, fmt.Sprint("session ", i), []uint64{uint64(i + 1), uint64(round)}, &ds[i])
						if round == 0 {
							home[i] = at
						} else if at != home[i] {
							t.Fatalf("seed %d: turn %d of session %d goes to %s, the first went to %s", seed, round+1, i, at, home[i])
						}
						if !tt.overlap {
							s.Done(now, &ds[i], false)
						}
					}
					for i := range ds {
						s.Done(now, &ds[i], false)
					}
				}
				if sorted := slices.Sorted(slices.Values(home[:])); !slices.Equal(sorted, []string{"A", "B", "C"}) {
					t.Fatalf("seed %d: the sessions are at %v", seed, home)
				}
			}
		})
	}
}

// TestSessionMoves has a session whose endpoint cools down, then goes while another gets its slot.
func TestSessionMoves(t *testing.T) {
	p := sessionPlan(2, "session_id")
	s := newScheduler(t, p)
	ids := []uint64{1}
	var d Decision
	first := turn(t, s, 1*ms, "s", ids, &d)
	s.Done(2*ms, &d, true) // which cools it down
	second := turn(t, s, 3*ms, "s", ids, &d)
	if second == first {
		t.Fatalf("%s is picked although it cools down", first)
	}
	s.Done(4*ms, &d, false)
	if at := turn(t, s, 9000*ms, "s", ids, &d); at != second {
		t.Errorf("after the cool-down of %s the session is at %s, want %s, where it moved", first, at, second)
	}
	s.Done(9001*ms, &d, false)

	name := turn(t, s, 9002*ms, "t", []uint64{2}, &d)
	gone := d.Cur
	s.Done(9002*ms, &d, false)
	other := testPlan(3)
	other.Endpoints = slices.DeleteFunc(other.Endpoints, func(e plan.Endpoint) bool { return e.Name == "ns/"+name })
	publish(t, s, other, 1, 9003*ms, metrics{}, metrics{})
	if slotOf(t, s, "C") != gone {
		t.Fatalf("slot %d was not given to C, the test tests nothing", gone)
	}
	for _, e := range s.set.instances {
		if e.name != "session" {
			continue
		}
		out, cand := make([]float64, 2), s.fleet.Live()
		s.cycle.Now++
		e.plugin.(scorers.Scorer).Score(&s.cycle, cand, out) // the request of session t
		if !slices.Equal(out, []float64{0, 0}) {
			t.Errorf("session t, whose endpoint has gone, scores %v", out)
		}
	}
}

// TestRetryMovesTheBinding answers the second attempt elsewhere: token and binding name who answered.
func TestRetryMovesTheBinding(t *testing.T) {
	for _, strategy := range []string{"session_id", "encoded_endpoint_header"} {
		s := newScheduler(t, sessionPlan(3, strategy))
		var d Decision
		turn(t, s, 1*ms, "s", []uint64{1}, &d)
		next := s.Next(2*ms, &d)
		s.Retry(3*ms, &d, next, s.Gen(next))
		var sink scorers.HeaderSink
		s.Served(&d, &sink)
		token := base64.StdEncoding.EncodeToString(s.Name(next))
		if strategy == "session_id" {
			if sink.Len() != 0 || s.Wants().Response {
				t.Errorf("%s: %d response headers, wanted %v", strategy, sink.Len(), s.Wants().Response)
			}
		} else if sink.Len() != 1 || !s.Wants().Response {
			t.Errorf("%s: %d response headers, wanted %v", strategy, sink.Len(), s.Wants().Response)
		} else if name, value := sink.At(0); string(name) != "x-session-token" || string(value) != token {
			t.Errorf("%s: response header %s: %s", strategy, name, value)
		}
		s.Done(4*ms, &d, false)
		want, value := string(s.Name(next)[3:]), "s"
		if strategy != "session_id" {
			value = token
		}
		if at := turn(t, s, 60_000*ms, value, []uint64{9}, &d); at != want {
			t.Errorf("%s: the next turn goes to %s, want %s", strategy, at, want)
		}
	}
}

// TestSessionsOutliveReload reloads with other weights and another bound, and then under another name.
func TestSessionsOutliveReload(t *testing.T) {
	p := sessionPlan(3, "session_id", "no-hit-lru-scorer")
	s := newScheduler(t, p)
	var d Decision
	home := turn(t, s, 1*ms, "s", []uint64{1}, &d)
	s.Done(2*ms, &d, false)
	elsewhere := "A"
	if home == "A" {
		elsewhere = "B"
	}
	route(t, s, elsewhere, []uint64{1, 2, 3, 4}) // prefix and order of use speak for others
	score := func(p *plan.Plan) float64 {
		t.Helper()
		if err := s.Reconfigure(p); err != nil {
			t.Fatal(err)
		}
		var e Explanation
		s.Explain(&e)
		defer s.Explain(nil)
		pr := promptOf([]uint64{1, 2, 3, 4})
		pr.Headers.Reset(1)
		pr.Headers.Set(0, []byte("s"), 1000)
		var d Decision
		s.Decide(3*ms, pr, &d)
		for _, best := range e.Best {
			if string(s.Name(best.Slot)[3:]) == home {
				return best.Scores[3]
			}
		}
		t.Fatalf("%s is not explained", home)
		return 0
	}
	p.Profiles[0].Scorers[3].Weight = 3
	p.Bounds.Sessions = 50
	if got := score(p); got != 1 {
		t.Errorf("session score %v at its endpoint after a reload", got)
	}
	p.Plugins[5].Name, p.Profiles[0].Scorers[3].Plugin = "other", "other"
	if got := score(p); got != 0 {
		t.Errorf("session score %v under another name", got)
	}
}

// TestForgottenSessionsAreCounted binds more sessions than there is room for, and reloads: the count only grows.
func TestForgottenSessionsAreCounted(t *testing.T) {
	p := sessionPlan(3, "session_id")
	p.Bounds.Sessions = 10
	s := newScheduler(t, p)
	empty := s.Stats(1).Bytes
	var d Decision
	for i := range 30 {
		turn(t, s, 1*ms, fmt.Sprint("session ", i), []uint64{1}, &d)
		s.Done(1*ms, &d, false)
	}
	want := func(step string, sessions int, replaced uint64) {
		t.Helper()
		if st := s.Stats(2); st.Sessions != sessions || st.Replaced != replaced {
			t.Errorf("%s: %d sessions, %d replaced; want %d, %d", step, st.Sessions, st.Replaced, sessions, replaced)
		}
	}
	want("30 in 10 places", 10, 20)
	if got := s.Stats(1).Bytes - empty; got < 10*48 {
		t.Errorf("%d bytes for 10 sessions", got)
	}
	reload := func(p *plan.Plan) {
		t.Helper()
		if err := s.Reconfigure(p); err != nil {
			t.Fatal(err)
		}
	}
	p.Bounds.Sessions = 5
	reload(p)
	want("5 places", 5, 25)
	reload(testPlan(3))
	want("without the plugin", 0, 25)
	reload(p)
	want("with it again", 0, 25)
}

// TestUniversalBlocksCountUnderParity sends prompts that all begin alike: the EPP counts that beginning.
func TestUniversalBlocksCountUnderParity(t *testing.T) {
	for parity, want := range map[string]int32{plan.ParityEPP: 0, plan.ParityNone: 2} {
		p := testPlan(3)
		p.Parity = parity
		s := newScheduler(t, p)
		var d Decision
		for i := range uint64(500) {
			pr := promptOf([]uint64{1, 2, 100 + i})
			s.Decide(i*ms, pr, &d)
			s.Commit(i*ms, pr, &d)
			s.Done(i*ms, &d, false)
		}
		pr := promptOf([]uint64{1, 2, 3})
		s.Decide(600*ms, pr, &d)
		if d.Universal != want || d.Total != 3-want || d.Matched != 2-want {
			t.Errorf("parity %q: %d universal, %d of %d matched; want %d universal", parity, d.Universal, d.Matched, d.Total, want)
		}
	}
}
