package nohitlruscorer

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/zerohop/zerohop/scorers/plugintest"
	"github.com/zerohop/zerohop/shared/plan"
)

func bed(t *testing.T, params plan.Params, eps ...plugintest.EP) *plugintest.Bed {
	t.Helper()
	b, err := plugintest.New(&Spec, params, eps, plugintest.Req{Blocks: 4})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func wantScores(t *testing.T, b *plugintest.Bed, step string, want ...float64) {
	t.Helper()
	if diff := cmp.Diff(want, b.Score(), cmpopts.EquateApprox(0, 1e-12)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", step, diff)
	}
}

// next begins another request.
func next(b *plugintest.Bed) {
	b.Cycle.Now++
	b.Request(plugintest.Req{Blocks: 4})
}

func names(list ...string) []plugintest.EP {
	eps := make([]plugintest.EP, len(list))
	for i := range eps {
		eps[i].Name = "ns/" + list[i]
	}
	return eps
}

func TestS21ColdRequestsTakeTurns(t *testing.T) {
	b := bed(t, nil, names("a", "b", "c")...)
	for step, want := range [][]float64{{1, .5, 0}, {0, 1, .5}, {.5, 0, 1}, {1, .5, 0}, {0, 1, .5}} {
		next(b)
		wantScores(t, b, "request "+string(rune('1'+step)), want...)
		b.Pick(step % 3)
	}
}

func TestS22(t *testing.T) {
	wantScores(t, bed(t, nil, plugintest.EP{}, plugintest.EP{Match: 1}), "one has a match", .5, .5)
	wantScores(t, bed(t, nil, plugintest.EP{}), "one candidate", 1)
	wantScores(t, bed(t, nil, plugintest.EP{Match: 1}), "one candidate with a match", .5)
	wantScores(t, bed(t, nil, plugintest.EP{Unscraped: true}, plugintest.EP{Unscraped: true}), "never scraped", 1, 0)
	if got := bed(t, nil).Score(); len(got) != 0 {
		t.Errorf("scores %v without candidates", got)
	}
}

func TestOnlyColdPicksCount(t *testing.T) {
	eps := names("a", "b")
	eps[0].Match = 2
	b := bed(t, nil, eps...)
	next(b)
	wantScores(t, b, "warm", .5, .5)
	b.Pick(0)
	b.Endpoints(names("a", "b"))
	next(b)
	wantScores(t, b, "a got a request with a match only", 1, 0)
	b.Pick(0)
	next(b)
	wantScores(t, b, "a got a cold request", 0, 1)
}

func TestDryAndForeignCyclesDoNotCount(t *testing.T) {
	b := bed(t, nil, names("a", "b")...)
	b.Request(plugintest.Req{Blocks: 4, Dry: true})
	wantScores(t, b, "dry", 1, 0)
	next(b)
	b.Pick(0) // another profile decided, in which this plugin has no part
	next(b)
	wantScores(t, b, "after a pick that it did not score", 1, 0)
	next(b)
	b.Pick(0)
	next(b)
	wantScores(t, b, "after a pick of another cycle than it scored", 1, 0)
}

func TestEndpointsThatGoAreForgotten(t *testing.T) {
	b := bed(t, nil, names("a", "b", "c")...)
	for i := range 3 {
		next(b)
		b.Score()
		b.Pick(i)
	}
	b.Endpoints(names("d", "b", "c")) // d gets the slot of a
	next(b)
	wantScores(t, b, "d is new", 1, .5, 0)
}

func TestSizeIsBounded(t *testing.T) {
	for _, tt := range []struct {
		size float64
		want []float64
	}{{2, []float64{1, .5, 0}}, {0, []float64{1, .5, 0}}, {-1, []float64{1, .5, 0}}, {1, []float64{1, .5, 0}}, {1e300, []float64{1, .5, 0}}} {
		b := bed(t, plan.Params{{Name: paramSize, Num: tt.size}}, names("a", "b", "c")...)
		for i := range 3 {
			next(b)
			b.Score()
			b.Pick(i)
		}
		next(b)
		wantScores(t, b, "after one round", tt.want...)
		s, wantLen := b.Plugin.(*scorer), 3
		if tt.size > 0 && tt.size < 3 {
			wantLen = int(tt.size)
		}
		if s.order.len != wantLen {
			t.Errorf("size %v: %d endpoints remembered, want %d", tt.size, s.order.len, wantLen)
		}
	}
}

func TestOrderSurvivesReload(t *testing.T) {
	b := bed(t, nil, names("a", "b", "c")...)
	for _, i := range []int{2, 0, 1} {
		next(b)
		b.Score()
		b.Pick(i)
	}
	for size, want := range map[float64][]float64{1024: {.5, 0, 1}, 2: {.5, 0, 1}, 1: {1, 0, .5}} {
		after := bed(t, plan.Params{{Name: paramSize, Num: size}}, names("a", "b", "c")...)
		after.Plugin.(*scorer).Adopt(b.Plugin)
		wantScores(t, after, "reloaded", want...)
	}
}

func TestDeprecatedParameters(t *testing.T) {
	bed(t, plan.Params{{Name: paramProducerType, Kind: plan.String, Str: "x"}, {Name: paramProducerName, Kind: plan.String, Str: "y"}})
}

func TestAllocations(t *testing.T) {
	b := bed(t, nil, names("a", "b", "c")...)
	s, cand, out := b.Plugin.(*scorer), b.Candidates(), make([]float64, 3)
	if n := testing.AllocsPerRun(100, func() {
		b.Cycle.Now++
		s.Score(&b.Cycle, cand, out)
		s.Picked(&b.Cycle, cand[b.Cycle.Now%3], 1)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestScoresAreRanks wants distinct scores over [0,1] from any past, as long as all endpoints are candidates.
func TestScoresAreRanks(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		n := rapid.IntRange(2, 8).Draw(r, "endpoints")
		b := bed(t, nil, make([]plugintest.EP, n)...)
		for _, i := range rapid.SliceOf(rapid.IntRange(0, n-1)).Draw(r, "picks") {
			next(b)
			b.Score()
			b.Pick(i)
		}
		got := b.Score()
		slices.Sort(got)
		for i, v := range got {
			if want := float64(i) / float64(n-1); v < want-1e-9 || v > want+1e-9 {
				r.Fatalf("sorted scores %v", got)
			}
		}
	})
}

// TestOrderOfLateNews tells of uses in another order than that in which they were: the list is the same, also if some are told
// twice, and holds the newest.
func TestOrderOfLateNews(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		const slots = 6
		type use struct {
			slot int32
			at   uint64
		}
		var uses []use
		for i, s := range rapid.SliceOf(rapid.Int32Range(0, slots-1)).Draw(r, "uses") {
			uses = append(uses, use{s, uint64(i + 1)})
		}
		var want []int32
		for i := len(uses) - 1; i >= 0; i-- {
			if s := uses[i].slot; !slices.Contains(want, s) {
				want = append(want, s)
			}
		}
		slices.Reverse(want)
		told := rapid.Permutation(append(slices.Clone(uses), uses[:len(uses)/2]...)).Draw(r, "told")
		o := order{limit: slots}
		o.grow(slots)
		for _, u := range told {
			o.touch(u.slot, 1, u.at)
		}
		var got []int32
		slot := o.oldest
		for range o.len {
			got, slot = append(got, slot), o.nodes[slot].next
		}
		if !slices.Equal(got, want) {
			r.Fatalf("order %v, want %v; told %v", got, want, told)
		}
	})
}

// TestOrderAgainstModel compares the list with a slice.
func TestOrderAgainstModel(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		const slots = 10
		o := order{limit: rapid.IntRange(1, slots).Draw(r, "limit")}
		o.grow(slots)
		var model []int32 // oldest first
		now := uint64(0)
		slot := rapid.Int32Range(0, slots-1)
		drop := func(s int32) { model = slices.DeleteFunc(model, func(x int32) bool { return x == s }) }
		r.Repeat(map[string]func(*rapid.T){
			"touch": func(r *rapid.T) {
				s := slot.Draw(r, "slot")
				drop(s)
				model = append(model, s)
				if len(model) > o.limit {
					model = model[1:]
				}
				now++
				o.touch(s, 1, now)
			},
			"remove": func(r *rapid.T) {
				s := slot.Draw(r, "slot")
				drop(s)
				o.remove(s)
			},
			"adopt": func(r *rapid.T) {
				next := order{limit: rapid.IntRange(1, slots).Draw(r, "limit")}
				next.adopt(&o)
				model = model[max(0, len(model)-next.limit):]
				o = next
			},
			"": func(r *rapid.T) {
				at := make([]int32, slots)
				for i := range at {
					at[i] = none
				}
				o.positions(at)
				for s := range int32(slots) {
					if want := int32(slices.Index(model, s)); at[s] != want || o.nodes[s].in != (want >= 0) {
						r.Fatalf("slot %d at %d, in %v; model %v", s, at[s], o.nodes[s].in, model)
					}
				}
			},
		})
	})
}
