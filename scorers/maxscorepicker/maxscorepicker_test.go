package maxscorepicker

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zerohop/zerohop/scorers"
	"github.com/zerohop/zerohop/shared/plan"
)

func pick(t *testing.T, r *scorers.Rand, maxNum float64, limit int, score ...float64) []int32 {
	t.Helper()
	plugin, err := scorers.Alone(&Spec, plan.Params{{Name: "maxNumOfEndpoints", Num: maxNum}})
	if err != nil {
		t.Fatal(err)
	}
	cand := make([]int32, len(score))
	for i := range cand {
		cand[i] = int32(10 + i)
	}
	return plugin.(scorers.Picker).Pick(&scorers.Cycle{Rand: r}, cand, score, limit)
}

func TestPick(t *testing.T) {
	tests := []struct {
		name   string
		maxNum float64
		limit  int
		score  []float64
		want   []int32
	}{
		{"S45 two best", 2, 8, []float64{3, 4.85, 1.8}, []int32{11, 10}},
		{"one", 1, 8, []float64{3, 4.85, 1.8}, []int32{11}},
		{"below one means one", -3, 8, []float64{1, 2}, []int32{11}},
		{"limit of the caller", 5, 2, []float64{1, 2, 3}, []int32{12, 11}},
		{"more than there are", 9, 8, []float64{1, 2}, []int32{11, 10}},
		{"negative totals", 1, 8, []float64{-2, -1}, []int32{11}},
		{"none", 1, 8, nil, []int32{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := scorers.NewRand(1)
			if diff := cmp.Diff(tt.want, pick(t, &r, tt.maxNum, tt.limit, tt.score...)); diff != "" {
				t.Errorf("picked (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTiesAreUniform(t *testing.T) {
	const rounds = 9000
	r := scorers.NewRand(7)
	count := map[int32]int{}
	for range rounds {
		count[pick(t, &r, 1, 8, 1, 5, 0, 5, 5)[0]]++
	}
	for _, slot := range []int32{11, 13, 14} {
		if share := float64(count[slot]) / rounds; share < .31 || share > .36 {
			t.Errorf("slot %d has a share of %.3f of three equal ones", slot, share)
		}
	}
	if len(count) != 3 {
		t.Errorf("picked %v, want the three best only", count)
	}
}
