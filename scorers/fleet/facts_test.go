package fleet

import (
	"math"
	"slices"
	"testing"

	"github.com/cespare/xxhash/v2"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/zerohop/zerohop/scorers"
	"github.com/zerohop/zerohop/shared/plan"
	"github.com/zerohop/zerohop/shared/snapshot"
)

// fact is what a test says of one endpoint.
type fact struct {
	labels          map[string]string
	rank, maxLoRA   int
	models          []string // nil: not known
	active, waiting []string
	attr            float64
}

// told are the facts of a list, which carries these label keys.
type told struct {
	keys  []string
	sum   uint64
	attrs []string
	asks  bool // endpoints are asked for their models
	of    []fact
}

func (f *told) Sum() uint64           { return f.sum }
func (f *told) Labels() int           { return len(f.keys) }
func (f *told) LabelKey(l int) []byte { return []byte(f.keys[l]) }
func (f *told) Every() bool           { return false }
func (f *told) Rank(i int) int        { return f.of[i].rank }
func (f *told) MaxLoRA(i int) int     { return f.of[i].maxLoRA }
func (f *told) AttrIndex(key string) int {
	return slices.Index(f.attrs, key)
}
func (f *told) Attr(i, _ int) float64 { return f.of[i].attr }
func (f *told) Label(i, l int) ([]byte, bool) {
	value, ok := f.of[i].labels[f.keys[l]]
	return []byte(value), ok
}

func (f *told) AsksModels() bool { return f.asks }

func (f *told) AppendModels(dst []uint64, i int) ([]uint64, bool) {
	return appendHashes(dst, f.of[i].models), f.of[i].models != nil
}

func (f *told) AppendAdapters(dst []uint64, i int, waiting bool) ([]uint64, bool) {
	if waiting {
		return appendHashes(dst, f.of[i].waiting), true
	}
	return appendHashes(dst, f.of[i].active), true
}

func appendHashes(dst []uint64, names []string) []uint64 {
	for _, n := range names {
		dst = append(dst, xxhash.Sum64String(n))
	}
	return dst
}

// applyFacts applies a list with facts, whose sum it advances.
func applyFacts(t *Table, l list, f *told) Change {
	f.sum++
	t.facts = f
	return apply(t, l, 0, 0)
}

// label returns what plugins are told of a label of slot.
func label(t *Table, slot int32, id scorers.LabelID) string {
	var f scorers.Facts
	t.Facts(slot, &f)
	value, p := f.Label(id)
	return [...]string{"unknown", "absent", "present "}[p] + string(value)
}

func TestFacts(t *testing.T) {
	tab, l := New(8, stale), fleetOf(2)
	tab.Want(&scorers.Wants{
		Labels: []string{"zone", "role"}, Attributes: []string{"p/a", "p/b"}, Models: true, LoRA: true,
		Topology: &scorers.TopologyKeys{Zone: "zone"}, TopologyIDs: [4]scorers.LabelID{},
	})
	f := &told{keys: []string{"role"}, attrs: []string{"p/b"}, of: []fact{
		{labels: map[string]string{"role": "decode"}, rank: 1, models: []string{"m"}, active: []string{"x", "y"}, maxLoRA: 4, attr: 2.5},
		{attr: math.NaN(), waiting: []string{"z"}},
	}}
	c := applyFacts(tab, l, f)
	a, b := tab.order[0], tab.order[1]
	if diff := cmp.Diff([]int32{a, b}, c.Facts); diff != "" {
		t.Errorf("changed (-want +got):\n%s", diff)
	}
	v := tab.View()
	got := []string{label(tab, a, 0), label(tab, a, 1), label(tab, b, 0), label(tab, b, 1)}
	if want := []string{"unknown", "present decode", "unknown", "absent"}; !slices.Equal(got, want) {
		t.Errorf("labels %q, want %q", got, want)
	}
	if !math.IsNaN(v.Attr[0][a]) || v.Attr[1][a] != 2.5 || !math.IsNaN(v.Attr[1][b]) {
		t.Errorf("attributes %v", v.Attr)
	}
	m, x, z := xxhash.Sum64String("m"), xxhash.Sum64String("x"), xxhash.Sum64String("z")
	if !v.Models.Has(a, m) || !v.Models.IsKnown(a) || v.Models.IsKnown(b) || v.Models.Has(b, m) {
		t.Errorf("models %+v", v.Models)
	}
	if !v.Adapters.Has(a, x) || v.Adapters.Has(b, x) || !v.WaitingAdapters.Has(b, z) || v.MaxLoRA[a] != 4 {
		t.Errorf("adapters %+v and %+v, most %v", v.Adapters, v.WaitingAdapters, v.MaxLoRA)
	}
	if v.Rank[a] != 1 || v.NameHash[a] != xxhash.Sum64(tab.Name(a)) {
		t.Errorf("rank %d, hash of the name %x", v.Rank[a], v.NameHash[a])
	}
}

// TestFactsChange changes one thing after the other; the change names the slots that are concerned.
func TestFactsChange(t *testing.T) {
	tab, l := New(8, stale), fleetOf(3)
	tab.Want(&scorers.Wants{Labels: []string{"zone"}, Models: true, Topology: &scorers.TopologyKeys{Zone: "zone"}})
	f := &told{keys: []string{"zone", "other"}, of: make([]fact, 3)}
	applyFacts(tab, l, f)
	slots := slices.Clone(tab.order)
	zone := func(z string) map[string]string { return map[string]string{"zone": z} }
	steps := []struct {
		name   string
		change func()
		want   []int // endpoints
	}{
		{"nothing", func() {}, nil},
		{"label", func() { f.of[1].labels = zone("z1") }, []int{1}},
		{"its value", func() { f.of[1].labels = zone("z2") }, []int{1}},
		{"a label that nobody reads", func() { f.of[2].labels = map[string]string{"other": "x"} }, nil},
		{"empty value", func() { f.of[0].labels = zone("") }, []int{0}},
		{"rank", func() { f.of[2].rank = 7 }, []int{2}},
		{"models become known", func() { f.of[0].models = []string{} }, []int{0}},
		{"model", func() { f.of[0].models = []string{"m"} }, []int{0}},
		{"key no longer carried", func() { f.keys = f.keys[1:] }, []int{0, 1, 2}},
		{"key carried again", func() { f.keys = []string{"zone"} }, []int{0, 1, 2}},
		{"another endpoint in the place of one", func() { l[1] = endpoint(9) }, []int{1}},
	}
	for _, step := range steps {
		step.change()
		c := applyFacts(tab, l, f)
		var want []int32
		for _, i := range step.want {
			want = append(want, slots[i])
		}
		got := slices.Clone(c.Facts)
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s: slots %v, want %v", step.name, got, want)
		}
	}
	if got := tab.View().Topo[slots[1]]; got != [4]uint64{0, 0, xxhash.Sum64String("z2"), 0} {
		t.Errorf("topology %x", got)
	}
}

// TestFactsAreReadOnce applies the same facts again, which by their sum are not looked at.
func TestFactsAreReadOnce(t *testing.T) {
	tab, l := New(8, stale), fleetOf(1)
	tab.Want(&scorers.Wants{Labels: []string{"zone"}})
	f := &told{keys: []string{"zone"}, of: []fact{{}}}
	applyFacts(tab, l, f)
	f.of[0].labels = map[string]string{"zone": "z"} // the sum says that this cannot be
	f.sum--
	if c := applyFacts(tab, l, f); len(c.Facts) != 0 {
		t.Errorf("slots %v were read again", c.Facts)
	}
	tab.Want(&scorers.Wants{Labels: []string{"zone"}})
	f.sum--
	if c := applyFacts(tab, l, f); len(c.Facts) != 1 {
		t.Error("facts were not read after the wants changed")
	}
}

// TestSourceWithoutFacts follows a source that says nothing of labels after one that did.
func TestSourceWithoutFacts(t *testing.T) {
	tab := New(8, stale)
	tab.Want(&scorers.Wants{Labels: []string{"zone", "none"}})
	eps := []plan.Endpoint{{Name: "ns/a", Address: "10.0.0.1:80", Labels: []plan.Label{{Key: "zone", Value: "z"}}}}
	if c := tab.ApplyPlan(eps, 0); len(c.Facts) != 1 {
		t.Errorf("changed %v", c.Facts)
	}
	slot := tab.Live()[0]
	if got := label(tab, slot, 0) + ", " + label(tab, slot, 1); got != "present z, absent" {
		t.Errorf("labels %s", got)
	}
	e := snapshot.Endpoint{Name: []byte("ns/a"), Address: []byte("10.0.0.1:80"), ScrapeAgeMs: snapshot.NeverScraped}
	e.ID = snapshot.EndpointID(e.Name, e.Address)
	if c := apply(tab, list{e}, 0, 0); len(c.Facts) != 1 || label(tab, slot, 0) != "unknown" {
		t.Errorf("changed %v, label %s", c.Facts, label(tab, slot, 0))
	}
	if c := apply(tab, list{e}, 0, 0); len(c.Facts) != 0 {
		t.Errorf("changed again: %v", c.Facts)
	}
}

// TestNothingOfTheLastTenant gives slots away at random: what is told of a slot is always of the endpoint in it.
func TestNothingOfTheLastTenant(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tab := New(4, stale)
		tab.Want(&scorers.Wants{Labels: []string{"zone"}, Attributes: []string{"p/a"}, Models: true, LoRA: true})
		for range 8 {
			var l list
			f := &told{keys: []string{"zone"}, attrs: []string{"p/a"}}
			f.sum = tab.known.sum
			for n := 1; n <= 6 && len(l) < 4; n++ {
				if !rapid.Bool().Draw(t, "there") {
					continue
				}
				l = append(l, endpoint(n))
				x := fact{attr: float64(n), models: []string{string(rune('a' + n))}, active: []string{string(rune('a' + n))}, maxLoRA: n, rank: n}
				if n%2 == 0 {
					x = fact{attr: math.NaN()}
				} else {
					x.labels = map[string]string{"zone": string(rune('a' + n))}
				}
				f.of = append(f.of, x)
			}
			applyFacts(tab, l, f)
			v := tab.View()
			for i, s := range tab.order {
				x := f.of[i]
				want := "absent"
				if x.labels != nil {
					want = "present " + x.labels["zone"]
				}
				same := v.Attr[0][s] == x.attr || math.IsNaN(v.Attr[0][s]) && math.IsNaN(x.attr)
				if label(tab, s, 0) != want || !same || int(v.Rank[s]) != x.rank || int(v.MaxLoRA[s]) != x.maxLoRA ||
					!slices.Equal(v.Models.Of(s), appendHashes(nil, x.models)) || v.Models.Known[s] != (x.models != nil) ||
					!slices.Equal(v.Adapters.Of(s), appendHashes(nil, x.active)) {
					t.Fatalf("slot %d of %s: label %s, attribute %v, rank %d", s, tab.Name(s), label(tab, s, 0), v.Attr[0][s], v.Rank[s])
				}
			}
		}
	})
}

// TestQueueIsWhatWasScraped keeps own requests out of Queue, and under parity with the EPP believes old numbers.
func TestQueueIsWhatWasScraped(t *testing.T) {
	for _, plain := range []bool{false, true} {
		tab := New(8, stale)
		tab.CountOwn(!plain)
		l := list{scrapedAs(endpoint(1), 1, 0, 4), scrapedAs(endpoint(2), 1, 5000, 9), endpoint(3)}
		apply(tab, l, 6000*ms, 6000*ms)
		v := tab.View()
		for range 4 {
			tab.Begin(6001*ms, tab.order[0], 10)
		}
		want := []float64{4, 4, 4} // what is not fresh has the mean
		if plain {
			want = []float64{4, 9, 0}
		}
		for i, s := range tab.order {
			if v.Queue[s] != want[i] {
				t.Errorf("plain %v: queue of endpoint %d is %v, want %v", plain, i, v.Queue[s], want[i])
			}
			if v.Scraped[s] != (i < 2) {
				t.Errorf("endpoint %d scraped: %v", i, v.Scraped[s])
			}
		}
		if got := v.Waiting[tab.order[0]] > 4; got == plain {
			t.Errorf("plain %v: waiting %v with four requests of our own", plain, v.Waiting[tab.order[0]])
		}
	}
}
