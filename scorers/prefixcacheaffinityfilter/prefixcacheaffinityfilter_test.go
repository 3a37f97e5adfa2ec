package prefixcacheaffinityfilter

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zerohop/zerohop/scorers/plugintest"
	"github.com/zerohop/zerohop/shared/plan"
)

func num(name string, v float64) plan.Param { return plan.Param{Name: name, Num: v} }

func source(name string) plan.Param {
	return plan.Param{Name: paramSource, Kind: plan.String, Str: name}
}

// holding returns endpoints that hold so many of 20 blocks.
func holding(blocks ...int32) []plugintest.EP {
	eps := make([]plugintest.EP, len(blocks))
	for i, n := range blocks {
		eps[i].Match = n
	}
	return eps
}

// predicted adds predictions to endpoints; NaN is none.
func predicted(eps []plugintest.EP, ttft ...float64) []plugintest.EP {
	for i, v := range ttft {
		if v == v {
			eps[i].Pred = &plugintest.Pred{TTFT: v}
		}
	}
	return eps
}

func booked(eps []plugintest.EP, tokens ...int64) []plugintest.EP {
	for i, n := range tokens {
		eps[i].Tokens = n
	}
	return eps
}

func TestFilter(t *testing.T) {
	none := math.NaN()
	predictor := source(sourcePredictor)
	slow := num(paramThroughput, 1000)
	tests := []struct {
		name   string
		params plan.Params
		blocks int
		eps    []plugintest.EP
		want   []int
	}{
		{"F13", plan.Params{num(paramThreshold, 0)}, 20, holding(20, 0, 0), []int{0, 1, 2}},
		{"F13 below", plan.Params{num(paramThreshold, -3)}, 20, holding(20, 0, 0), []int{0, 1, 2}},
		{"F14", nil, 20, holding(15, 1, 0), []int{0, 1, 2}},
		{
			"F15",
			plan.Params{predictor, num(paramPenalty, 5000)},
			20, predicted(holding(18, 17, 2), 100, 120, 50),
			[]int{0, 1},
		},
		{"F16", plan.Params{predictor, num(paramPenalty, 100)}, 20, predicted(holding(18, 2), 500, 50), []int{0, 1}},
		{"F17 100 ms", plan.Params{slow, num(paramPenalty, 100)}, 20, booked(holding(18, 2), 500, 50), []int{0, 1}},
		{"F17 1000 ms", plan.Params{slow, num(paramPenalty, 1000)}, 20, booked(holding(18, 2), 500, 50), []int{0}},
		{"F17 any", plan.Params{slow, num(paramPenalty, 0)}, 20, booked(holding(18, 2), 500, 50), []int{0}},
		{"F18", plan.Params{num(paramExplore, 1)}, 20, holding(20, 0), []int{0, 1}},
		{"boundary is sticky", nil, 20, holding(16, 15), []int{0}},
		{"the best of both sides count", plan.Params{slow, num(paramPenalty, 100)}, 20, booked(holding(18, 18, 0, 0), 900, 120, 800, 50), []int{0, 1}},
		{"all sticky", plan.Params{slow, num(paramPenalty, 1)}, 20, booked(holding(20, 20), 0, 9000), []int{0, 1}},
		{"no prediction", plan.Params{predictor}, 20, holding(18, 0), []int{0}},
		{"no prediction of the sticky one", plan.Params{predictor}, 20, predicted(holding(18, 0), none, 50), []int{0, 1}},
		{"no prediction of the others", plan.Params{predictor}, 20, predicted(holding(18, 0), 1e9, none), []int{0}},
		{"no blocks", nil, 0, holding(0, 0), []int{0, 1}},
		{"one endpoint", nil, 20, holding(0), []int{0}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b, err := plugintest.New(&Spec, tt.params, tt.eps, plugintest.Req{Blocks: tt.blocks})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, b.Filter()); diff != "" {
				t.Errorf("kept (-want +got):\n%s", diff)
			}
		})
	}
}

func TestExploresAsOftenAsAsked(t *testing.T) {
	const rounds = 10000
	b, err := plugintest.New(&Spec, plan.Params{num(paramExplore, .25)}, holding(20, 0), plugintest.Req{Blocks: 20})
	if err != nil {
		t.Fatal(err)
	}
	explored := 0
	for range rounds {
		if len(b.Filter()) == 2 {
			explored++
		}
	}
	if share := float64(explored) / rounds; share < .235 || share > .265 { // 3.5 standard deviations
		t.Errorf("a share of %.3f is explored, want .25", share)
	}
}

func TestParameters(t *testing.T) {
	tests := []struct {
		name   string
		params plan.Params
		want   string
	}{
		{"threshold above 1", plan.Params{num(paramThreshold, 1.1)}, "affinityThreshold: want a number from"},
		{"probability above 1", plan.Params{num(paramExplore, 1.1)}, "explorationProbability: want a number from 0 to 1"},
		{"negative penalty", plan.Params{num(paramPenalty, -1)}, "maxTTFTPenaltyMs: want a number of at least 0"},
		{"other source", plan.Params{source("guess")}, "ttftSource: want one of prefillThroughput, latencyPredictor"},
		{"no throughput", plan.Params{num(paramThroughput, 0)}, "peakPrefillThroughput: want more than 0"},
		{"no throughput needed", plan.Params{num(paramThroughput, 0), num(paramPenalty, 0)}, ""},
		{"no throughput read", plan.Params{num(paramThroughput, 0), source(sourcePredictor)}, ""},
	}
	for _, tt := range tests {
		_, err := plugintest.New(&Spec, tt.params, nil, plugintest.Req{})
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: error %v, want %s", tt.name, err, tt.want)
		}
	}
}

func TestEnoughIsWhereTheQuotientReachesTheThreshold(t *testing.T) {
	for _, threshold := range []float64{.01, .1, .3, 1. / 3, .5, .7, .8, .9, .99, 1} {
		f := &filter{threshold: threshold}
		for total := 1; total < 3000; total += 7 {
			n := int(f.enough(total))
			if float64(n)/float64(total) < threshold || n > 0 && float64(n-1)/float64(total) >= threshold {
				t.Errorf("%d of %d blocks for %v", n, total, threshold)
			}
		}
	}
}
