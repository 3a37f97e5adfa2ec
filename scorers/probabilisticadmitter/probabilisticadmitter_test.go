package probabilisticadmitter

import (
	"math"
	"strings"
	"testing"

	"github.com/zerohop/zerohop/scorers/plugintest"
	"github.com/zerohop/zerohop/shared/plan"
)

func num(name string, v float64) plan.Param { return plan.Param{Name: name, Num: v} }

func ep(queue, kv float64) plugintest.EP { return plugintest.EP{Waiting: queue, KV: kv} }

// TestShareOfRefusals compares the share of refusals with min(saturation^power · k, 1).
func TestShareOfRefusals(t *testing.T) {
	const rounds = 10000
	straight := plan.Params{num(paramPower, 1), num(paramK, 1)}
	stale, missing := plugintest.EP{Waiting: 1, AgeMs: 1e4}, plugintest.EP{Unscraped: true}
	tests := []struct {
		name     string
		params   plan.Params
		parity   bool
		priority int32
		eps      []plugintest.EP
		want     float64
	}{
		{"saturated", nil, false, -1, []plugintest.EP{ep(5, 0)}, 1},
		{"idle", nil, false, -1, []plugintest.EP{ep(0, 0)}, 0},
		{"by the defaults", nil, false, -1, []plugintest.EP{ep(0, .2)}, math.Pow(.25, 5) * 300},
		{"mean", straight, false, -1, []plugintest.EP{ep(1, .1), ep(0, .4)}, .35},
		{"no numbers count as saturated", straight, false, -1, []plugintest.EP{ep(0, 0), missing, stale, ep(0, 0)}, .5},
		{"parity takes the last numbers", straight, true, -1, []plugintest.EP{ep(0, 0), missing, stale, ep(0, 0)}, .3},
		{"not a number counts as saturated", straight, false, -1, []plugintest.EP{ep(0, math.NaN()), ep(0, 0)}, .5},
		{"below zero is idle", straight, false, -1, []plugintest.EP{ep(-9, -9)}, 0},
		{"own picks do not wait", straight, false, -1, []plugintest.EP{{Own: 5}}, 0},
		{"priority 0 is admitted", nil, false, 0, []plugintest.EP{ep(50, 1)}, 0},
		{"priority above is admitted", nil, false, 3, []plugintest.EP{ep(50, 1)}, 0},
		{"no endpoint", nil, false, -1, nil, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			conf, req := plugintest.Config{Parity: tt.parity}, plugintest.Req{Priority: tt.priority}
			b, err := plugintest.NewWith(conf, &Spec, tt.params, tt.eps, req)
			if err != nil {
				t.Fatal(err)
			}
			refused := 0
			for range rounds {
				if !b.Admit() {
					refused++
				}
			}
			got, slack := float64(refused)/rounds, 3.5*math.Sqrt(tt.want*(1-tt.want)/rounds)
			if math.Abs(got-tt.want) > slack {
				t.Errorf("a share of %.4f is refused, want %.4f", got, tt.want)
			}
		})
	}
}

func TestAsksForThePriority(t *testing.T) {
	b, err := plugintest.New(&Spec, nil, nil, plugintest.Req{})
	if err != nil {
		t.Fatal(err)
	}
	if !b.Wants.Priority.Wanted {
		t.Error("does not ask for the header of the objective")
	}
}

func TestParameters(t *testing.T) {
	for _, name := range []string{paramQueue, paramKV, paramPower, paramK} {
		_, err := plugintest.New(&Spec, plan.Params{num(name, 0)}, nil, plugintest.Req{})
		if err == nil || !strings.HasPrefix(err.Error(), name+": want ") || !strings.Contains(err.Error(), "above 0") {
			t.Errorf("%s 0: error %v", name, err)
		}
	}
}
