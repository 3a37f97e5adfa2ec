package activerequestscorer

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/zerohop/zerohop/scorers/plugintest"
	"github.com/zerohop/zerohop/shared/plan"
)

func params(idle, busy float64) plan.Params {
	return plan.Params{{Name: paramIdle, Num: idle}, {Name: paramBusy, Num: busy}}
}

func TestScore(t *testing.T) {
	tests := []struct {
		name     string
		params   plan.Params
		inFlight []int32
		want     []float64
	}{
		{"S7", nil, []int32{0, 0, 0}, []float64{1, 1, 1}},
		{"S8", nil, []int32{3, 0, 6}, []float64{.5, 1, 0}},
		{"S9", nil, []int32{4, 0, 1}, []float64{0, 1, .75}},
		{"S10", params(0, 0), []int32{1, 0}, []float64{0, 1}},
		{"S11", params(1, .5), []int32{1, 2, 0}, []float64{1, 0, 1}},
		{"S12", nil, []int32{3, 11}, []float64{.72727272727272727, 0}},
		{"busy share", params(0, .5), []int32{1, 2, 0}, []float64{.25, 0, 1}},
		{"busy share above 1", params(0, 1.5), []int32{1, 2}, []float64{.5, 0}},
		{"busy share below 0", params(0, -1), []int32{1, 2}, []float64{.5, 0}},
		{"all idle", params(5, 0), []int32{1, 5}, []float64{1, 1}},
		{"threshold below 0", params(-1, .5), []int32{0, 2}, []float64{.5, 0}},
		{"threshold below 0 and nothing in flight", params(-1, .5), []int32{0, 0}, []float64{1, 1}},
		{"single", nil, []int32{7}, []float64{0}},
		{"none", nil, nil, []float64{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var eps []plugintest.EP
			for _, n := range tt.inFlight {
				eps = append(eps, plugintest.EP{InFlight: n, Unscraped: true})
			}
			b, err := plugintest.New(&Spec, tt.params, eps, plugintest.Req{})
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

func TestRequestTimeoutIsIgnored(t *testing.T) {
	timeout := plan.Params{{Name: paramTimeout, Kind: plan.String, Str: "2m"}}
	b, err := plugintest.New(&Spec, timeout, []plugintest.EP{{InFlight: 3}, {InFlight: 6}}, plugintest.Req{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]float64{.5, 0}, b.Score()); diff != "" {
		t.Errorf("scores (-want +got):\n%s", diff)
	}
}
