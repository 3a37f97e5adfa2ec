package tokenloadscorer

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/zerohop/zerohop/scorers/plugintest"
	"github.com/zerohop/zerohop/shared/plan"
)

func threshold(n float64) plan.Params { return plan.Params{{Name: paramThreshold, Num: n}} }

func TestScore(t *testing.T) {
	tests := []struct {
		name   string
		params plan.Params
		eps    []plugintest.EP
		req    plugintest.Req
		want   []float64
	}{
		{"S13", threshold(1000), []plugintest.EP{{}, {Tokens: 500}, {Tokens: 1000}}, plugintest.Req{}, []float64{1, .5, 0}},
		{
			"S14", threshold(1000),
			[]plugintest.EP{{}, {Tokens: 250}, {Tokens: 750}},
			plugintest.Req{Tokens: 250},
			[]float64{.75, .5, 0},
		},
		{
			"what is held costs nothing", threshold(1000),
			[]plugintest.EP{{Match: 4}, {Match: 2}, {}},
			plugintest.Req{Tokens: 300, Blocks: 4},
			[]float64{.956, .828, .7},
		},
		{
			"universal blocks are held by who holds others", threshold(1000),
			[]plugintest.EP{{Match: 2}, {}},
			plugintest.Req{Tokens: 256, Blocks: 2, Universal: 2},
			[]float64{1, .744},
		},
		{"default", nil, []plugintest.EP{{Tokens: 1 << 20}, {Tokens: 1 << 40}}, plugintest.Req{}, []float64{.75, 0}},
		{"threshold 0 is the default", threshold(0), []plugintest.EP{{Tokens: 1 << 21}}, plugintest.Req{}, []float64{.5}},
		{"threshold below 0 is the default", threshold(-1), []plugintest.EP{{Tokens: 1 << 21}}, plugintest.Req{}, []float64{.5}},
		{"never scraped", threshold(1000), []plugintest.EP{{Tokens: 500, Unscraped: true}}, plugintest.Req{}, []float64{.5}},
		{"below 0", threshold(1000), []plugintest.EP{{Tokens: -500}}, plugintest.Req{}, []float64{1}},
		{"huge", threshold(math.MaxInt32), []plugintest.EP{{Tokens: math.MaxInt64 / 2}}, plugintest.Req{Tokens: math.MaxInt32}, []float64{0}},
		{"none", nil, nil, plugintest.Req{}, []float64{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b, err := plugintest.New(&Spec, tt.params, tt.eps, tt.req)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, b.Score(), cmpopts.EquateApprox(0, 1e-12)); diff != "" {
				t.Errorf("scores (-want +got):\n%s", diff)
			}
			if b.Cycle.Neutral != 0 {
				t.Errorf("%d counted as neutral: the numbers are this worker's own", b.Cycle.Neutral)
			}
		})
	}
}
