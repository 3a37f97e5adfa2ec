package sched

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zerohop/zerohop/shared/plan"
	"github.com/zerohop/zerohop/shared/report"
)

// TestFollowingIsTheOrderOfRetries compares the list with what Next says when one attempt after the other fails, over
// random load, health and prefixes.
func TestFollowingIsTheOrderOfRetries(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 1))
	for round := range 300 {
		n := 1 + rnd.IntN(12)
		p := testPlan(n)
		p.Plugins[3].Parameters = plan.Params{{Name: "maxNumOfEndpoints", Num: float64(1 + rnd.IntN(2)*3)}}
		s := newScheduler(t, p)
		m := make([]metrics, n)
		for i := range m {
			m[i] = metrics{waiting: rnd.Uint32N(5), draining: rnd.IntN(6) == 0}
		}
		publish(t, s, p, 1, 1*ms, m...)
		for range rnd.IntN(3) {
			s.fleet.Fail(2*ms, rnd.Int32N(int32(n)), 2*ms)
		}
		for i := range uint64(rnd.IntN(5)) {
			route(t, s, letter(rnd.IntN(n)), []uint64{1, i})
		}
		var d Decision
		pr := promptOf([]uint64{1, 2, 3})
		s.Decide(10*ms, pr, &d)
		s.Commit(10*ms, pr, &d)
		list := make([]int32, 1, 1+rnd.IntN(6))
		list[0] = d.Cur
		list = s.Following(10*ms, &d, list)
		want := []int32{d.Cur}
		for len(want) < cap(list) {
			next := s.Next(10*ms, &d)
			if next < 0 {
				break
			}
			s.Retry(10*ms, &d, next, s.Gen(next))
			want = append(want, next)
		}
		if diff := cmp.Diff(want, list); diff != "" {
			t.Fatalf("round %d, %d endpoints (-retries +list):\n%s", round, n, diff)
		}
		if sorted := slices.Compact(slices.Sorted(slices.Values(list))); len(sorted) != len(list) {
			t.Fatalf("round %d: %v names an endpoint twice", round, list)
		}
	}
}

func TestFind(t *testing.T) {
	p := testPlan(12)
	s := newScheduler(t, p)
	var d Decision
	start(t, s, &d)
	for i := range p.Endpoints {
		if got, want := s.Find(&d, []byte(p.Endpoints[i].Address)), slotOf(t, s, letter(i)); got != want {
			t.Errorf("%s is found in slot %d, want %d", p.Endpoints[i].Address, got, want)
		}
	}
	for _, address := range []string{"", "10.0.0.1", "10.0.0.1:8", "10.0.0.1:800", "10.0.0.99:80"} {
		if got := s.Find(&d, []byte(address)); got != -1 {
			t.Errorf("%q is found in slot %d", address, got)
		}
	}
}

func TestRedirect(t *testing.T) {
	p := testPlan(3)
	s := newScheduler(t, p)
	var d Decision
	start(t, s, &d)
	a, c := slotOf(t, s, "A"), slotOf(t, s, "C")
	if s.Redirect(11*ms, &d, a) || d.Attempt != 1 {
		t.Error("moved to where it was")
	}
	wantLoads(t, s, "as booked", map[string]load{"A": {1, 64}})
	if !s.Redirect(11*ms, &d, c) || d.Cur != c || d.Attempt != 1 {
		t.Errorf("current %d, attempt %d; want %d, 1", d.Cur, d.Attempt, c)
	}
	wantLoads(t, s, "redirected", map[string]load{"C": {1, 128}})
	s.Done(12*ms, &d, true)
	if s.fleet.Usable(13*ms, c) || !s.fleet.Usable(13*ms, a) {
		t.Error("the failure is not that of the endpoint that was asked")
	}

	start(t, s, &d)
	if !s.Redirect(20*ms, &d, -1) || d.Cur != -1 {
		t.Errorf("current %d after an unknown address", d.Cur)
	}
	wantLoads(t, s, "to an unknown address", nil)
	s.Done(21*ms, &d, true)

	start(t, s, &d)
	publish(t, s, &plan.Plan{Endpoints: p.Endpoints[1:]}, 2, 30*ms, metrics{}, metrics{})
	if s.Redirect(31*ms, &d, -1) || d.Cur != a {
		t.Errorf("current %d after the endpoint has gone, want %d", d.Cur, a)
	}
	s.Done(32*ms, &d, true)
	wantLoads(t, s, "gone", nil)
}

// TestLoads asserts what is reported of endpoints.
func TestLoads(t *testing.T) {
	p := testPlan(4)
	s := newScheduler(t, p)
	var d, e Decision
	start(t, s, &d)
	s.Picked(&d, false)
	start(t, s, &e)
	s.Picked(&e, true)
	next := s.Next(11*ms, &d)
	s.Retry(11*ms, &d, next, s.Gen(next))
	s.Status(12*ms, &d, 503)
	id := func(slot int32) uint64 { return s.fleet.View().ID[slot] }
	a := slotOf(t, s, "A")
	want := []report.Endpoint{
		{ID: id(a), InFlight: 1, Picks: 2, Fallbacks: 1, Failures: 1, Flags: report.CoolingDown},
		{ID: id(next), InFlight: 1, InFlightTokens: 128, Failures: 1},
	}
	byID := func(x, y report.Endpoint) int {
		return slices.Index([]uint64{id(a), id(next)}, x.ID) - slices.Index([]uint64{id(a), id(next)}, y.ID)
	}
	got := s.AppendLoads(13*ms, nil, 100)
	slices.SortFunc(got, byID)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("loads (-want +got):\n%s", diff)
	}
	if got := s.AppendLoads(13*ms, nil, 1); len(got) != 1 {
		t.Errorf("%d endpoints, want at most 1", len(got))
	}
	if got := s.Failures(); got != 2 {
		t.Errorf("%d failures, want 2", got)
	}
	s.Done(20*ms, &d, false)
	s.Done(20*ms, &e, false)
	for _, l := range s.AppendLoads(20*ms, nil, 100) {
		if l.InFlight != 0 || l.InFlightTokens != 0 {
			t.Errorf("%+v after all have ended", l)
		}
	}
}

// TestParity sends a burst between two scrapes: under parity epp all of it goes where the last scrape said, else it spreads.
func TestParity(t *testing.T) {
	for parity, want := range map[string]int{plan.ParityEPP: 20, plan.ParityNone: 14, "": 14} {
		p := testPlan(2)
		p.Parity = parity
		s := newScheduler(t, p)
		publish(t, s, p, 1, 1*ms, metrics{waiting: 0}, metrics{waiting: 2})
		a, first := slotOf(t, s, "A"), 0
		for range 20 {
			var d Decision
			pr := &Prompt{Tokens: 100}
			s.Decide(2*ms, pr, &d)
			s.Commit(2*ms, pr, &d)
			if d.Cur == a {
				first++
			}
		}
		if first != want {
			t.Errorf("parity %q: %d of 20 requests went to the endpoint with the shorter queue, want %d", parity, first, want)
		}
		p.Parity = plan.ParityEPP
		if err := s.Reconfigure(p); err != nil {
			t.Fatal(err)
		}
		s.fleet.Refresh(3 * ms)
		if w := s.fleet.View().Waiting[a]; w != 0 {
			t.Errorf("parity %q: %v waiting after the change to epp, want what was scraped", parity, w)
		}
	}
}

// TestIndexOutlivesPlans changes weights, profile and bounds: what was learned about prefixes stays.
func TestIndexOutlivesPlans(t *testing.T) {
	p := testPlan(4)
	s := newScheduler(t, p)
	route(t, s, "C", []uint64{1, 2, 3})
	changes := []func(){
		func() { p.Profiles[0].Scorers[0].Weight = 0.5 },
		func() { p.Profiles[0].Scorers = p.Profiles[0].Scorers[1:] },
		func() { p.Bounds.IndexBlocks *= 4 },
		func() { p.Bounds.IndexBlocks = 1000 },
		func() { p.Bounds.Endpoints = 2 },
		func() { p.Parity = plan.ParityEPP },
		func() { p.Destination = plan.DestinationList },
	}
	for i, change := range changes {
		change()
		if err := s.Reconfigure(p); err != nil {
			t.Fatal(err)
		}
		var d Decision
		s.Decide(5*ms, promptOf([]uint64{1, 2, 3, 4}), &d)
		if got := string(s.Name(d.Slots[0])); got != "ns/C" || d.Matched != 3 {
			t.Errorf("change %d: picked %s with %d blocks, want ns/C with 3", i, got, d.Matched)
		}
	}
}
