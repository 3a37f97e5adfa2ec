package sched

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zerohop/zerohop/scorers"
	"github.com/zerohop/zerohop/scorers/registry"
	"github.com/zerohop/zerohop/shared/plan"
	"github.com/zerohop/zerohop/shared/snapshot"
)

// curious asks for everything that a snapshot can carry.
type curious struct {
	zone scorers.LabelID
	gpu  scorers.AttrID
	seen map[string]string // zone by endpoint
}

func (c *curious) Grow(int) {}

func (c *curious) Facts(_ int32, f *scorers.Facts) {
	value, p := f.Label(c.zone)
	c.seen[string(f.Name)] = [...]string{"unknown", "absent", "present"}[p] + " " + string(value)
}

func (c *curious) Forget(int32) {}

func (c *curious) Score(*scorers.Cycle, []int32, []float64) {}

// TestFactsOfASnapshot applies encoded snapshots: plugins see what these carry.
func TestFactsOfASnapshot(t *testing.T) {
	c := &curious{seen: map[string]string{}}
	specs := append(registry.Specs(), scorers.Spec{Type: "curious", Kinds: scorers.KindScorer, New: func(u *scorers.Setup) (any, error) {
		c.zone, c.gpu = u.Label("zone"), u.Attribute("gpu/dcgm")
		u.Models()
		u.LoRA()
		return c, nil
	}})
	p := testPlan(0)
	p.Plugins = append(p.Plugins, plan.Plugin{Name: "curious", Type: "curious"})
	s, err := newWith(p, 1, specs)
	if err != nil {
		t.Fatal(err)
	}
	eps := make([]snapshot.Endpoint, 2)
	facts := snapshot.Facts{Labels: []string{"role", "zone"}, Attributes: []string{"gpu/dcgm"}}
	for i, name := range []string{"ns/a", "ns/b"} {
		address := []byte{'1', '0', '.', '0', '.', '0', '.', byte('1' + i), ':', '1'}
		eps[i] = snapshot.Endpoint{ID: snapshot.EndpointID([]byte(name), address), Name: []byte(name), Address: address, ScrapeSeq: 1}
		facts.Endpoints = append(facts.Endpoints, snapshot.EndpointFacts{ID: eps[i].ID})
	}
	facts.Endpoints[1] = snapshot.EndpointFacts{ID: eps[1].ID, Rank: 2, Labels: map[string]string{"zone": "east"}, Models: []uint64{5}, ModelsKnown: true}
	x := &snapshot.Extras{
		Places: 4, LoRA: []snapshot.LoRA{{}, {Known: true, Max: 3, Active: []uint64{7}, Waiting: []uint64{8, 9}}}, Attributes: [][]float64{nil, {0.5}},
	}
	if x.Sheet, err = snapshot.NewSheet(&facts); err != nil {
		t.Fatal(err)
	}
	open := func(version uint64, x *snapshot.Extras) snapshot.View {
		blob, err := snapshot.AppendExtras(nil, version, eps, x)
		if err != nil {
			t.Fatal(err)
		}
		v, err := snapshot.Open(blob)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	v := open(1, x)
	s.Apply(v, 1, 1)
	if diff := cmp.Diff(map[string]string{"ns/a": "absent ", "ns/b": "present east"}, c.seen); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	e := s.fleet.View()
	for slot := range int32(2) {
		b := string(s.fleet.Name(slot)) == "ns/b"
		if e.Models.IsKnown(slot) != b || e.Models.Has(slot, 5) != b || e.Adapters.IsKnown(slot) != b || e.Adapters.Has(slot, 7) != b ||
			e.WaitingAdapters.Has(slot, 9) != b || e.WaitingAdapters.Has(slot, 7) || (e.MaxLoRA[slot] == 3) != b ||
			(e.Rank[slot] == 2) != b || math.IsNaN(e.Attr[c.gpu][slot]) == b {
			t.Errorf("%s: models %v, adapters %v, waiting %v, max %v, rank %v, attributes %v", s.fleet.Name(slot), e.Models, e.Adapters,
				e.WaitingAdapters, e.MaxLoRA, e.Rank, e.Attr)
		}
	}
	if n := testing.AllocsPerRun(50, func() { s.Apply(v, 2, 2) }); n != 0 {
		t.Errorf("a snapshot with known facts allocates %v times, want 0", n)
	}
	s.Apply(open(2, nil), 3, 3) // of an agent that does not know what is read
	if diff := cmp.Diff(map[string]string{"ns/a": "unknown ", "ns/b": "unknown "}, c.seen); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
}
