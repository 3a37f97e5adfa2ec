package snapshot

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// told is what a snapshot says of one endpoint beside numbers, read back.
type told struct {
	Labels                 map[string]string
	Rank, MaxLoRA          int
	Models, Active, Queued []uint64
	ModelsKnown, LoRAKnown bool
	Attributes             map[string]float64
}

// tell reads everything back.
func tell(v View) []told {
	f := v.Facts()
	out := make([]told, v.Len())
	for i := range out {
		o := &out[i]
		o.Rank, o.MaxLoRA = f.Rank(i), f.MaxLoRA(i)
		o.Models, o.ModelsKnown = f.AppendModels(nil, i)
		o.Active, o.LoRAKnown = f.AppendAdapters(nil, i, false)
		o.Queued, _ = f.AppendAdapters(nil, i, true)
		o.Labels, o.Attributes = map[string]string{}, map[string]float64{}
		for l := range f.Labels() {
			if value, ok := f.Label(i, l); ok {
				o.Labels[string(f.LabelKey(l))] = string(value)
			}
		}
		for a := range f.Attributes() {
			o.Attributes[string(f.AttrKey(a))] = f.Attr(i, a)
		}
	}
	return out
}

// factsSample returns extras of sample() in which every field differs between endpoints.
func factsSample(t testing.TB) *Extras {
	t.Helper()
	eps := sample()
	f := &Facts{
		Labels: []string{"llm-d.ai/role", "zone"}, Attributes: []string{"gpu/dcgm"},
		Endpoints: []EndpointFacts{
			{ID: eps[2].ID, Rank: 3, Labels: map[string]string{"zone": "a", "other": "x"}},
			{ID: eps[0].ID, Labels: map[string]string{"zone": "a", "llm-d.ai/role": ""}, Models: []uint64{9, 2, 9}, ModelsKnown: true},
			{ID: eps[1].ID, Rank: MaxRank, Labels: map[string]string{"llm-d.ai/role": "decode"}, ModelsKnown: true},
		},
	}
	sheet, err := NewSheet(f)
	if err != nil {
		t.Fatal(err)
	}
	return &Extras{
		Sheet: sheet, Places: 4,
		LoRA:       []LoRA{{Known: true, Max: 2, Active: []uint64{11, 12}, Waiting: []uint64{13, 11}}, {Known: true, Max: 7}, {}},
		Attributes: [][]float64{{0.5}, nil, {math.Inf(1)}},
	}
}

func mustExtras(t testing.TB, version uint64, eps []Endpoint, x *Extras) []byte {
	t.Helper()
	b, err := AppendExtras(nil, version, eps, x)
	if err != nil {
		t.Fatalf("AppendExtras: %v", err)
	}
	return b
}

func mustOpen(t testing.TB, b []byte) View {
	t.Helper()
	v, err := Open(b)
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	return v
}

func factsWant() []told {
	return []told{
		{
			Labels: map[string]string{"zone": "a", "llm-d.ai/role": ""}, Models: []uint64{2, 9}, ModelsKnown: true,
			LoRAKnown: true, MaxLoRA: 2, Active: []uint64{11, 12}, Queued: []uint64{13, 11}, Attributes: map[string]float64{"gpu/dcgm": 0.5},
		},
		{
			Rank: MaxRank, Labels: map[string]string{"llm-d.ai/role": "decode"}, ModelsKnown: true,
			LoRAKnown: true, MaxLoRA: 7, Attributes: map[string]float64{"gpu/dcgm": math.NaN()},
		},
		{Rank: 3, Labels: map[string]string{"zone": "a"}, Attributes: map[string]float64{"gpu/dcgm": math.Inf(1)}},
	}
}

func TestFacts(t *testing.T) {
	eps := sample()
	v := mustOpen(t, mustExtras(t, 1, eps, factsSample(t)))
	if diff := cmp.Diff(factsWant(), tell(v), cmpopts.EquateNaNs(), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("facts (-want +got):\n%s", diff)
	}
	f := v.Facts()
	if !f.Carried() || f.Every() || f.Sum() == 0 {
		t.Errorf("carried %v, every %v, sum %d", f.Carried(), f.Every(), f.Sum())
	}
	if f.LabelIndex("zone") != 1 || f.LabelIndex("gpu/dcgm") != -1 || f.AttrIndex("gpu/dcgm") != 0 || f.AttrIndex("zone") != -1 {
		t.Errorf("indices %d %d %d %d", f.LabelIndex("zone"), f.LabelIndex("gpu/dcgm"), f.AttrIndex("gpu/dcgm"), f.AttrIndex("zone"))
	}
	for i := range eps { // the endpoints themselves are as without facts
		eps[i].Flags &^= LoRACut | HasLoRA
	}
	got := all(v)
	for i := range got {
		got[i].Flags &^= LoRACut | HasLoRA
	}
	if diff := cmp.Diff(eps, got); diff != "" {
		t.Errorf("endpoints (-want +got):\n%s", diff)
	}
}

func TestFactsAbsent(t *testing.T) {
	for name, b := range map[string][]byte{"none": mustAppend(t, 1, sample()), "empty": mustExtras(t, 1, sample(), &Extras{})} {
		t.Run(name, func(t *testing.T) {
			v := mustOpen(t, b)
			f := v.Facts()
			if f.Labels() != 0 || f.Attributes() != 0 || f.Sum() != 0 || f.LabelIndex("a") != -1 || f.AttrIndex("a") != -1 {
				t.Error("a snapshot without facts has some")
			}
			want := make([]told, 3)
			if diff := cmp.Diff(want, tell(v), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("facts (-want +got):\n%s", diff)
			}
		})
	}
}

// TestFactsBounds checks what is cut, left out or refused.
func TestFactsBounds(t *testing.T) {
	e := endpoint("ns/a", "10.0.0.1:1")
	var models []uint64
	for i := range MaxModels + 1 {
		models = append(models, uint64(i))
	}
	long := strings.Repeat("v", MaxValue+1)
	open := func(t *testing.T, f EndpointFacts, x Extras) told {
		t.Helper()
		f.ID = e.ID
		sheet, err := NewSheet(&Facts{Labels: []string{"k"}, Endpoints: []EndpointFacts{f}})
		if err != nil {
			t.Fatal(err)
		}
		x.Sheet = sheet
		return tell(mustOpen(t, mustExtras(t, 1, []Endpoint{e}, &x)))[0]
	}
	t.Run("longest value", func(t *testing.T) {
		if got := open(t, EndpointFacts{Labels: map[string]string{"k": long[1:]}}, Extras{}); got.Labels["k"] != long[1:] {
			t.Errorf("labels %v", got.Labels)
		}
	})
	t.Run("value too long", func(t *testing.T) {
		if got := open(t, EndpointFacts{Labels: map[string]string{"k": long}}, Extras{}); len(got.Labels) != 0 {
			t.Errorf("labels %v", got.Labels)
		}
	})
	t.Run("most models", func(t *testing.T) {
		if got := open(t, EndpointFacts{Models: models[1:], ModelsKnown: true}, Extras{}); !slices.Equal(got.Models, models[1:]) {
			t.Errorf("%d models", len(got.Models))
		}
	})
	t.Run("too many models", func(t *testing.T) {
		if got := open(t, EndpointFacts{Models: models, ModelsKnown: true}, Extras{}); got.ModelsKnown {
			t.Errorf("%d models are known", len(got.Models))
		}
	})
	t.Run("rank out of range", func(t *testing.T) {
		if got := open(t, EndpointFacts{Rank: MaxRank + 1}, Extras{}); got.Rank != 0 {
			t.Errorf("rank %d", got.Rank)
		}
	})
	t.Run("adapters are cut", func(t *testing.T) {
		x := Extras{Places: 4, LoRA: []LoRA{{Known: true, Max: 9, Active: models[:3], Waiting: models[5:8]}}}
		got := open(t, EndpointFacts{}, x)
		if !slices.Equal(got.Active, models[:3]) || !slices.Equal(got.Queued, models[5:6]) || got.MaxLoRA != 9 {
			t.Errorf("%+v", got)
		}
		var r Endpoint
		mustOpen(t, mustExtras(t, 1, []Endpoint{e}, &x)).Endpoint(0, &r)
		if r.Flags != HasLoRA|LoRACut {
			t.Errorf("flags %#x", r.Flags)
		}
	})
	t.Run("places", func(t *testing.T) {
		for n, want := range map[int]int{-1: 0, 0: 0, 1: 4, 4: 4, 5: 8, 33: 64, 64: 64, 1000: MaxPlaces} {
			if got := Places(n); got != want {
				t.Errorf("Places(%d) = %d, want %d", n, got, want)
			}
		}
	})
}

func TestSheetRefuses(t *testing.T) {
	many := make([]string, MaxLabels+1)
	for i := range many {
		many[i] = strconv.Itoa(i)
	}
	tests := []struct {
		name  string
		facts Facts
		want  error
	}{
		{"too many labels", Facts{Labels: many}, ErrTooLarge},
		{"too many attributes", Facts{Attributes: many[:MaxAttributes+1]}, ErrTooLarge},
		{"empty key", Facts{Labels: []string{""}}, ErrFacts},
		{"key too long", Facts{Attributes: []string{strings.Repeat("k", MaxKey+1)}}, ErrFacts},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := NewSheet(&tt.facts); !errors.Is(err, tt.want) {
				t.Errorf("error %v, want %v", err, tt.want)
			}
		})
	}
	if _, err := NewSheet(&Facts{Labels: many[1:], Attributes: many[:MaxAttributes]}); err != nil {
		t.Errorf("the most labels and attributes: %v", err)
	}
}

func TestExtrasRefused(t *testing.T) {
	eps := sample()
	sheet := factsSample(t).Sheet
	other := slices.Clone(eps)
	other[1] = endpoint("ns/other", "10.0.0.1:1")
	tests := []struct {
		name   string
		eps    []Endpoint
		extras Extras
	}{
		{"sheet of fewer endpoints", eps[:2], Extras{Sheet: sheet}},
		{"sheet of others", other, Extras{Sheet: sheet}},
		{"lora of fewer", eps, Extras{LoRA: make([]LoRA, 2)}},
		{"attributes of fewer", eps, Extras{Attributes: make([][]float64, 2)}},
		{"places", eps, Extras{LoRA: make([]LoRA, 3), Places: MaxPlaces + 1}},
		{"negative places", eps, Extras{LoRA: make([]LoRA, 3), Places: -1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b, err := AppendExtras([]byte("dst"), 1, tt.eps, &tt.extras)
			if !errors.Is(err, ErrFacts) || string(b) != "dst" {
				t.Errorf("%q, error %v, want %v", b, err, ErrFacts)
			}
		})
	}
}

func TestOpenRefusesFacts(t *testing.T) {
	le := binary.LittleEndian
	good := mustExtras(t, 1, sample(), factsSample(t))
	f, _ := frameOf(good)
	section := f.record(f.count) + f.text
	keys := section + facHeader
	rows := len(good) - 3*(facValues+8)
	put16 := func(at int, v uint16) func([]byte) { return func(b []byte) { le.PutUint16(b[at:], v) } }
	put32 := func(at int, v uint32) func([]byte) { return func(b []byte) { le.PutUint32(b[at:], v) } }
	tests := []struct {
		name   string
		change func([]byte)
		want   error
	}{
		{"facts too long", put32(offFactsLen, math.MaxUint32), ErrLength},
		{"facts shorter than their header", put32(offFactsLen, facHeader-1), ErrFacts},
		{"facts cut", put32(offFactsLen, uint32(f.facts-1)), ErrFacts},
		{"attributes without facts", put32(offFactsLen, 0), ErrFacts},
		{"places beyond the record", put16(offPlaces, 5), ErrLength},
		{"attributes beyond the record", put16(offAttributes, 2), ErrLength},
		{"fewer attributes, fewer keys", put16(offAttributes, 0), nil},
		{"more adapters than places", func(b []byte) { b[f.record(1)+recActive] = 5 }, ErrFacts},
		{"more waiting adapters than places", func(b []byte) { b[f.record(0)+recPending] = 3 }, ErrFacts},
		{"too many labels", put16(section+facLabels, MaxLabels+1), ErrFacts},
		{"row too short", put16(section+facStride, facValues+7), ErrFacts},
		{"row too long", put16(section+facStride, math.MaxUint16), ErrFacts},
		{"keys too long", put32(section+facKeysLen, math.MaxUint32), ErrFacts},
		{"values too long", put32(section+facValuesLen, math.MaxUint32), ErrFacts},
		{"sets too long", put32(section+facSetsLen, math.MaxUint32), ErrFacts},
		{"empty key", put16(keys, 0), ErrFacts},
		{"key beyond the keys", put16(keys, math.MaxUint16), ErrFacts},
		{"set out of bounds", put32(rows+facModels, facNone-1), ErrFacts},
		{"value out of bounds", put32(rows+facValues, facNone-1), ErrFacts},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := slices.Clone(good)
			tt.change(b)
			if _, err := Open(reseal(b)); !errors.Is(err, tt.want) {
				t.Errorf("error %v, want %v", err, tt.want)
			}
		})
	}
}

// fleetFacts returns extras of eps: every endpoint has labels, models, three adapters and two attributes.
func fleetFacts(t testing.TB, eps []Endpoint) *Extras {
	t.Helper()
	f := &Facts{Labels: []string{"role", "zone"}, Attributes: []string{"a/x", "b/x"}}
	x := &Extras{Places: 8}
	for i := range eps {
		f.Endpoints = append(f.Endpoints, EndpointFacts{
			ID: eps[i].ID, Rank: i % 8, Labels: map[string]string{"role": "decode", "zone": strconv.Itoa(i % 3)},
			Models: []uint64{1, uint64(i % 2)}, ModelsKnown: true,
		})
		x.LoRA = append(x.LoRA, LoRA{Known: true, Max: 4, Active: []uint64{1, 2}, Waiting: []uint64{3}})
		x.Attributes = append(x.Attributes, []float64{0.25, math.NaN()})
	}
	var err error
	if x.Sheet, err = NewSheet(f); err != nil {
		t.Fatal(err)
	}
	return x
}

func TestDeltaWithFacts(t *testing.T) {
	eps := many(200)
	for i := range eps {
		eps[i].ScrapeAgeMs, eps[i].ScrapeSeq = 5, 1
	}
	x := fleetFacts(t, eps)
	base := mustExtras(t, 1, eps, x)
	const change = indexLen + recordLen + 8*(8+2) - patchOff
	tests := []struct {
		name   string
		change func(*Extras)
		size   int
	}{
		{"nothing", func(*Extras) {}, delHeader},
		{"adapters of one", func(x *Extras) { x.LoRA[7].Waiting = []uint64{9} }, delHeader + change},
		{"most adapters of one", func(x *Extras) { x.LoRA[7].Max = 3 }, delHeader + change},
		{"last place of one", func(x *Extras) { x.LoRA[7].Active = []uint64{1, 2, 3, 4, 5, 6, 7} }, delHeader + change},
		{"one falls silent", func(x *Extras) { x.LoRA[7] = LoRA{} }, delHeader + change},
		{"last attribute of two", func(x *Extras) { x.Attributes[7], x.Attributes[9] = []float64{0.25, 1}, nil }, delHeader + 2*change},
		{"other places", func(x *Extras) { x.Places = 16 }, 0},
		{"other facts of the same length", func(x *Extras) {
			y := fleetFacts(t, eps)
			var f Facts
			f.Labels, f.Attributes = []string{"role", "zone"}, []string{"a/x", "b/x"}
			for i := range eps {
				f.Endpoints = append(f.Endpoints, EndpointFacts{
					ID: eps[i].ID, Rank: i % 8, Labels: map[string]string{"role": "decode", "zone": strconv.Itoa(2 - i%3)},
					Models: []uint64{1, uint64(i % 2)}, ModelsKnown: true,
				})
			}
			y.Sheet, _ = NewSheet(&f)
			*x = *y
		}, 0},
		{"no extras", func(x *Extras) { *x = Extras{} }, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			y := *x
			y.LoRA, y.Attributes = slices.Clone(x.LoRA), slices.Clone(x.Attributes)
			tt.change(&y)
			next := mustExtras(t, 2, later(eps, 10, 0), &y)
			delta, ok := AppendDelta(nil, base, next)
			if len(delta) != tt.size || ok != (tt.size > 0) {
				t.Fatalf("delta of %d bytes, %v, want %d", len(delta), ok, tt.size)
			}
			if ok {
				checkDelta(t, base, delta, next)
				got, err := oldApplyDelta(base, delta)
				if err != nil || !bytes.Equal(got, next) {
					t.Errorf("a reader of before facts: %v", err)
				}
			}
		})
	}
}

func TestFactsAllocations(t *testing.T) {
	eps := many(50)
	b := mustExtras(t, 1, eps, fleetFacts(t, eps))
	hashes := make([]uint64, 0, 16)
	var f FactsView
	if n := testing.AllocsPerRun(20, func() {
		v, err := Open(b)
		if err != nil {
			t.Fatal(err)
		}
		f = v.Facts()
		l, a := f.LabelIndex("zone"), f.AttrIndex("b/x")
		for i := range v.Len() {
			value, _ := f.Label(i, l)
			models, _ := f.AppendModels(hashes, i)
			adapters, _ := f.AppendAdapters(hashes, i, true)
			if len(value) != 1 || len(models) == 0 || len(adapters) != 1 || !math.IsNaN(f.Attr(i, a)) || f.MaxLoRA(i) != 4 {
				t.Fatal("wrong facts")
			}
		}
	}); n != 0 {
		t.Errorf("reading facts allocates %v times, want 0", n)
	}
}

func BenchmarkFacts(b *testing.B) {
	eps := many(1000)
	x := fleetFacts(b, eps)
	blob := mustExtras(b, 1, eps, x)
	b.Run("open", func(b *testing.B) {
		for b.Loop() {
			if _, err := Open(blob); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(len(blob)), "bytes")
		b.ReportMetric(float64(len(x.Sheet.section)), "facts-bytes")
	})
	b.Run("append", func(b *testing.B) {
		for b.Loop() {
			if _, err := AppendExtras(blob[:0], 1, eps, x); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// TestAskedModels tells whether endpoints are asked for their models, though none has answered.
func TestAskedModels(t *testing.T) {
	eps := sample()
	for _, ask := range []bool{false, true} {
		f := &Facts{AskModels: ask}
		for i := range eps {
			f.Endpoints = append(f.Endpoints, EndpointFacts{ID: eps[i].ID})
		}
		sheet, err := NewSheet(f)
		if err != nil {
			t.Fatal(err)
		}
		blob, err := AppendExtras(nil, 1, eps, &Extras{Sheet: sheet})
		if err != nil {
			t.Fatal(err)
		}
		v, err := Open(blob)
		if err != nil {
			t.Fatal(err)
		}
		view := v.Facts()
		if got := view.AsksModels(); got != ask {
			t.Errorf("asked %v, want %v", got, ask)
		}
		if _, known := view.AppendModels(nil, 0); known {
			t.Error("models are known")
		}
	}
	blob, err := Append(nil, 1, eps)
	if err != nil {
		t.Fatal(err)
	}
	v, err := Open(blob)
	if err != nil {
		t.Fatal(err)
	}
	if view := v.Facts(); view.AsksModels() {
		t.Error("asked without facts")
	}
}
