package fleet

import (
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zerohop/zerohop/shared/plan"
	"github.com/zerohop/zerohop/shared/snapshot"
)

const (
	ms    = 1_000_000
	stale = 1000 // ms
)

// list is a source made of endpoints named by number.
type list []snapshot.Endpoint

func (l list) Len() int                             { return len(l) }
func (l list) Endpoint(i int, e *snapshot.Endpoint) { *e = l[i] }

func endpoint(n int) snapshot.Endpoint {
	name, address := []byte("ns/ep-"+strconv.Itoa(n)), []byte("10.0.0."+strconv.Itoa(n)+":8000")
	return snapshot.Endpoint{ID: snapshot.EndpointID(name, address), Name: name, Address: address, ScrapeAgeMs: snapshot.NeverScraped}
}

// fleetOf returns endpoints 1…n without metrics.
func fleetOf(n int) list {
	var l list
	for i := 1; i <= n; i++ {
		l = append(l, endpoint(i))
	}
	return l
}

// scrapedAs gives an endpoint metrics.
func scrapedAs(e snapshot.Endpoint, seq, ageMs, waiting uint32) snapshot.Endpoint {
	e.ScrapeSeq, e.ScrapeAgeMs, e.Waiting, e.KVUsage = seq, ageMs, waiting, 0.5
	return e
}

func names(t *Table) []string {
	var out []string
	for _, s := range t.Live() {
		out = append(out, string(t.Name(s))+" "+string(t.Address(s)))
	}
	return out
}

func TestMembership(t *testing.T) {
	tab := New(3, stale)
	all := fleetOf(4)
	c := apply(tab, all[:2], 0, 0)
	if !c.Capacity || len(c.Removed) != 0 || len(tab.Live()) != 2 {
		t.Fatalf("first list: %+v, %v", c, names(tab))
	}
	if c = apply(tab, all[:2], 1, 1); c.Capacity || len(c.Removed) != 0 {
		t.Errorf("same list: %+v", c)
	}
	slot, gen := tab.Live()[0], tab.Gen(tab.Live()[0])
	c = apply(tab, all[1:], 2, 2)
	if diff := cmp.Diff([]int32{slot}, c.Removed); diff != "" {
		t.Errorf("removed (-want +got):\n%s", diff)
	}
	want := []string{"ns/ep-2 10.0.0.2:8000", "ns/ep-3 10.0.0.3:8000", "ns/ep-4 10.0.0.4:8000"}
	if diff := cmp.Diff(want, names(tab)); diff != "" {
		t.Errorf("endpoints (-want +got):\n%s", diff)
	}
	if tab.Valid(slot, gen) || tab.Gen(slot) == gen {
		t.Error("the slot of a removed endpoint is still valid")
	}
	if apply(tab, all, 3, 3); tab.Overflow() != 1 || len(tab.Live()) != 3 {
		t.Errorf("four endpoints in a table of three: %v, overflow %d", names(tab), tab.Overflow())
	}
	if apply(tab, list(nil), 4, 4); len(tab.Live()) != 0 || tab.Overflow() != 0 {
		t.Errorf("empty list leaves %v", names(tab))
	}
}

func TestPlanEndpoints(t *testing.T) {
	tab := New(8, stale)
	eps := []plan.Endpoint{{Name: "ns/a", Address: "10.0.0.1:80"}, {Name: "ns/a", Address: "10.0.0.1:80"}, {Name: "ns/b", Address: "[::1]:80"}}
	tab.ApplyPlan(eps, 0)
	tab.ApplyPlan(eps, 0)
	if diff := cmp.Diff([]string{"ns/a 10.0.0.1:80", "ns/b [::1]:80"}, names(tab)); diff != "" {
		t.Errorf("endpoints (-want +got):\n%s", diff)
	}
}

func TestCapacityChange(t *testing.T) {
	tab, l := New(8, stale), fleetOf(2)
	apply(tab, l, 0, 0)
	l[1].NumBlocks, l[1].ScrapeAgeMs = 100, 0
	if c := apply(tab, l, 1, 1); !c.Capacity || tab.NumBlocks(tab.order[1]) != 100 {
		t.Errorf("change %+v, blocks %d", c, tab.NumBlocks(tab.order[1]))
	}
}

// TestWaiting follows the effective queue length of one endpoint through picks, scrapes and time.
// TestUnscrapedKeepsCapacity takes a snapshot of an agent that has just started over one with numbers.
func TestUnscrapedKeepsCapacity(t *testing.T) {
	tab := New(3, stale)
	known := scrapedAs(endpoint(1), 1, 0, 0)
	known.BlockSize, known.NumBlocks = 64, 1000
	apply(tab, list{known}, 1, 1)
	if c := apply(tab, fleetOf(1), 2, 2); c.Capacity {
		t.Error("an endpoint that has not been scraped yet changes its capacity")
	}
	if c := apply(tab, list{known}, 3, 3); c.Capacity {
		t.Error("the same numbers after that are a change")
	}
}

func TestWaiting(t *testing.T) {
	tab, l := New(8, stale), fleetOf(1)
	apply(tab, l, 0, 0)
	slot := tab.Live()[0]
	check := func(step string, want float64, fresh bool) {
		t.Helper()
		if got := tab.View().Waiting[slot]; got != want || tab.View().Fresh[slot] != fresh {
			t.Errorf("%s: waiting %v fresh %v, want %v %v", step, got, tab.View().Fresh[slot], want, fresh)
		}
	}
	check("never scraped", 0, false)
	gen := tab.Gen(slot)
	first := tab.Begin(100*ms, slot, 10)
	check("pick without metrics", PickShare, false)

	l[0] = scrapedAs(l[0], 1, 50, 3)
	apply(tab, l, 200*ms, 200*ms) // scraped at 150 ms
	check("the scrape has seen the pick", 3, true)
	second := tab.Begin(210*ms, slot, 10)
	check("a pick since", 3+PickShare, true)

	l[0] = scrapedAs(l[0], 2, 20, 0)
	apply(tab, l, 220*ms, 220*ms) // scraped at 200 ms
	check("a newer scrape before that pick", 2*PickShare, true)
	apply(tab, l, 230*ms, 230*ms)
	check("the same scrape again", 2*PickShare, true)

	tab.FirstByte(slot, gen, 10, first)
	check("first byte", PickShare+AnsweredShare, true)
	tab.FirstByte(slot, gen, 10, second)
	check("both answer", 2*AnsweredShare, true)
	tab.End(slot, gen, 0)
	tab.End(slot, gen, 0)
	check("finished", 0, true)
	if v := tab.View(); v.InFlight[slot] != 0 || v.InFlightTokens[slot] != 0 {
		t.Errorf("in flight %d, %d tokens", v.InFlight[slot], v.InFlightTokens[slot])
	}

	l[0] = scrapedAs(l[0], 3, 0, 7)
	apply(tab, l, 300*ms, 300*ms)
	tab.Refresh(1299 * ms)
	check("just believed", 7, true)
	tab.Refresh(1300 * ms)
	check("stale", 0, false)
}

// TestWaitingWithoutFreshMetrics follows an endpoint that is never scraped beside others that are.
func TestWaitingWithoutFreshMetrics(t *testing.T) {
	tab, l := New(8, stale), fleetOf(4)
	publish := func(now uint64, seq uint32) {
		l[0], l[1] = scrapedAs(l[0], seq, 0, 6), scrapedAs(l[1], seq, 40, 10)
		l[2] = scrapedAs(l[2], seq, 0, 500)
		l[2].Flags = snapshot.Draining
		apply(tab, l, now, now)
	}
	publish(100*ms, 1)
	slot := tab.order[3]
	gen := tab.Gen(slot)
	check := func(step string, want float64) {
		t.Helper()
		if got := tab.View().Waiting[slot]; got != want || tab.View().Fresh[slot] {
			t.Errorf("%s: waiting %v fresh %v, want %v", step, got, tab.View().Fresh[slot], want)
		}
	}
	check("mean of those that do not drain", 8)
	serial := tab.Begin(190*ms, slot, 10)
	tab.Begin(105*ms, tab.order[0], 10)
	check("own pick", 8+PickShare)
	publish(205*ms, 2) // mean time of the scrapes is 185 ms
	check("not seen by the scrapes of the others", 8+PickShare)
	publish(215*ms, 3) // 195 ms
	check("seen by them", 8)
	tab.FirstByte(slot, gen, 10, serial)
	check("answered", 8+AnsweredShare)
	tab.End(slot, gen, 0)
	check("finished", 8)
	if got := tab.Queue(slot); got != 8 {
		t.Errorf("queue %v, want 8", got)
	}
	for range 100 {
		tab.Begin(220*ms, slot, 10)
	}
	publish(300*ms, 4)
	check("answers none", 100*PickShare)
	tab.Refresh(2000 * ms)
	check("nobody is fresh", 100*PickShare)
	if got := tab.Queue(slot); got != 0 {
		t.Errorf("queue %v, want 0", got)
	}
}

// TestRingOverflow picks more often between two scrapes than the ring remembers.
func TestRingOverflow(t *testing.T) {
	tab, l := New(8, stale), fleetOf(1)
	l[0] = scrapedAs(l[0], 1, 0, 0)
	apply(tab, l, 1, 1)
	slot := tab.Live()[0]
	var serials []uint32
	for i := range uint64(ringLen + 100) {
		serials = append(serials, tab.Begin(2+i, slot, 1))
	}
	if tab.places[slot].since != ringLen {
		t.Errorf("%d picks since the scrape, want %d", tab.places[slot].since, ringLen)
	}
	for _, s := range serials {
		tab.FirstByte(slot, tab.Gen(slot), 1, s)
		tab.End(slot, tab.Gen(slot), 0)
	}
	if tab.places[slot].since != 0 || tab.places[slot].pending != 0 || tab.View().Waiting[slot] != 0 || tab.View().InFlightTokens[slot] != 0 {
		t.Errorf("since %d pending %d waiting %v tokens %d", tab.places[slot].since, tab.places[slot].pending, tab.View().Waiting[slot], tab.View().InFlightTokens[slot])
	}
}

func TestHealth(t *testing.T) {
	type step struct {
		at     uint64 // ms
		do     string
		usable bool
	}
	tests := []struct {
		name  string
		steps []step
	}{
		{"a refused connection cools down, doubling", []step{
			{10, "fail", false},
			{509, "", false},
			{510, "", true},
			{511, "probe", false},
			{512, "fail", false},
			{1511, "", false},
			{1512, "", true},
		}},
		{"the cool-down stops growing", []step{
			{10, "fail", false},
			{20, "fail", false},
			{30, "fail", false},
			{40, "fail", false},
			{50, "fail", false},
			{60, "fail", false},
			{70, "fail", false},
			{10_069, "", false},
			{10_070, "", true},
		}},
		{"a probe that succeeds ends it", []step{{10, "fail", false}, {600, "probe", false}, {700, "200", true}}},
		{"a probe that is cancelled is repeated", []step{{10, "fail", false}, {600, "probe", false}, {700, "unprobe", true}}},
		{"a probe that never ends is repeated", []step{{10, "fail", false}, {600, "probe", false}, {10_600, "", true}}},
		{"two server errors are borne", []step{{10, "500", true}, {20, "503", true}, {30, "200", true}, {40, "500", true}}},
		{"three in a row are not", []step{{10, "500", true}, {20, "500", true}, {30, "500", false}, {530, "", true}}},
		{"a server error on probation cools down longer", []step{
			{10, "fail", false}, {600, "probe", false}, {610, "500", false}, {1609, "", false}, {1610, "", true},
		}},
		{"client errors are answers", []step{{10, "429", true}, {20, "404", true}, {30, "400", true}}},
		{"several requests that die together count once", []step{{10, "fail", false}, {11, "fail since 5", false}, {510, "", true}}},
		{"an old answer does not end it", []step{{10, "fail", false}, {11, "200 since 5", false}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tab := New(8, stale)
			apply(tab, fleetOf(1), 0, 0)
			s := tab.Live()[0]
			for _, st := range tt.steps {
				now := st.at * ms
				switch st.do {
				case "fail":
					tab.Fail(now, s, now)
				case "fail since 5":
					tab.Fail(now, s, 5*ms)
				case "200 since 5":
					tab.Answer(now, s, 5*ms, 200)
				case "probe":
					if !tab.Probe(now, s) {
						t.Errorf("%d ms: not a probe", st.at)
					}
				case "unprobe":
					tab.Unprobe(now, s, now)
				case "":
				default:
					code, err := strconv.Atoi(st.do)
					if err != nil {
						t.Fatal(err)
					}
					tab.Answer(now, s, now, code)
				}
				if got := tab.Usable(now, s); got != st.usable {
					t.Errorf("%d ms %s: usable %v, want %v", st.at, st.do, got, st.usable)
				}
			}
		})
	}
}

func TestCandidates(t *testing.T) {
	tests := []struct {
		name     string
		failures []int // of each endpoint, in a row
		draining []bool
		want     []int // endpoints by number
		degraded bool
	}{
		{"all healthy", []int{0, 0, 0}, []bool{false, false, false}, []int{1, 2, 3}, false},
		{"cooling and draining are left out", []int{0, 1, 0}, []bool{false, false, true}, []int{1}, false},
		{"draining before cooling", []int{1, 0, 2}, []bool{false, true, false}, []int{2}, true},
		{"fewest failures", []int{3, 1, 1}, []bool{false, false, false}, []int{2, 3}, true},
		{"cooling before cooling and draining", []int{1, 1, 1}, []bool{true, false, true}, []int{2}, true},
		{"none", nil, nil, nil, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tab, l := New(8, stale), fleetOf(len(tt.failures))
			for i := range l {
				if tt.draining[i] {
					l[i].Flags = snapshot.Draining
				}
			}
			apply(tab, l, 0, 0)
			for i, n := range tt.failures {
				for k := range n {
					tab.Fail(uint64(10+k), tab.order[i], uint64(10+k))
				}
			}
			cand, degraded := tab.Candidates(20, nil)
			var got []int
			for _, s := range cand {
				for i, o := range tab.order {
					if o == s {
						got = append(got, i+1)
					}
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" || degraded != tt.degraded {
				t.Errorf("degraded %v, candidates (-want +got):\n%s", degraded, diff)
			}
		})
	}
}

func TestApplyOfSameFleetAllocatesNothing(t *testing.T) {
	tab, l := New(256, stale), fleetOf(200)
	apply(tab, l, 0, 0)
	var src source = l
	now := uint64(1)
	if got := testing.AllocsPerRun(100, func() { now++; apply(tab, src, now, now) }); got != 0 {
		t.Errorf("%v allocations", got)
	}
}
