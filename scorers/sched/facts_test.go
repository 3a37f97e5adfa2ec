package sched

import (
	"math"
	"slices"
	"testing"

	"github.com/cespare/xxhash/v2"

	"github.com/zerohop/zerohop/scorers"
	"github.com/zerohop/zerohop/scorers/registry"
	"github.com/zerohop/zerohop/shared/plan"
	"github.com/zerohop/zerohop/shared/snapshot"
)

// shipped returns a snapshot of A and B, of which A has every kind of fact.
func shipped(t *testing.T, version uint64, p *plan.Plan, zone string) snapshot.View {
	t.Helper()
	var eps []snapshot.Endpoint
	f := snapshot.Facts{Labels: []string{"zone"}, Attributes: []string{"p/a"}}
	x := &snapshot.Extras{Places: 4}
	for i, e := range p.Endpoints[:2] {
		se := snapshot.Endpoint{Name: []byte(e.Name), Address: []byte(e.Address), ScrapeSeq: uint32(version)}
		se.ID = snapshot.EndpointID(se.Name, se.Address)
		eps = append(eps, se)
		if i == 0 {
			f.Endpoints = append(f.Endpoints, snapshot.EndpointFacts{
				ID: se.ID, Rank: 3, Labels: map[string]string{"zone": zone}, Models: []uint64{xxhash.Sum64String("m")}, ModelsKnown: true,
			})
			x.LoRA = append(x.LoRA, snapshot.LoRA{Known: true, Max: 2, Active: []uint64{5}, Waiting: []uint64{6}})
			x.Attributes = append(x.Attributes, []float64{1.5})
			continue
		}
		f.Endpoints = append(f.Endpoints, snapshot.EndpointFacts{ID: se.ID})
		x.LoRA, x.Attributes = append(x.LoRA, snapshot.LoRA{}), append(x.Attributes, nil)
	}
	order := []int{0, 1}
	if eps[0].ID > eps[1].ID {
		order = []int{1, 0}
	}
	var err error
	if x.Sheet, err = snapshot.NewSheet(&f); err != nil {
		t.Fatal(err)
	}
	sorted := []snapshot.Endpoint{eps[order[0]], eps[order[1]]}
	x.LoRA = []snapshot.LoRA{x.LoRA[order[0]], x.LoRA[order[1]]}
	x.Attributes = [][]float64{x.Attributes[order[0]], x.Attributes[order[1]]}
	blob, err := snapshot.AppendExtras(nil, version, sorted, x)
	if err != nil {
		t.Fatal(err)
	}
	v, err := snapshot.Open(blob)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestFactsOfSnapshots brings facts from a snapshot to a plugin and into the columns that plugins read.
func TestFactsOfSnapshots(t *testing.T) {
	var log []string
	reader := scorers.Spec{Type: "reader", New: func(u *scorers.Setup) (any, error) {
		u.LoRA()
		u.Models()
		u.Attribute("p/a")
		u.Topology(scorers.TopologyKeys{Zone: "zone"})
		return nil, nil
	}}
	p := recorderPlan(2)
	p.Agent.Cluster = "agent"
	p.Plugins = append(p.Plugins, plan.Plugin{Name: "reader", Type: "reader"})
	s, err := newWith(p, 1, append(recorderSpecs(&log), reader))
	if err != nil {
		t.Fatal(err)
	}
	s.Apply(shipped(t, 1, p, "z1"), ms, ms)
	a, b := slotOf(t, s, "A"), slotOf(t, s, "B")
	if !slices.Contains(log, "rec facts "+string(rune('0'+a))+" ns/A 10.0.0.1:80 present z1") ||
		!slices.Contains(log, "rec facts "+string(rune('0'+b))+" ns/B 10.0.0.2:80 absent ") {
		t.Errorf("calls %q", log)
	}
	e := s.View()
	if e.Rank[a] != 3 || e.MaxLoRA[a] != 2 || !e.Adapters.Has(a, 5) || !e.WaitingAdapters.Has(a, 6) || e.Attr[0][a] != 1.5 ||
		!e.Models.Has(a, xxhash.Sum64String("m")) || e.Topo[a][scorers.TopoZone] != xxhash.Sum64String("z1") {
		t.Errorf("endpoints %+v", e)
	}
	if e.Models.IsKnown(b) || e.Adapters.IsKnown(b) || !math.IsNaN(e.Attr[0][b]) || e.Topo[b] != [4]uint64{} {
		t.Errorf("endpoints %+v: B has what A has", e)
	}
	log = nil
	s.Apply(shipped(t, 2, p, "z1"), 2*ms, 2*ms)
	if len(log) != 1 { // grow
		t.Errorf("calls %q although no fact changed", log)
	}
	s.Apply(shipped(t, 3, p, "z2"), 3*ms, 3*ms)
	if e.Topo[a][scorers.TopoZone] != xxhash.Sum64String("z2") {
		t.Error("the topology is the old one")
	}
}

// TestApplyAllocatesNothing applies the same facts again and again.
func TestApplyAllocatesNothing(t *testing.T) {
	reader := scorers.Spec{Type: "reader", New: func(u *scorers.Setup) (any, error) {
		u.LoRA()
		u.Models()
		u.Attribute("p/a")
		u.Label("zone")
		return nil, nil
	}}
	p := testPlan(2)
	p.Agent.Cluster = "agent"
	p.Plugins = append(p.Plugins, plan.Plugin{Name: "reader", Type: "reader"})
	s, err := newWith(p, 1, append(registry.Specs(), reader))
	if err != nil {
		t.Fatal(err)
	}
	views := []snapshot.View{shipped(t, 1, p, "z1"), shipped(t, 2, p, "z2")}
	n := uint64(0)
	apply := func() {
		n++
		s.Apply(views[n%2], n, n)
	}
	apply()
	apply()
	if got := testing.AllocsPerRun(100, apply); got != 0 {
		t.Errorf("%v allocations for a snapshot", got)
	}
}
