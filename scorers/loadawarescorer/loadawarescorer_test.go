package loadawarescorer

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/zerohop/zerohop/scorers/plugintest"
	"github.com/zerohop/zerohop/shared/plan"
)

func threshold(n float64) plan.Params { return plan.Params{{Name: paramThreshold, Num: n}} }

func waiting(requests ...float64) (eps []plugintest.EP) {
	for _, n := range requests {
		eps = append(eps, plugintest.EP{Waiting: n})
	}
	return eps
}

func TestScore(t *testing.T) {
	tests := []struct {
		name        string
		params      plan.Params
		parity      bool
		eps         []plugintest.EP
		want        []float64
		wantNeutral uint32
	}{
		{"S5", threshold(10), false, waiting(2, 0, 15), []float64{.4, .5, 0}, 0},
		{"S6", nil, false, waiting(0, 1, 64, 200), []float64{.5, .49609375, .25, 0}, 0},
		{"threshold 0 is the default", threshold(0), false, waiting(64), []float64{.25}, 0},
		{"threshold below 0 is the default", threshold(-3), false, waiting(64), []float64{.25}, 0},
		{"own picks", threshold(10), false, []plugintest.EP{{Waiting: 2, Own: .5}}, []float64{.375}, 0},
		{"stale", threshold(10), false, []plugintest.EP{{Waiting: 2, AgeMs: 5000}, {}}, []float64{.4, .5}, 1},
		{"parity: stale", threshold(10), true, []plugintest.EP{{Waiting: 2, AgeMs: 5000}, {}}, []float64{.4, .5}, 0},
		{"none", nil, false, nil, []float64{}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b, err := plugintest.NewWith(plugintest.Config{Parity: tt.parity}, &Spec, tt.params, tt.eps, plugintest.Req{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, b.Score(), cmpopts.EquateApprox(0, 1e-12)); diff != "" {
				t.Errorf("scores (-want +got):\n%s", diff)
			}
			if b.Cycle.Neutral != tt.wantNeutral {
				t.Errorf("%d counted as neutral, want %d", b.Cycle.Neutral, tt.wantNeutral)
			}
		})
	}
}

func TestThresholdIsAnInteger(t *testing.T) {
	if _, err := plugintest.New(&Spec, threshold(1.5), nil, plugintest.Req{}); err == nil {
		t.Error("1.5 is accepted")
	}
}
