package loraaffinityscorer

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zerohop/zerohop/scorers/plugintest"
)

func adapters(active, waiting []string, most int32) plugintest.EP {
	return plugintest.EP{Active: active, WaitingModels: waiting, MaxLoRA: most}
}

func aged(e plugintest.EP) plugintest.EP {
	e.AgeMs = 5000
	return e
}

func TestScore(t *testing.T) {
	m, z := []string{"m"}, []string{"z"}
	s15 := []plugintest.EP{
		adapters(m, nil, 2), adapters(z, nil, 2), adapters(z, m, 2), adapters(z, m, 3), adapters([]string{"z", "y"}, nil, 2),
		adapters(nil, nil, 0),
	}
	tests := []struct {
		name        string
		model       string
		parity      bool
		eps         []plugintest.EP
		want        []float64
		wantNeutral uint32
	}{
		{"S15", "m", false, s15, []float64{1, .8, .6, .8, 0, 0}, 0},
		{"S15 parity", "m", true, s15, []float64{1, .8, .6, .8, 0, 0}, 0},
		{"no model", "", false, s15, []float64{.8, .8, 0, .8, 0, 0}, 0},
		{"base model", "base", false, s15, []float64{.8, .8, 0, .8, 0, 0}, 0},
		{"in both lists", "m", false, []plugintest.EP{adapters(m, m, 2)}, []float64{1}, 0},
		{"more than it can hold", "m", false, []plugintest.EP{adapters([]string{"z", "y", "x"}, nil, 2)}, []float64{0}, 0},
		{"stale", "m", false, []plugintest.EP{aged(adapters(m, nil, 2)), adapters(z, nil, 2)}, []float64{.5, .8}, 1},
		{"stale parity", "m", true, []plugintest.EP{aged(adapters(m, nil, 2)), adapters(z, nil, 2)}, []float64{1, .8}, 0},
		{"none", "m", false, nil, []float64{}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b, err := plugintest.NewWith(plugintest.Config{Parity: tt.parity}, &Spec, nil, tt.eps, plugintest.Req{Model: tt.model})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, b.Score()); diff != "" {
				t.Errorf("scores (-want +got):\n%s", diff)
			}
			if b.Cycle.Neutral != tt.wantNeutral {
				t.Errorf("%d counted as neutral, want %d", b.Cycle.Neutral, tt.wantNeutral)
			}
		})
	}
}

// TestEnginesWithoutAdapters looks at engines that have never spoken of adapters.
func TestEnginesWithoutAdapters(t *testing.T) {
	eps := []plugintest.EP{{}, {AgeMs: 5000}, {Unscraped: true}, adapters([]string{"m"}, nil, 1)}
	tests := []struct {
		name        string
		silent      []int // endpoints that have said nothing
		parity      bool
		want        []float64
		wantNeutral uint32
	}{
		{"one has adapters", []int{0, 1, 2}, false, []float64{0, 0, .5, 1}, 1},
		{"none has", []int{0, 1, 2, 3}, false, []float64{0, 0, 0, 0}, 0},
		{"parity", []int{0, 1, 2}, true, []float64{0, 0, 0, 1}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b, err := plugintest.NewWith(plugintest.Config{Parity: tt.parity}, &Spec, nil, eps, plugintest.Req{Model: "m"})
			if err != nil {
				t.Fatal(err)
			}
			for _, i := range tt.silent {
				b.Cycle.Endpoints.Adapters.Known[plugintest.Slot(i)] = false
			}
			if diff := cmp.Diff(tt.want, b.Score()); diff != "" {
				t.Errorf("scores (-want +got):\n%s", diff)
			}
			if b.Cycle.Neutral != tt.wantNeutral {
				t.Errorf("%d counted as neutral, want %d", b.Cycle.Neutral, tt.wantNeutral)
			}
		})
	}
}
