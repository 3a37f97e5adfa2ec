package plugintest

import (
	"math"
	"slices"
	"testing"

	"github.com/cespare/xxhash/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/zerohop/zerohop/scorers"
	"github.com/zerohop/zerohop/shared/plan"
)

// probe plays every role and shows what it was given.
type probe struct {
	label  scorers.LabelID
	attr   scorers.AttrID
	header scorers.HeaderID
	zones  map[int32]string
	slots  int
	gen    uint32
	swept  uint64
}

var probeSpec = scorers.Spec{
	Type:   "probe",
	Params: []scorers.Param{{Name: "header", Kind: plan.String, Default: "x-probe"}},
	New: func(u *scorers.Setup) (any, error) {
		u.Models()
		u.LoRA()
		u.Topology(scorers.TopologyKeys{Rack: "rack"})
		return &probe{
			label: u.Label("zone"), attr: u.Attribute("p/a"), header: u.Header(u.Params.String("header", "")), zones: map[int32]string{},
		}, nil
	},
}

func (p *probe) Grow(slots int) { p.slots = slots }

func (p *probe) Facts(slot int32, f *scorers.Facts) {
	value, presence := f.Label(p.label)
	p.zones[slot] = [...]string{"unknown", "absent", "present "}[presence] + string(value)
}

func (p *probe) Forget(slot int32) { delete(p.zones, slot) }

func (p *probe) Picked(_ *scorers.Cycle, _ int32, gen uint32) { p.gen = gen }

func (p *probe) Sweep(now uint64) { p.swept = now }

func (p *probe) Served(_ *scorers.Endpoints, _ int32, name []byte, out *scorers.HeaderSink) {
	out.Set("x-served", name)
}

// Filter keeps endpoints that are fresh and have the attribute, the last first.
func (p *probe) Filter(c *scorers.Cycle, cand []int32) []int32 {
	kept := slices.DeleteFunc(cand, func(s int32) bool { return !c.Endpoints.Fresh[s] || math.IsNaN(c.Endpoints.Attr[p.attr][s]) })
	slices.Reverse(kept)
	return kept
}

func (p *probe) Score(c *scorers.Cycle, cand []int32, out []float64) {
	for i, s := range cand {
		out[i] = c.Endpoints.Waiting[s] + 100*c.Endpoints.Queue[s] + float64(10000*c.Request.Match[s])
	}
}

func (p *probe) Pick(_ *scorers.Cycle, cand []int32, score []float64, limit int) []int32 {
	score[0] = -1 // the caller's slice is not touched
	return cand[:limit]
}

func TestBed(t *testing.T) {
	b, err := New(&probeSpec, nil, []EP{
		{Labels: map[string]string{"zone": "z", "rack": "r"}, Waiting: 2, Own: .5, Attrs: map[string]float64{"p/a": 1}, Active: []string{"x"}, Models: []string{"m"}},
		{Attrs: map[string]float64{"p/a": 1}, AgeMs: StaleMs},
		{Match: 3, Pred: &Pred{TTFT: 5}},
		{Attrs: map[string]float64{"p/a": 1}, Unscraped: true},
		{Attrs: map[string]float64{"p/a": 1}},
	}, Req{Model: "m", Headers: map[string]string{"X-Probe": " v "}, Peer: "ns/ep-2"})
	if err != nil {
		t.Fatal(err)
	}
	p := b.Plugin.(*probe)
	if diff := cmp.Diff([]int{4, 0}, b.Filter()); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]float64{202.5, 0, 30000, 0, 0}, b.Score()); diff != "" {
		t.Errorf("scores (-want +got):\n%s", diff)
	}
	score := []float64{1, 2, 3, 4, 5}
	if diff := cmp.Diff([]int{0, 1}, b.PickFrom(score, 2)); diff != "" || score[0] != 1 {
		t.Errorf("picked, from %v (-want +got):\n%s", score, diff)
	}
	if got := p.zones[Slot(0)] + ", " + p.zones[Slot(1)]; got != "present z, absent" || p.slots <= int(Slot(4)) {
		t.Errorf("labels %s among %d slots", got, p.slots)
	}
	r, e := &b.Cycle.Request, b.Cycle.Endpoints
	if string(r.Headers.Get(p.header)) != "v" || r.Peer != Slot(2) || r.ModelHash != xxhash.Sum64String("m") || r.BlockTokens != 64 {
		t.Errorf("request %+v", r)
	}
	if !e.Models.Has(Slot(0), r.ModelHash) || !e.Adapters.Has(Slot(0), xxhash.Sum64String("x")) || e.Models.IsKnown(Slot(1)) {
		t.Errorf("models %+v, adapters %+v", e.Models, e.Adapters)
	}
	if e.Topo[Slot(0)] != [4]uint64{scorers.TopoRack: xxhash.Sum64String("r")} || !e.Predicted.Has[Slot(2)] || e.Predicted.Has[Slot(0)] {
		t.Errorf("topology %x, predictions %v", e.Topo, e.Predicted.Has)
	}
	if diff := cmp.Diff(map[string]string{"x-served": "ns/ep-1"}, b.Served(1)); diff != "" {
		t.Errorf("headers (-want +got):\n%s", diff)
	}
	if b.Sweep(Now + 5); p.swept != Now+5 || b.Cycle.Now != Now+5 {
		t.Errorf("swept at %d, cycle at %d", p.swept, b.Cycle.Now)
	}
}

// TestSlotsAreGivenAway replaces endpoints: a plugin is told, and the generation is another.
func TestSlotsAreGivenAway(t *testing.T) {
	zone := func(name, z string) EP { return EP{Name: name, Labels: map[string]string{"zone": z}} }
	b, err := New(&probeSpec, nil, []EP{zone("a", "1"), zone("b", "2")}, Req{})
	if err != nil {
		t.Fatal(err)
	}
	p := b.Plugin.(*probe)
	b.Pick(0)
	first := p.gen
	b.Endpoints([]EP{zone("c", "3")})
	if diff := cmp.Diff(map[int32]string{Slot(0): "present 3"}, p.zones); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	b.Request(Req{})
	if b.Pick(0); p.gen == first {
		t.Error("the generation of a slot that was given away is the same")
	}
	b.Request(Req{Dry: true})
	p.gen = 0
	if b.Pick(0); p.gen != 0 {
		t.Error("the plugin was told of a pick in a dry run")
	}
}

func TestNewChecksParameters(t *testing.T) {
	if _, err := New(&probeSpec, plan.Params{{Name: "nothing"}}, nil, Req{}); err == nil {
		t.Error("an unknown parameter was accepted")
	}
	b, err := NewWith(Config{UnknownLabels: true}, &probeSpec, nil, []EP{{}}, Req{})
	if err != nil {
		t.Fatal(err)
	}
	if got := b.Plugin.(*probe).zones[Slot(0)]; got != "unknown" {
		t.Errorf("label %s, want it to be unknown", got)
	}
}
