package publish

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/zerohop/zerohop/scorers"
	"github.com/zerohop/zerohop/shared/snapshot"
	"github.com/zerohop/zerohop/xds/scrape"
)

// labelled returns n endpoints with labels, models and adapters.
func labelled(n int) []Endpoint {
	eps := make([]Endpoint, n)
	for i := range eps {
		eps[i] = Endpoint{
			Name: "default/e" + strconv.Itoa(i), Address: "10.0." + strconv.Itoa(i/250) + "." + strconv.Itoa(i%250+1) + ":80",
			Facts: &Facts{Labels: map[string]string{"role": "decode", "secret": "s"}, Rank: i % 4, Models: []uint64{1, 2}, ModelsKnown: true},
			Sample: scrape.Sample{At: time.Unix(1e9, 0), Seq: 1, Metrics: scrape.Metrics{
				LoRA: &scrape.LoRA{Max: 2, Active: []uint64{5}, Waiting: []uint64{6}},
			}},
		}
	}
	return eps
}

// after returns eps with other facts or numbers of endpoint i.
func after(eps []Endpoint, i int, change func(*Endpoint)) []Endpoint {
	eps = append([]Endpoint(nil), eps...)
	change(&eps[i])
	return eps
}

// published publishes eps and opens the blob.
func published(t *testing.T, s *Store, eps []Endpoint) (*Version, snapshot.View, snapshot.FactsView) {
	t.Helper()
	if err := s.Publish(eps, time.Unix(1e9+1, 0)); err != nil {
		t.Fatal(err)
	}
	v, err := s.Newest()
	if err != nil {
		t.Fatal(err)
	}
	view, err := snapshot.Open(v.Blob)
	if err != nil {
		t.Fatal(err)
	}
	return v, view, view.Facts()
}

func TestNobodyWantsFacts(t *testing.T) {
	now := time.Unix(1e9, 0)
	with, without := NewStore(now), NewStore(now)
	with.Want(WantsOf(&scorers.Wants{Headers: []string{"x-session"}}))
	eps := labelled(5)
	a, _, f := published(t, with, eps)
	for i := range eps {
		eps = after(eps, i, func(e *Endpoint) { e.Facts, e.Sample.LoRA = nil, nil })
	}
	b, _, _ := published(t, without, eps)
	if d := cmp.Diff(b.Blob, a.Blob); d != "" || f.Carried() {
		t.Errorf("facts cost bytes though nobody reads them: %s", d)
	}
}

func TestPublishFacts(t *testing.T) {
	s := NewStore(time.Unix(1e9, 0))
	s.Want(WantsOf(&scorers.Wants{Labels: []string{"zone", "role", strings.Repeat("k", snapshot.MaxKey+1)}, Models: true, LoRA: true}))
	eps := after(labelled(3), 1, func(e *Endpoint) { e.Facts, e.Sample.LoRA = nil, nil })
	v, view, f := published(t, s, eps)
	var keys []string
	for l := range f.Labels() {
		keys = append(keys, string(f.LabelKey(l)))
	}
	if d := cmp.Diff([]string{"role", "zone"}, keys); d != "" {
		t.Errorf("keys (-want +got):\n%s", d)
	}
	type facts struct {
		Role             string
		Rank, MaxLoRA    int
		Models, Adapters []uint64
	}
	got := map[string]facts{}
	for i := range view.Len() {
		var e snapshot.Endpoint
		view.Endpoint(i, &e)
		var o facts
		role, _ := f.Label(i, f.LabelIndex("role"))
		o.Role, o.Rank, o.MaxLoRA = string(role), f.Rank(i), f.MaxLoRA(i)
		o.Models, _ = f.AppendModels(nil, i)
		o.Adapters, _ = f.AppendAdapters(nil, i, false)
		o.Adapters, _ = f.AppendAdapters(o.Adapters, i, true)
		if _, ok := f.Label(i, f.LabelIndex("zone")); ok {
			t.Error("an endpoint has a zone")
		}
		got[string(e.Name)] = o
	}
	want := map[string]facts{
		"default/e0": {"decode", 0, 2, []uint64{1, 2}, []uint64{5, 6}}, "default/e1": {},
		"default/e2": {"decode", 2, 2, []uint64{1, 2}, []uint64{5, 6}},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("facts (-want +got):\n%s", d)
	}
	if strings.Contains(string(v.Blob), "secret") {
		t.Error("a label that nobody reads is carried")
	}
}

// TestPublishAttributes carries the metrics that plugins read, by the names that these have for them.
func TestPublishAttributes(t *testing.T) {
	s := NewStore(time.Unix(1e9, 0))
	w := &scorers.Wants{Attributes: []string{"core-metrics-extractor/speed", "mine/heat/gpu", "other/speed", "/speed"}}
	s.Want(WantsOf(w, "core-metrics-extractor", "mine"))
	eps := labelled(2)
	eps[0].Sample.Custom = &scrape.Attributes{Keys: []string{"heat/gpu", "speed"}, Values: []float64{7, 0.5}}
	_, view, f := published(t, s, eps)
	got := map[string]map[string]float64{}
	for i := range view.Len() {
		var e snapshot.Endpoint
		view.Endpoint(i, &e)
		got[string(e.Name)] = map[string]float64{}
		for a := range f.Attributes() {
			got[string(e.Name)][string(f.AttrKey(a))] = f.Attr(i, a)
		}
	}
	nan := math.NaN()
	want := map[string]map[string]float64{
		"default/e0": {"core-metrics-extractor/speed": 0.5, "mine/heat/gpu": 7}, "default/e1": {"core-metrics-extractor/speed": nan, "mine/heat/gpu": nan},
	}
	if d := cmp.Diff(want, got, cmpopts.EquateNaNs()); d != "" {
		t.Errorf("attributes (-want +got):\n%s", d)
	}
}

// TestPageTellsFacts shows people what is known, also if no plugin reads it.
func TestPageTellsFacts(t *testing.T) {
	s := NewStore(time.Unix(1e9, 0))
	eps := labelled(2)
	eps[0].Sample.Custom = &scrape.Attributes{Keys: []string{"heat", "speed"}, Values: []float64{math.NaN(), 0.5}}
	eps[1] = Endpoint{Name: eps[1].Name, Address: eps[1].Address}
	v, _, _ := published(t, s, eps)
	text, err := json.Marshal(v.page(time.Unix(1e9+1, 0), nil).Endpoints)
	if err != nil {
		t.Fatal(err)
	}
	var got []map[string]any
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"labels": map[string]any{"role": "decode", "secret": "s"}, "rank": nil, "models": 2.0,
		"lora": map[string]any{"max": 2.0, "active": 1.0, "waiting": 1.0}, "metrics": map[string]any{"heat": nil, "speed": 0.5},
	}
	for key := range want {
		if d := cmp.Diff(want[key], got[0][key]); d != "" {
			t.Errorf("%s (-want +got):\n%s", key, d)
		}
		if _, ok := got[1][key]; ok {
			t.Errorf("%s is told of an endpoint of which nothing is known", key)
		}
	}
}

// TestWantsWith puts together what the plugins of two plans read.
func TestWantsWith(t *testing.T) {
	a := WantsOf(&scorers.Wants{Labels: []string{"b", "a"}, Attributes: []string{"e/x"}, Models: true}, "e")
	b := WantsOf(&scorers.Wants{Labels: []string{"b", "c"}, Attributes: []string{"e/x", "e/y"}, LoRA: true}, "e")
	both := WantsOf(&scorers.Wants{Labels: []string{"a", "b", "c"}, Attributes: []string{"e/x", "e/y"}, Models: true, LoRA: true}, "e")
	if !a.With(b).Equal(both) || !b.With(a).Equal(both) || a.Equal(b) || both.Equal(a) {
		t.Errorf("%+v and %+v give %+v", a, b, a.With(b))
	}
	many := &scorers.Wants{}
	for i := range snapshot.MaxLabels {
		many.Labels = append(many.Labels, "label-"+strconv.Itoa(i))
	}
	if m := WantsOf(many); !m.With(a).Equal(m) || !a.With(m).Equal(a) {
		t.Error("too many labels do not give the first")
	}
}

// TestFactsAndDeltas changes one thing after the other: what changes seldom travels whole, numbers and adapters in deltas.
func TestFactsAndDeltas(t *testing.T) {
	s := NewStore(time.Unix(1e9, 0))
	all := scorers.Wants{Labels: []string{"role"}, Attributes: []string{"e/x"}, Models: true, LoRA: true}
	s.Want(WantsOf(&all, "e"))
	eps := labelled(100)
	before, _, _ := published(t, s, eps)
	crowd := &scrape.LoRA{Max: 9, Active: []uint64{1, 2, 3, 4, 5}}
	tests := []struct {
		name   string
		change func()
		delta  bool
		places int
	}{
		{"nothing", func() {}, true, 4},
		{"the same wants", func() { s.Want(WantsOf(&all, "e")) }, true, 4},
		{"adapters", func() {
			eps = after(eps, 7, func(e *Endpoint) { e.Sample.LoRA = &scrape.LoRA{Max: 2, Active: []uint64{9}} })
		}, true, 4},
		{"an attribute", func() {
			eps = after(eps, 9, func(e *Endpoint) { e.Sample.Custom = &scrape.Attributes{Keys: []string{"x"}, Values: []float64{3}} })
		}, true, 4},
		{"more adapters than places", func() { eps = after(eps, 7, func(e *Endpoint) { e.Sample.LoRA = crowd }) }, false, 8},
		{"fewer again", func() { eps = after(eps, 7, func(e *Endpoint) { e.Sample.LoRA = nil }) }, true, 8},
		{"a label", func() {
			eps = after(eps, 7, func(e *Endpoint) { e.Facts = &Facts{Labels: map[string]string{"role": "prefill"}} })
		}, false, 4},
		{"one endpoint less", func() { eps = eps[1:] }, false, 4},
		{"other wants", func() { s.Want(WantsOf(&scorers.Wants{Labels: []string{"role"}, LoRA: true})) }, false, 4},
		{"facts that nobody wants", func() {
			s.Want(WantsOf(&scorers.Wants{}))
			before, _, _ = published(t, s, eps)
			eps = after(eps, 7, func(e *Endpoint) { e.Facts = &Facts{Rank: 3} })
		}, true, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.change()
			v, _, _ := published(t, s, eps)
			delta := s.Delta(v, before.Number)
			if (delta != nil) != tt.delta || v.members.places != tt.places {
				t.Errorf("delta of %d bytes, %d places, want a delta: %v, and %d", len(delta), v.members.places, tt.delta, tt.places)
			}
			if delta != nil {
				if got, err := snapshot.ApplyDelta(nil, before.Blob, delta); err != nil || !cmp.Equal(got, v.Blob) {
					t.Errorf("the delta gives another snapshot, error %v", err)
				}
			}
			before = v
		})
	}
}

func BenchmarkPublishFacts(b *testing.B) {
	for name, w := range map[string]*scorers.Wants{"nothing": {}, "all": {Labels: []string{"role", "zone"}, Models: true, LoRA: true}} {
		b.Run(name, func(b *testing.B) {
			s := NewStore(time.Unix(1e9, 0))
			s.Want(WantsOf(w))
			eps := labelled(1000)
			b.ReportAllocs()
			for b.Loop() {
				if err := s.Publish(eps, time.Unix(1e9+1, 0)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
