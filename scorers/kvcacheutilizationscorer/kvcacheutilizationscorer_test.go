package kvcacheutilizationscorer

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/zerohop/zerohop/scorers"
)

func TestScore(t *testing.T) {
	tests := []struct {
		name        string
		usage       []float64
		stale       int // endpoints from the end without fresh metrics
		parity      bool
		want        []float64
		wantNeutral uint32
	}{
		{"S3 spread", []float64{.8, .5, 0}, 0, false, []float64{.2, .5, 1}, 0},
		{"S3 full", []float64{1, .5}, 0, false, []float64{0, .5}, 0},
		{"S4 above one", []float64{.25, 1.2}, 0, false, []float64{.75, 0}, 0},
		{"stale is neutral", []float64{.25, .9}, 1, false, []float64{.75, .5}, 1},
		{"nothing known", []float64{0, 0, 0}, 3, false, []float64{.5, .5, .5}, 3},
		{"below 0 and not a number", []float64{-.5, math.NaN()}, 0, false, []float64{1, 0}, 0},
		{"parity: the last number counts", []float64{.25, .9}, 1, true, []float64{.75, .1}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n := len(tt.usage)
			cand, fresh := make([]int32, n), make([]bool, n)
			for i := range cand {
				cand[i], fresh[i] = int32(i), i < n-tt.stale
			}
			b := scorers.Builder{Parity: tt.parity}
			plugin, err := b.Build(&Spec, Type, nil)
			if err != nil {
				t.Fatal(err)
			}
			c := scorers.Cycle{Endpoints: &scorers.Endpoints{KVUsage: tt.usage, Fresh: fresh}}
			got := make([]float64, n)
			plugin.(scorers.Scorer).Score(&c, cand, got)
			if diff := cmp.Diff(tt.want, got, cmpopts.EquateApprox(0, 1e-12)); diff != "" {
				t.Errorf("scores (-want +got):\n%s", diff)
			}
			if c.Neutral != tt.wantNeutral {
				t.Errorf("neutral = %d, want %d", c.Neutral, tt.wantNeutral)
			}
		})
	}
}
