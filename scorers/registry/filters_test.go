package registry

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/zerohop/zerohop/scorers"
	"github.com/zerohop/zerohop/scorers/plugintest"
	"github.com/zerohop/zerohop/shared/plan"
)

// filterVariants are further parameters of filters, beside the samples.
var filterVariants = map[string][]plan.Params{
	"concurrency-detector": {
		{text("concurrencyMode", "hybrid"), number("maxConcurrency", 3), number("maxTokenConcurrency", 500)},
	},
	"context-length-aware":      {{yes("enableFiltering"), text("label", "slice")}},
	"endpoint-attribute-filter": {slices.Concat(samples["endpoint-attribute-filter"], plan.Params{text("onMissing", "Fail"), yes("fallbackOnEmpty")})},
	"label-selector-filter": {{
		text("matchExpressions[0].key", "slice"), text("matchExpressions[0].operator", "NotIn"), text("matchExpressions[0].values[0]", "a"),
	}},
	"prefix-cache-affinity-filter": {
		{text("ttftSource", "latencyPredictor"), number("maxTTFTPenaltyMs", 5)}, {number("explorationProbability", .5)},
	},
	"served-model-filter":      {{text("onUnknown", "fail")}},
	"slo-headroom-tier-filter": {{number("epsilonExploreNeg", .5)}},
	"topology-affinity-filter": {{text("minAffinity", "zone")}},
	"utilization-filter": {{
		text("conditions[0].metric", "kv-cache-utilization"), number("conditions[0].maxValue", .5), yes("fallbackOnEmpty"),
		text("conditions[1].metric", "active-requests"), number("conditions[1].maxValue", 4),
	}},
}

func yes(name string) plan.Param { return plan.Param{Name: name, Kind: plan.Bool, Num: 1} }

// everyFilter calls f with a bed for every filter that keeps nothing between requests and every set of its parameters. ordered
// says that it keeps the candidates' order.
func everyFilter(t *testing.T, f func(t *testing.T, ordered bool, bed func(eps []plugintest.EP, req plugintest.Req) *plugintest.Bed)) {
	for _, spec := range filters() {
		if spec.Kinds&scorers.KindFilter == 0 {
			continue
		}
		for i, params := range append(slices.Clone(filterVariants[spec.Type]), samples[spec.Type]) {
			for _, parity := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/%d/parity=%v", spec.Type, i, parity), func(t *testing.T) {
					f(t, spec.Type != "header-based-testing-filter", func(eps []plugintest.EP, req plugintest.Req) *plugintest.Bed {
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

// drawTested draws a request for drawEPs' endpoints.
func drawTested(t *rapid.T) plugintest.Req {
	req := drawReq(t)
	req.Headers["test-epp-endpoint-selection"] = rapid.SampledFrom([]string{"", "10.0.0.3,10.0.0.1:8000", "[::1],x,:"}).Draw(t, "tested")
	return req
}

// drawFleet is drawEPs with addresses that do not depend on the order.
func drawFleet(t *rapid.T) []plugintest.EP {
	eps := drawEPs(t)
	for i := range eps {
		eps[i].Address = fmt.Sprintf("10.0.0.%d:8000", i+1)
	}
	return eps
}

// filtered runs the filter on cand with a fresh generator. What it keeps is copied, since it compacts in place.
func filtered(b *plugintest.Bed, cand []int32) []int32 {
	*b.Cycle.Rand = scorers.NewRand(7)
	return slices.Clone(b.Plugin.(scorers.Filter).Filter(&b.Cycle, slices.Clone(cand)))
}

func TestFiltersKeepSomeOfTheCandidates(t *testing.T) {
	everyFilter(t, func(t *testing.T, ordered bool, bed func([]plugintest.EP, plugintest.Req) *plugintest.Bed) {
		rapid.Check(t, func(r *rapid.T) {
			b := bed(drawFleet(r), drawTested(r))
			cand := b.Candidates()
			kept := filtered(b, cand)
			for _, slot := range kept {
				at := slices.Index(cand, slot)
				if at < 0 {
					r.Fatalf("kept %v, of which %d is no candidate or there twice", kept, slot)
				}
				if ordered {
					cand = cand[at+1:]
				} else {
					cand = slices.Delete(cand, at, at+1)
				}
			}
		})
	})
}

func TestFiltersDoNotDependOnTheOrder(t *testing.T) {
	everyFilter(t, func(t *testing.T, _ bool, bed func([]plugintest.EP, plugintest.Req) *plugintest.Bed) {
		rapid.Check(t, func(r *rapid.T) {
			b := bed(drawFleet(r), drawTested(r))
			cand := b.Candidates()
			want, got := filtered(b, cand), filtered(b, rapid.Permutation(cand).Draw(r, "order"))
			slices.Sort(want)
			slices.Sort(got)
			if !slices.Equal(want, got) {
				r.Fatalf("kept %v in one order, %v in another", want, got)
			}
		})
	})
}

func TestFiltersDoNotAllocate(t *testing.T) {
	eps := make([]plugintest.EP, 32)
	for i := range eps {
		eps[i] = plugintest.EP{
			Waiting: float64(i % 9), KV: float64(i%10) / 10, InFlight: int32(i % 7), Tokens: int64(i) * 100, Match: int32(i % 20),
			Models: []string{"m"}, Labels: map[string]string{"slice": "0-100", "llm-d.ai/role": "decode", "gpu": "h100"},
			Pred:  &plugintest.Pred{TTFT: float64(i), TTFTHeadroom: float64(i%3) - 1},
			Attrs: map[string]float64{"core-metrics-extractor/load": float64(i)},
		}
	}
	req := plugintest.Req{
		Tokens: 1280, Blocks: 20, Model: "m", Peer: "ns/ep-3",
		Headers: map[string]string{"test-epp-endpoint-selection": "10.0.0.9, 10.0.0.4:8000"},
	}
	everyFilter(t, func(t *testing.T, _ bool, bed func([]plugintest.EP, plugintest.Req) *plugintest.Bed) {
		b := bed(eps, req)
		all := b.Candidates()
		cand := make([]int32, len(all))
		if n := testing.AllocsPerRun(20, func() {
			copy(cand, all)
			b.Plugin.(scorers.Filter).Filter(&b.Cycle, cand)
		}); n != 0 {
			t.Errorf("%v allocations", n)
		}
	})
}

// BenchmarkFilter filters 1000 endpoints.
func BenchmarkFilter(b *testing.B) {
	eps := make([]plugintest.EP, 1000)
	for i := range eps {
		eps[i] = plugintest.EP{
			Waiting: float64(i % 7), Running: float64(i % 11), KV: float64(i%10) / 10, InFlight: int32(i % 5), Tokens: int64(i),
			Match: int32(i % 20), Models: []string{"a", "b", "m"}[i%3:], Labels: map[string]string{"llm-d.ai/role": "decode", "gpu": "h100"},
			Attrs: map[string]float64{"core-metrics-extractor/load": float64(i)},
			Pred:  &plugintest.Pred{TTFT: float64(i), TTFTHeadroom: float64(i%3) - 1},
		}
	}
	req := plugintest.Req{
		Tokens: 2000, Blocks: 20, Model: "m", Peer: "ns/ep-0", Headers: map[string]string{"test-epp-endpoint-selection": "10.0.0.9"},
	}
	for _, spec := range filters() {
		if spec.Kinds&scorers.KindFilter == 0 {
			continue
		}
		bed, err := plugintest.New(&spec, samples[spec.Type], eps, req)
		if err != nil {
			b.Fatal(err)
		}
		f, all := bed.Plugin.(scorers.Filter), bed.Candidates()
		cand := make([]int32, len(all))
		b.Run(spec.Type, func(b *testing.B) {
			for b.Loop() {
				copy(cand, all)
				f.Filter(&bed.Cycle, cand)
			}
		})
	}
}
