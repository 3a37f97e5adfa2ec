package registry

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/zerohop/zerohop/scorers"
	"github.com/zerohop/zerohop/scorers/plugintest"
	"github.com/zerohop/zerohop/shared/plan"
)

// variants are further parameters of scorers, beside the defaults or the samples.
var variants = map[string][]plan.Params{
	"active-request-scorer": {{number("idleThreshold", 3), number("maxBusyScore", .5)}, {number("idleThreshold", -1)}},
	"endpoint-attribute-scorer": {{
		text("attributeKey", "depth"), text("algorithm.type", "linear_higher_is_better"),
		number("algorithm.normalization.fixedRange.min", -5), number("algorithm.normalization.fixedRange.max", 5),
	}},
	"latency-scorer":      {{text("headroomSelectionStrategy", "most"), number("ttftWeight", 0), number("compositeKVWeight", 0)}},
	"load-aware-scorer":   {{number("threshold", 5)}},
	"prefix-cache-scorer": {{number("matchLengthWeight", .5), number("matchLengthScaleTokens", 500)}},
	"token-load-scorer":   {{number("queueThresholdTokens", 1000)}},
}

// each calls f with a bed for every scorer that keeps nothing between requests and every set of its parameters.
func each(t *testing.T, f func(t *testing.T, bed func(eps []plugintest.EP, req plugintest.Req) *plugintest.Bed)) {
	rated := slices.DeleteFunc(slices.Concat(base(), ratings()), func(s scorers.Spec) bool { return s.Kinds&scorers.KindScorer == 0 })
	for _, spec := range rated {
		for i, params := range append(slices.Clone(variants[spec.Type]), samples[spec.Type]) {
			for _, parity := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/%d/parity=%v", spec.Type, i, parity), func(t *testing.T) {
					f(t, func(eps []plugintest.EP, req plugintest.Req) *plugintest.Bed {
						t.Helper()
						b, err := plugintest.NewWith(plugintest.Config{Parity: parity}, &spec, params, eps, req)
						if err != nil {
							t.Fatal(err)
						}
						return b
					})
				})
			}
		}
	}
}

// drawEP draws an endpoint. Where a number is a float at its source, it may be anything.
func drawEP(t *rapid.T) plugintest.EP {
	odd := rapid.SampledFrom([]float64{math.NaN(), math.Inf(1), math.Inf(-1), -3, 0, 1e308, -1e308})
	number := func(name string, sane *rapid.Generator[float64]) float64 {
		return rapid.OneOf(sane, sane, sane, odd).Draw(t, name)
	}
	models := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"m", "n", "o"}), 0, 3, rapid.ID)
	e := plugintest.EP{
		Waiting: float64(rapid.IntRange(0, 40).Draw(t, "waiting")), Own: float64(rapid.IntRange(0, 9).Draw(t, "own")) / 4,
		Running: float64(rapid.IntRange(0, 40).Draw(t, "running")), KV: number("kv", rapid.Float64Range(0, 1.1)),
		Unscraped: rapid.IntRange(0, 4).Draw(t, "scraped") == 0, AgeMs: float64(rapid.SampledFrom([]int{0, 100, 9999}).Draw(t, "age")),
		InFlight: int32(rapid.IntRange(-1, 9).Draw(t, "in flight")), Tokens: int64(rapid.IntRange(-1, 9999).Draw(t, "tokens")),
		Match:  int32(rapid.IntRange(0, 20).Draw(t, "match")),
		Active: models.Draw(t, "active"), WaitingModels: models.Draw(t, "waiting models"), MaxLoRA: int32(rapid.IntRange(0, 4).Draw(t, "max LoRA")),
		Labels: map[string]string{}, Attrs: map[string]float64{},
	}
	for _, key := range []string{"slice", "kubernetes.io/hostname", "topology.kubernetes.io/rack", "topology.kubernetes.io/zone"} {
		if value := rapid.SampledFrom([]string{"", "a", "b", "absent"}).Draw(t, key); value != "absent" {
			e.Labels[key] = value
		}
	}
	if rapid.IntRange(0, 4).Draw(t, "attribute") > 0 {
		e.Attrs["core-metrics-extractor/depth"] = number("depth", rapid.Float64Range(-10, 10))
	}
	if rapid.Bool().Draw(t, "predicted") {
		e.Pred = &plugintest.Pred{
			TTFTHeadroom: number("TTFT", rapid.Float64Range(-10, 10)), TPOTHeadroom: number("TPOT", rapid.Float64Range(-10, 10)),
			Dispatched: int32(rapid.IntRange(0, 1).Draw(t, "dispatched")),
		}
	}
	return e
}

func drawReq(t *rapid.T) plugintest.Req {
	return plugintest.Req{
		Tokens: rapid.IntRange(0, 5000).Draw(t, "tokens"), Blocks: rapid.SampledFrom([]int{0, 20, 40}).Draw(t, "blocks"),
		Universal: int32(rapid.IntRange(0, 3).Draw(t, "universal")), Model: rapid.SampledFrom([]string{"", "m", "x"}).Draw(t, "model"),
		Headers: map[string]string{"x-slice": rapid.SampledFrom([]string{"", "a"}).Draw(t, "header")},
		Peer:    rapid.SampledFrom([]string{"", "ns/0"}).Draw(t, "peer"), HasBody: true,
	}
}

// drawEPs draws a fleet in which names do not depend on the order.
func drawEPs(t *rapid.T) []plugintest.EP {
	eps := rapid.SliceOfN(rapid.Custom(drawEP), 1, 9).Draw(t, "endpoints")
	for i := range eps {
		eps[i].Name = fmt.Sprintf("ns/%d", i)
	}
	return eps
}

func TestScoresStayInRange(t *testing.T) {
	each(t, func(t *testing.T, bed func([]plugintest.EP, plugintest.Req) *plugintest.Bed) {
		rapid.Check(t, func(r *rapid.T) {
			for i, v := range bed(drawEPs(r), drawReq(r)).Score() {
				if !(v >= 0 && v <= 1) {
					r.Fatalf("score %v of endpoint %d", v, i)
				}
			}
		})
	})
}

func TestScoresDoNotDependOnTheOrder(t *testing.T) {
	each(t, func(t *testing.T, bed func([]plugintest.EP, plugintest.Req) *plugintest.Bed) {
		rapid.Check(t, func(r *rapid.T) {
			eps, req := drawEPs(r), drawReq(r)
			want := bed(eps, req).Score()
			order := make([]int, len(eps))
			for i := range order {
				order[i] = i
			}
			order = rapid.Permutation(order).Draw(r, "order")
			other := make([]plugintest.EP, len(eps))
			for i, k := range order {
				other[i] = eps[k]
			}
			for i, v := range bed(other, req).Score() {
				if math.Abs(v-want[order[i]]) > 1e-12 {
					r.Fatalf("endpoint %d scores %v in order %v, and %v in order", order[i], v, order, want[order[i]])
				}
			}
		})
	})
}

func TestScoresWithFewEndpoints(t *testing.T) {
	each(t, func(t *testing.T, bed func([]plugintest.EP, plugintest.Req) *plugintest.Bed) {
		for _, eps := range [][]plugintest.EP{nil, {{}}, {{Unscraped: true}}, {{Unscraped: true}, {Unscraped: true}}, {{AgeMs: 1e6}, {}}} {
			b := bed(eps, plugintest.Req{Tokens: 10, Model: "m"})
			for i, v := range b.Score() {
				if !(v >= 0 && v <= 1) {
					t.Errorf("score %v of endpoint %d of %d", v, i, len(eps))
				}
			}
			if int(b.Cycle.Neutral) > len(eps) {
				t.Errorf("%d of %d endpoints counted as neutral", b.Cycle.Neutral, len(eps))
			}
		}
	})
}

func TestScoringDoesNotAllocate(t *testing.T) {
	eps := []plugintest.EP{
		{Waiting: 1, Labels: map[string]string{"slice": "a"}},
		{AgeMs: 1e6, Active: []string{"m"}},
		{Attrs: map[string]float64{"core-metrics-extractor/depth": 3}, Pred: &plugintest.Pred{TTFTHeadroom: 1}},
	}
	each(t, func(t *testing.T, bed func([]plugintest.EP, plugintest.Req) *plugintest.Bed) {
		b := bed(eps, plugintest.Req{
			Tokens: 300, Blocks: 4, Model: "m", Headers: map[string]string{"x-slice": "a"}, Peer: "ns/ep-0",
		})
		s, cand, out := b.Plugin.(scorers.Scorer), b.Candidates(), make([]float64, len(eps))
		if n := testing.AllocsPerRun(20, func() { s.Score(&b.Cycle, cand, out) }); n != 0 {
			t.Errorf("%v allocations", n)
		}
	})
}

// BenchmarkScore scores 1000 endpoints.
func BenchmarkScore(b *testing.B) {
	eps := make([]plugintest.EP, 1000)
	for i := range eps {
		eps[i] = plugintest.EP{
			Waiting: float64(i % 7), Running: float64(i % 11), KV: float64(i%10) / 10, InFlight: int32(i % 5), Tokens: int64(i),
			Match: int32(i % 20), Active: []string{"a", "b"}, MaxLoRA: 4, Labels: map[string]string{"slice": "a"},
			Attrs: map[string]float64{"core-metrics-extractor/depth": float64(i)},
		}
	}
	req := plugintest.Req{Tokens: 2000, Blocks: 20, Model: "m", Headers: map[string]string{"x-slice": "a"}, Peer: "ns/ep-0"}
	for _, spec := range slices.Concat(base(), ratings()) {
		if spec.Kinds&scorers.KindScorer == 0 {
			continue
		}
		bed, err := plugintest.New(&spec, samples[spec.Type], eps, req)
		if err != nil {
			b.Fatal(err)
		}
		s, cand, out := bed.Plugin.(scorers.Scorer), bed.Candidates(), make([]float64, len(eps))
		b.Run(spec.Type, func(b *testing.B) {
			for b.Loop() {
				s.Score(&bed.Cycle, cand, out)
			}
		})
	}
}
