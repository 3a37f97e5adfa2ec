package queuescorer

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zerohop/zerohop/scorers"
)

func TestScore(t *testing.T) {
	tests := []struct {
		name          string
		waiting, want []float64
	}{
		{"S1 spread", []float64{10, 5, 0}, []float64{0, .5, 1}},
		{"S1 equal", []float64{5, 5}, []float64{1, 1}},
		{"S1 idle", []float64{0, 0}, []float64{1, 1}},
		{"S2", []float64{3, 7, 4}, []float64{1, 0, .75}},
		{"single", []float64{9}, []float64{1}},
		{"none", nil, nil},
		{"fraction of a request", []float64{0, .25, 0}, []float64{1, .75, 1}},
		{"fractions above one request", []float64{0, 2, .5}, []float64{1, 0, .75}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cand := make([]int32, len(tt.waiting))
			for i := range cand {
				cand[i] = int32(i)
			}
			var got []float64
			if tt.want != nil {
				got = make([]float64, len(cand))
			}
			plugin, err := scorers.Alone(&Spec, nil)
			if err != nil {
				t.Fatal(err)
			}
			c := scorers.Cycle{Endpoints: &scorers.Endpoints{Waiting: tt.waiting, Fresh: make([]bool, len(cand))}}
			stale := uint32(0)
			for i := range cand {
				if c.Endpoints.Fresh[i] = i%2 == 0; i%2 != 0 {
					stale++
				}
			}
			plugin.(scorers.Scorer).Score(&c, cand, got)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("scores (-want +got):\n%s", diff)
			}
			if c.Neutral != stale {
				t.Errorf("%d counted as neutral, want %d", c.Neutral, stale)
			}
		})
	}
}

func TestParityCountsNothingAsNeutral(t *testing.T) {
	b := scorers.Builder{Parity: true}
	plugin, err := b.Build(&Spec, Type, nil)
	if err != nil {
		t.Fatal(err)
	}
	c := scorers.Cycle{Endpoints: &scorers.Endpoints{Waiting: []float64{3, 7}, Fresh: []bool{false, true}}}
	got := make([]float64, 2)
	plugin.(scorers.Scorer).Score(&c, []int32{0, 1}, got)
	if diff := cmp.Diff([]float64{1, 0}, got); diff != "" {
		t.Errorf("scores (-want +got):\n%s", diff)
	}
	if c.Neutral != 0 {
		t.Errorf("%d counted as neutral", c.Neutral)
	}
}
