package randompicker

import (
	"math"
	"slices"
	"testing"

	"github.com/zerohop/zerohop/scorers"
	"github.com/zerohop/zerohop/scorers/plugintest"
	"github.com/zerohop/zerohop/shared/plan"
)

func bed(t *testing.T, endpoints int, most float64) *plugintest.Bed {
	t.Helper()
	b, err := plugintest.New(&Spec, plan.Params{{Name: "maxNumOfEndpoints", Num: most}}, make([]plugintest.EP, endpoints), plugintest.Req{})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestPick(t *testing.T) {
	tests := []struct {
		name      string
		endpoints int
		most      float64
		limit     int
		want      int
	}{
		{"one", 4, 1, 8, 1},
		{"below one means one", 4, -3, 8, 1},
		{"two", 4, 2, 8, 2},
		{"limit of the caller", 4, 5, 3, 3},
		{"more than there are", 3, 9, 8, 3},
		{"one endpoint", 1, 1, 8, 1},
		{"no endpoint", 0, 1, 8, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := bed(t, tt.endpoints, tt.most).PickFrom(make([]float64, tt.endpoints), tt.limit)
			slices.Sort(got)
			if len(got) != tt.want || len(slices.Compact(got)) != tt.want {
				t.Errorf("picked %v, want %d different ones", got, tt.want)
			}
		})
	}
}

// TestEveryOrderIsEqual wants each ordered pair of four endpoints with one probability, however unequal their totals are.
func TestEveryOrderIsEqual(t *testing.T) {
	const rounds = 24000
	b := bed(t, 4, 2)
	count := map[[2]int]int{}
	for range rounds {
		got := b.PickFrom([]float64{100, 0, -5, math.Inf(1)}, 8)
		count[[2]int{got[0], got[1]}]++
	}
	if len(count) != 12 {
		t.Fatalf("%d orders, want 12", len(count))
	}
	chi2, want := 0.0, float64(rounds)/12
	for _, n := range count {
		chi2 += (float64(n) - want) * (float64(n) - want) / want
	}
	if chi2 > 31.3 { // 11 degrees of freedom, 0.1 %
		t.Errorf("χ² = %.1f over 12 orders", chi2)
	}
}

func TestTotalsFollowTheirEndpoint(t *testing.T) {
	r := scorers.NewRand(3)
	cand, score := []int32{0, 1, 2, 3, 4}, []float64{0, 1, 2, 3, 4}
	(&picker{5}).Pick(&scorers.Cycle{Rand: &r}, cand, score, 5)
	for i, s := range cand {
		if score[i] != float64(s) {
			t.Errorf("place %d: total %v of slot %d", i, score[i], s)
		}
	}
}
