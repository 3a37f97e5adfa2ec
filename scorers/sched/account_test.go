package sched

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zerohop/zerohop/shared/plan"
)

// load is what is booked on one endpoint.
type load struct {
	InFlight int32
	Tokens   int64
}

func booked(s *Scheduler) map[string]load {
	out := map[string]load{}
	v := s.fleet.View()
	for _, slot := range s.fleet.Live() {
		if l := (load{v.InFlight[slot], v.InFlightTokens[slot]}); l != (load{}) {
			out[string(s.Name(slot)[3:])] = l
		}
	}
	return out
}

func wantLoads(t *testing.T, s *Scheduler, step string, want map[string]load) {
	t.Helper()
	if want == nil {
		want = map[string]load{}
	}
	if diff := cmp.Diff(want, booked(s)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", step, diff)
	}
}

// start decides and commits a prompt of two blocks, on A because that has the first one.
func start(t *testing.T, s *Scheduler, d *Decision) {
	t.Helper()
	route(t, s, "A", []uint64{1})
	p := promptOf([]uint64{1, 2})
	s.Decide(10*ms, p, d)
	s.Commit(10*ms, p, d)
	if got := string(s.Name(d.Cur)); got != "ns/A" {
		t.Fatalf("picked %s", got)
	}
}

func TestLoadOfOneRequest(t *testing.T) {
	s := newScheduler(t, testPlan(3))
	var d Decision
	start(t, s, &d)
	wantLoads(t, s, "committed", map[string]load{"A": {1, 64}})
	s.Commit(11*ms, promptOf([]uint64{1, 2}), &d)
	wantLoads(t, s, "committed twice", map[string]load{"A": {1, 64}})
	s.Status(20*ms, &d, 200)
	s.Status(21*ms, &d, 500)
	s.FirstByte(&d)
	s.FirstByte(&d)
	wantLoads(t, s, "first byte", map[string]load{"A": {1, 0}})
	s.Done(30*ms, &d, false)
	s.Done(31*ms, &d, true)
	wantLoads(t, s, "done", nil)
	if n := s.Stats(31 * ms).CoolDowns; n != 0 {
		t.Errorf("%d cool-downs", n)
	}
}

func TestLoadMovesWithRetry(t *testing.T) {
	s := newScheduler(t, testPlan(3))
	var d Decision
	start(t, s, &d)
	failed := d.Cur
	next := s.Next(11*ms, &d)
	if next < 0 || next == failed {
		t.Fatalf("next is %d after %d", next, failed)
	}
	wantLoads(t, s, "Next books nothing", map[string]load{"A": {1, 64}})
	s.Retry(12*ms, &d, next, s.Gen(next))
	wantLoads(t, s, "retried", map[string]load{string(s.Name(next)[3:]): {1, 128}})
	if s.fleet.Usable(13*ms, failed) || d.Attempt != 2 || d.Cur != next {
		t.Errorf("failed endpoint usable %v, attempt %d, current %d", s.fleet.Usable(13*ms, failed), d.Attempt, d.Cur)
	}
	last := s.Next(14*ms, &d)
	if last < 0 || last == next || last == failed {
		t.Fatalf("third endpoint is %d", last)
	}
	s.Retry(15*ms, &d, last, s.Gen(last))
	if got := s.Next(16*ms, &d); got != -1 {
		t.Errorf("fourth of three endpoints is %d", got)
	}
	s.Retry(17*ms, &d, d.Cur, d.CurGen)
	s.Done(18*ms, &d, true)
	wantLoads(t, s, "all failed", nil)
	if n := s.Stats(18 * ms).CoolDowns; n != 4 {
		t.Errorf("%d cool-downs, want 4", n)
	}
}

func TestNextPrefersLessWork(t *testing.T) {
	s := newScheduler(t, testPlan(3))
	route(t, s, "B", []uint64{1})
	var d, busy Decision
	start(t, s, &d)
	if got := string(s.Name(s.Next(11*ms, &d))); got != "ns/B" {
		t.Errorf("next is %s, want the one that holds a block", got)
	}
	b := slotOf(t, s, "B")
	busy.N, busy.Cur, busy.Slots[0], busy.Gen[0], busy.Tokens = 1, -1, b, s.fleet.Gen(b), 5000
	s.Commit(11*ms, &Prompt{}, &busy)
	if got := string(s.Name(s.Next(12*ms, &d))); got != "ns/C" {
		t.Errorf("next is %s, want the one with nothing to do", got)
	}
	s.fleet.Fail(13*ms, slotOf(t, s, "C"), 13*ms)
	if got := string(s.Name(s.Next(14*ms, &d))); got != "ns/B" {
		t.Errorf("next is %s, want the one that does not cool", got)
	}
	s.fleet.Fail(15*ms, b, 15*ms)
	if got := s.Next(16*ms, &d); got < 0 || got == d.Cur {
		t.Errorf("next is %d although two are left", got)
	}
}

// TestNextBeyondTheList fails more endpoints than a ranked list holds.
func TestNextBeyondTheList(t *testing.T) {
	const n = 12
	s := newScheduler(t, testPlan(n))
	var d Decision
	p := promptOf([]uint64{1, 2})
	s.Decide(10*ms, p, &d)
	s.Commit(10*ms, p, &d)
	seen := map[int32]bool{d.Cur: true}
	for i := range uint64(MaxRanked + 1) {
		next := s.Next((11+i)*ms, &d)
		if next < 0 || seen[next] {
			t.Fatalf("attempt %d: next is %d, seen %v", d.Attempt+1, next, seen)
		}
		seen[next] = true
		s.Retry((11+i)*ms, &d, next, s.Gen(next))
	}
	s.Done(40*ms, &d, false)
	wantLoads(t, s, "done", nil)
}

func TestEndpointVanishes(t *testing.T) {
	p := testPlan(2)
	s := newScheduler(t, p)
	var d Decision
	start(t, s, &d)
	records := s.Stats(10 * ms).IndexRecords
	gone := d.Cur
	other := testPlan(3)
	other.Endpoints = other.Endpoints[1:] // B and C: A is gone, C takes its slot
	publish(t, s, other, 1, 11*ms, metrics{}, metrics{})
	if slotOf(t, s, "C") != gone {
		t.Fatal("the slot was not given to C, the test tests nothing")
	}
	if got := s.Stats(11 * ms).IndexRecords; records != 2 || got != 0 {
		t.Errorf("%d index records before, %d after", records, got)
	}
	s.Status(12*ms, &d, 200)
	s.FirstByte(&d)
	wantLoads(t, s, "first byte of a gone endpoint", nil)
	if next := s.Next(12*ms, &d); next < 0 {
		t.Error("no endpoint is left")
	}
	s.Done(13*ms, &d, true)
	wantLoads(t, s, "done", nil)
	if !s.fleet.Usable(13*ms, gone) {
		t.Error("the failure was charged to the slot's new endpoint")
	}
	publish(t, s, p, 2, 14*ms, metrics{}, metrics{})
	wantLoads(t, s, "back again", nil)
}

// TestAnnouncedEndpointVanishes gives the slot that a retry was announced for to another endpoint before the retry begins.
func TestAnnouncedEndpointVanishes(t *testing.T) {
	p := testPlan(3)
	two := *p
	two.Endpoints = p.Endpoints[:2]
	s := newScheduler(t, &two)
	var d Decision
	start(t, s, &d)
	next := s.Next(11*ms, &d)
	gen := s.Gen(next)
	if next != slotOf(t, s, "B") {
		t.Fatalf("next is %d", next)
	}
	other := *p
	other.Endpoints = []plan.Endpoint{p.Endpoints[0], p.Endpoints[2]}
	publish(t, s, &other, 1, 12*ms, metrics{}, metrics{})
	if slotOf(t, s, "C") != next {
		t.Fatal("the slot was not given to C, the test tests nothing")
	}
	s.Retry(13*ms, &d, next, gen)
	wantLoads(t, s, "retried at an endpoint that is gone", nil)
	if d.Cur != -1 || d.Attempt != 2 || s.fleet.Usable(14*ms, slotOf(t, s, "A")) {
		t.Errorf("current %d, attempt %d, A usable %v", d.Cur, d.Attempt, s.fleet.Usable(14*ms, slotOf(t, s, "A")))
	}
	s.Status(14*ms, &d, 500)
	s.FirstByte(&d)
	after := d
	s.Done(15*ms, &after, true)
	if !s.fleet.Usable(16*ms, next) || s.Stats(16*ms).CoolDowns != 1 {
		t.Errorf("C usable %v, %d cool-downs", s.fleet.Usable(16*ms, next), s.Stats(16*ms).CoolDowns)
	}
	if got := s.Next(16*ms, &d); got != next {
		t.Fatalf("next is %d, want C", got)
	}
	s.Retry(17*ms, &d, next, s.Gen(next))
	wantLoads(t, s, "retried at C", map[string]load{"C": {1, 128}})
	s.Done(18*ms, &d, false)
	wantLoads(t, s, "done", nil)
}

func TestCancelledProbeIsRepeated(t *testing.T) {
	s := newScheduler(t, testPlan(1))
	s.fleet.Fail(1*ms, 0, 1*ms)
	var d Decision
	p := promptOf([]uint64{1})
	if r := s.Decide(600*ms, p, &d); r != Scored {
		t.Fatalf("reason %d after the cool-down", r)
	}
	s.Commit(600*ms, p, &d)
	if s.fleet.Usable(601*ms, 0) {
		t.Error("a second request while the probe is on its way")
	}
	s.Done(602*ms, &d, false)
	if !s.fleet.Usable(603*ms, 0) {
		t.Error("no new probe")
	}
}

func TestDoneOfNothing(t *testing.T) {
	s := newScheduler(t, testPlan(0))
	var d Decision
	s.Decide(1, promptOf([]uint64{1}), &d)
	s.Commit(1, promptOf([]uint64{1}), &d)
	s.Status(1, &d, 200)
	s.FirstByte(&d)
	s.Done(1, &d, true)
	wantLoads(t, s, "nothing", nil)
}

func TestReconfigureKeepsState(t *testing.T) {
	p := testPlan(3)
	s := newScheduler(t, p)
	var d Decision
	start(t, s, &d)
	s.fleet.Fail(11*ms, slotOf(t, s, "C"), 11*ms)
	bad := *p
	bad.Plugins = append([]plan.Plugin{{Name: "x", Type: "no-such-type"}}, p.Plugins...)
	if err := s.Reconfigure(&bad); err == nil {
		t.Error("an unknown type is accepted")
	}
	good := *p
	good.Endpoints = p.Endpoints[:3:3]
	good.Endpoints = append(good.Endpoints, plan.Endpoint{Name: "ns/D", Address: "10.0.0.4:80"})
	if err := s.Reconfigure(&good); err != nil {
		t.Fatal(err)
	}
	wantLoads(t, s, "reconfigured", map[string]load{"A": {1, 64}})
	if st := s.Stats(12 * ms); st.IndexRecords != 2 || st.Endpoints != 4 || s.fleet.Usable(12*ms, slotOf(t, s, "C")) {
		t.Errorf("stats %+v, C usable %v", st, s.fleet.Usable(12*ms, slotOf(t, s, "C")))
	}
	publish(t, s, p, 1, 13*ms, metrics{}, metrics{})
	good.Agent.Cluster = "agent"
	if err := s.Reconfigure(&good); err != nil || s.Stats(14*ms).Endpoints != 2 {
		t.Errorf("error %v, %d endpoints; a snapshot goes before the plan's list", err, s.Stats(14*ms).Endpoints)
	}
	good.Agent.Cluster = ""
	if err := s.Reconfigure(&good); err != nil || s.Stats(14*ms).Endpoints != 4 {
		t.Errorf("error %v, %d endpoints; without an agent the plan's list counts", err, s.Stats(14*ms).Endpoints)
	}
}
