package snapshot

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/zerohop/zerohop/shared/goldentest"
)

// TestFactsGolden reads the files of the format with facts. They are never rewritten.
func TestFactsGolden(t *testing.T) {
	eps := many(40)
	base := mustExtras(t, 3, eps, fleetFacts(t, eps))
	x := fleetFacts(t, eps)
	x.LoRA[5].Active, x.Attributes[6] = []uint64{7}, []float64{3, 4}
	next := mustExtras(t, 4, eps, x)
	delta, ok := AppendDelta(nil, base, next)
	if !ok {
		t.Fatal("no delta")
	}
	for name, want := range map[string][]byte{"v1.facts.bin": mustExtras(t, 0x0102030405060708, sample(), factsSample(t)), "v1.facts.delta.bin": delta} {
		got := goldentest.Read(t, name, want)
		if IsDelta(got) {
			checkDelta(t, base, got, next)
			continue
		}
		if diff := cmp.Diff(factsWant(), tell(mustOpen(t, got)), cmpopts.EquateNaNs(), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// FuzzFacts checks that Open never panics on facts, that everything can be read of what it accepts, and that this encodes to
// bytes that say the same.
func FuzzFacts(f *testing.F) {
	f.Add(mustExtras(f, 1, sample(), factsSample(f)))
	eps := many(5)
	f.Add(mustExtras(f, 1, eps, fleetFacts(f, eps)))
	f.Add(mustExtras(f, 1, eps, &Extras{}))
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) < headerLen {
			return
		}
		v, err := Open(reseal(slices.Clone(b)))
		if err != nil {
			return
		}
		was, eps := tell(v), all(v)
		facts, x := Facts{}, &Extras{Places: MaxPlaces}
		view := v.Facts()
		for l := range view.Labels() {
			facts.Labels = append(facts.Labels, string(view.LabelKey(l)))
		}
		for a := range view.Attributes() {
			facts.Attributes = append(facts.Attributes, string(view.AttrKey(a)))
		}
		for i := range was {
			w := &was[i]
			if len(w.Active)+len(w.Queued) > MaxPlaces {
				return // of a newer writer
			}
			facts.Endpoints = append(facts.Endpoints, EndpointFacts{ID: eps[i].ID, Rank: w.Rank, Labels: w.Labels, Models: w.Models, ModelsKnown: w.ModelsKnown})
			x.LoRA = append(x.LoRA, LoRA{Known: w.LoRAKnown, Max: uint16(w.MaxLoRA), Active: w.Active, Waiting: w.Queued})
			row := make([]float64, view.Attributes())
			for a := range row {
				row[a] = view.Attr(i, a)
			}
			x.Attributes = append(x.Attributes, row)
			slices.Sort(w.Models)
			w.Models = slices.Compact(w.Models)
		}
		if x.Sheet, err = NewSheet(&facts); err != nil {
			t.Fatalf("what Open accepts is refused: %v", err)
		}
		if view.Labels() != len(slices.Compact(slices.Sorted(slices.Values(facts.Labels)))) {
			return // one key twice: readers take the first
		}
		again := tell(mustOpen(t, mustExtras(t, 1, eps, x)))
		if diff := cmp.Diff(was, again, cmpopts.EquateNaNs(), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("facts changed (-first +second):\n%s", diff)
		}
	})
}

// TestDeltaWithFactsAtRandom makes pairs of snapshots with extras: apply(base, delta(base, next)) is next.
func TestDeltaWithFactsAtRandom(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	made := 0
	for range 300 {
		eps := many(30 + r.IntN(100))
		x := fleetFacts(t, eps)
		x.Places = []int{4, 8, 64}[r.IntN(3)]
		base := mustExtras(t, 1, eps, x)
		next := later(eps, uint32(r.IntN(50)), r.IntN(10))
		for range r.IntN(10) {
			i := r.IntN(len(eps))
			l := &x.LoRA[i]
			*l = LoRA{Known: r.IntN(4) > 0, Max: uint16(r.IntN(70))}
			for n := r.IntN(x.Places + 3); n > 0; n-- {
				l.Active = append(l.Active, r.Uint64())
			}
			x.Attributes[r.IntN(len(eps))] = []float64{r.NormFloat64(), r.NormFloat64()}
		}
		b := mustExtras(t, 2, next, x)
		if delta, ok := AppendDelta(nil, base, b); ok {
			made++
			checkDelta(t, base, delta, b)
		}
	}
	if made < 200 {
		t.Errorf("only %d of 300 pairs had a delta", made)
	}
}
