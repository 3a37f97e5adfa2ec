package prefixcachescorer

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/zerohop/zerohop/scorers"
	"github.com/zerohop/zerohop/shared/plan"
)

func params(weight, scale float64) plan.Params {
	return plan.Params{{Name: paramWeight, Num: weight}, {Name: paramScale, Num: scale}}
}

func TestScore(t *testing.T) {
	tests := []struct {
		name          string
		weight, scale float64
		block, total  int
		match         []int32
		want          []float64
	}{
		{"S16", 0, 8192, 64, 128, []int32{64, 128, 10, 0}, []float64{.5, 1, .078125, 0}},
		{"S16 A6 no blocks", 0, 8192, 64, 0, []int32{0, 0}, []float64{0, 0}},
		{"S17", .5, 8192, 64, 128, []int32{64, 128, 10, 0}, []float64{.375, 1, .04211425781, 0}},
		{"S17 no blocks", .5, 8192, 64, 0, []int32{0}, []float64{0}},
		{"S18", 1, 8192, 64, 128, []int32{64, 128, 10, 0}, []float64{.25, 1, .006103515625, 0}},
		{"S19 short", .5, 100, 1, 10, []int32{5}, []float64{.25125}},
		{"S19 long", .5, 100, 1, 100, []int32{50}, []float64{.375}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			plugin, err := scorers.Alone(&Spec, params(tt.weight, tt.scale))
			if err != nil {
				t.Fatal(err)
			}
			cand := make([]int32, len(tt.match))
			for i := range cand {
				cand[i] = int32(i)
			}
			c := scorers.Cycle{Request: scorers.Request{BlockTokens: tt.block, TotalBlocks: tt.total, Match: tt.match}}
			got := make([]float64, len(cand))
			plugin.(scorers.Scorer).Score(&c, cand, got)
			if diff := cmp.Diff(tt.want, got, cmpopts.EquateApprox(0, 1e-10)); diff != "" {
				t.Errorf("scores (-want +got):\n%s", diff)
			}
		})
	}
}

func TestNew(t *testing.T) {
	tests := []struct {
		name          string
		weight, scale float64
		wantErr       string
	}{
		{"S20 weight below 0", -.1, 8192, paramWeight},
		{"S20 weight above 1", 1.1, 8192, paramWeight},
		{"S20 weight NaN", math.NaN(), 8192, paramWeight},
		{"S20 scale 0 with weight", .5, 0, paramScale},
		{"scale 0 without weight", 0, 0, ""},
		{"bounds", 1, 1, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := scorers.Alone(&Spec, params(tt.weight, tt.scale))
			if (err == nil) != (tt.wantErr == "") || err != nil && !strings.HasPrefix(err.Error(), tt.wantErr+":") {
				t.Errorf("error = %v, want one about %q", err, tt.wantErr)
			}
		})
	}
}
