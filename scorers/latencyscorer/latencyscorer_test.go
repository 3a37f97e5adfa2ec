package latencyscorer

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/zerohop/zerohop/scorers/plugintest"
	"github.com/zerohop/zerohop/shared/plan"
)

// predicted returns an endpoint with these headrooms to which requests are dispatched.
func predicted(ttft, tpot float64) plugintest.EP {
	return plugintest.EP{Pred: &plugintest.Pred{TTFTHeadroom: ttft, TPOTHeadroom: tpot, Dispatched: 1}}
}

func idling(ttft, tpot float64) plugintest.EP {
	return plugintest.EP{Pred: &plugintest.Pred{TTFTHeadroom: ttft, TPOTHeadroom: tpot}}
}

func number(name string, value float64) plan.Param { return plan.Param{Name: name, Num: value} }

func strategy(name string) plan.Param {
	return plan.Param{Name: paramStrategy, Kind: plan.String, Str: name}
}

func TestHeadroom(t *testing.T) {
	three := []plugintest.EP{predicted(10, 2), predicted(50, 10), predicted(30, 2)}
	tests := []struct {
		name   string
		params plan.Params
		eps    []plugintest.EP
		want   []float64 // where the EPP has 1.01, it clamps that to 1
	}{
		{"S36", nil, three, []float64{1, .01, .61}},
		{"S37", plan.Params{strategy(most)}, three, []float64{.01, 1, .41}},
		{"S38", nil, []plugintest.EP{predicted(10, 2), predicted(50, 2), predicted(30, 2)}, []float64{1, .01, .51}},
		{"S39", nil, []plugintest.EP{predicted(10, 2)}, []float64{.51}},
		{"S40", nil, []plugintest.EP{predicted(10, 2), predicted(-5, 10), predicted(30, 2)}, []float64{1, 0, .01}},
		{"S41", nil, []plugintest.EP{idling(-10, -2), predicted(-5, 10)}, []float64{.51, 0}},
		{
			"S42", nil,
			[]plugintest.EP{predicted(-10, -2), predicted(-5, 10), predicted(5, -1), predicted(5, -3)},
			[]float64{0, 0, 1, .01},
		},
		{"S43", nil, []plugintest.EP{predicted(10, 2), {}}, []float64{.01, 1}},
		{"only TTFT missed", nil, []plugintest.EP{predicted(-10, -2), predicted(-5, 10), predicted(-9, 10)}, []float64{0, 1, .01}},
		{"both missed", nil, []plugintest.EP{predicted(-10, -2), predicted(-5, -2)}, []float64{.01, 1}},
		{"what misses is least whatever the strategy", plan.Params{strategy(most)}, []plugintest.EP{predicted(-10, -2), predicted(-5, -2)}, []float64{.01, 1}},
		{"equal TTFT", nil, []plugintest.EP{predicted(5, 1), predicted(5, 3)}, []float64{1, .01}},
		{"weights", plan.Params{number(paramTTFT, 0), number(paramTPOT, 3)}, three, []float64{1, .01, 1}},
		{"weights of 0", plan.Params{number(paramTTFT, 0), number(paramTPOT, 0)}, three, []float64{1, .01, .51}},
		{"not a number", nil, []plugintest.EP{predicted(math.NaN(), 1), predicted(math.Inf(1), 1)}, []float64{.51, .51}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b, err := plugintest.New(&Spec, tt.params, tt.eps, plugintest.Req{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, b.Score(), cmpopts.EquateApprox(0, 1e-12)); diff != "" {
				t.Errorf("scores (-want +got):\n%s", diff)
			}
		})
	}
}

func TestComposite(t *testing.T) {
	s44 := []plugintest.EP{{KV: .2}, {Waiting: 10, KV: .5, Match: 5}}
	tests := []struct {
		name        string
		params      plan.Params
		parity      bool
		eps         []plugintest.EP
		blocks      int
		want        []float64
		wantNeutral uint32
	}{
		{"S44", nil, false, s44, 10, []float64{.6, .33}, 0},
		{"no queue", nil, false, []plugintest.EP{{KV: .5}, {}}, 0, []float64{.5, .67}, 0},
		{"weights", plan.Params{number(paramKV, 0), number(paramQueue, 3), number(paramPrefix, 1)}, false, s44, 10, []float64{.75, .13}, 0},
		{"weights of 0", plan.Params{number(paramKV, 0), number(paramQueue, 0), number(paramPrefix, 0)}, false, s44, 10, []float64{.8, .5}, 0},
		{"stale", nil, false, []plugintest.EP{{KV: .2, AgeMs: 5000}, {KV: .2}}, 0, []float64{.5, .6}, 1},
		{"parity: stale", nil, true, []plugintest.EP{{KV: .2, AgeMs: 5000}, {KV: .2}}, 0, []float64{.6, .6}, 0},
		{"own picks do not count", nil, false, []plugintest.EP{{Own: 3}, {}}, 0, []float64{.67, .67}, 0},
		{"full beyond measure", plan.Params{number(paramQueue, 0), number(paramPrefix, 0)}, false, []plugintest.EP{{KV: 1.2}}, 0, []float64{0}, 0},
		{"none", nil, false, nil, 0, []float64{}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b, err := plugintest.NewWith(plugintest.Config{Parity: tt.parity}, &Spec, tt.params, tt.eps, plugintest.Req{Blocks: tt.blocks})
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

// TestPredictionsElsewhere looks at candidates without predictions where other endpoints have some.
func TestPredictionsElsewhere(t *testing.T) {
	b, err := plugintest.New(&Spec, nil, []plugintest.EP{{KV: .5}, predicted(10, 2)}, plugintest.Req{})
	if err != nil {
		t.Fatal(err)
	}
	out := make([]float64, 1)
	b.Plugin.(*scorer).Score(&b.Cycle, []int32{plugintest.Slot(0)}, out)
	if out[0] != .5 {
		t.Errorf("score %v, want the composite of 0.5", out[0])
	}
}

func TestNew(t *testing.T) {
	tests := []struct {
		name    string
		params  plan.Params
		wantErr string
	}{
		{"other strategy", plan.Params{strategy("composite-least")}, "headroomSelectionStrategy: want one of least, most"},
		{"weight below 0", plan.Params{number(paramTTFT, -1)}, "ttftWeight: want a number of at least 0"},
		{"defaults", nil, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := plugintest.New(&Spec, tt.params, nil, plugintest.Req{})
			if (err == nil) != (tt.wantErr == "") || err != nil && !strings.Contains(err.Error(), tt.wantErr) {
				t.Errorf("error %v, want %q", err, tt.wantErr)
			}
		})
	}
}
