package weightedrandompicker

import (
	"math"
	"slices"
	"testing"

	"github.com/zerohop/zerohop/scorers"
	"github.com/zerohop/zerohop/scorers/plugintest"
	"github.com/zerohop/zerohop/shared/plan"
)

const rounds = 50000

func bed(t *testing.T, endpoints int, most float64) *plugintest.Bed {
	t.Helper()
	b, err := plugintest.New(&Spec, plan.Params{{Name: "maxNumOfEndpoints", Num: most}}, make([]plugintest.EP, endpoints), plugintest.Req{})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestFirstIsInProportion compares how often each endpoint is first with its share, by a χ² test at 0.1 %.
func TestFirstIsInProportion(t *testing.T) {
	inf := math.Inf(1)
	tests := []struct {
		name  string
		score []float64
		want  []float64 // in any unit
		limit float64   // of χ²
	}{
		{"1 to 4", []float64{1, 2, 3, 4}, []float64{1, 2, 3, 4}, 16.27},
		{"one not above 0", []float64{1, 0, 3, -4}, []float64{1, 0, 3, 0}, 10.83},
		{"all not above 0", []float64{-1, 0, -3, math.Inf(-1)}, []float64{1, 1, 1, 1}, 16.27},
		{"not a number", []float64{math.NaN(), 1, 1}, []float64{0, 1, 1}, 10.83},
		{"infinite", []float64{1, inf, inf}, []float64{0, 1, 1}, 10.83},
		{"largest numbers", []float64{math.MaxFloat64, math.MaxFloat64, math.MaxFloat64 / 2}, []float64{2, 2, 1}, 13.82},
		{"smallest numbers", []float64{5e-324, 1.5e-323, 0}, []float64{1, 3, 0}, 10.83},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := bed(t, len(tt.score), 1)
			count := make([]int, len(tt.score))
			for range rounds {
				count[b.PickFrom(tt.score, 8)[0]]++
			}
			sum, chi2 := 0.0, 0.0
			for _, w := range tt.want {
				sum += w
			}
			for i, n := range count {
				want := rounds * tt.want[i] / sum
				if want == 0 {
					if n > 0 {
						t.Errorf("endpoint %d was picked %d times, want never", i, n)
					}
					continue
				}
				chi2 += (float64(n) - want) * (float64(n) - want) / want
			}
			if chi2 > tt.limit {
				t.Errorf("χ² = %.1f, more than %v: %v", chi2, tt.limit, count)
			}
		})
	}
}

// TestOrderIsThatOfKeys compares the orders of three endpoints with the EPP's way: sorted by U^(1/score).
func TestOrderIsThatOfKeys(t *testing.T) {
	score := []float64{1, 2, 5}
	b := bed(t, 3, 3)
	ours, keys := map[[3]int]float64{}, map[[3]int]float64{}
	r := scorers.NewRand(99)
	for range rounds {
		got := b.PickFrom(score, 8)
		ours[[3]int(got)]++
		key := [3]float64{}
		for i, s := range score {
			key[i] = math.Pow(max(r.Float64(), 1e-10), 1/s)
		}
		order := []int{0, 1, 2}
		slices.SortFunc(order, func(a, b int) int {
			if key[a] > key[b] {
				return -1
			}
			return 1
		})
		keys[[3]int(order)]++
	}
	chi2 := 0.0
	for order, n := range keys {
		chi2 += (ours[order] - n) * (ours[order] - n) / (ours[order] + n)
	}
	if len(ours) != 6 || len(keys) != 6 || chi2 > 20.5 { // 5 degrees of freedom, 0.1 %
		t.Errorf("χ² = %.1f between %v and %v", chi2, ours, keys)
	}
}

func TestPick(t *testing.T) {
	tests := []struct {
		name  string
		score []float64
		most  float64
		limit int
		want  []int // sorted
	}{
		{"those not above 0 come last", []float64{0, 3, -1, 2}, 2, 8, []int{1, 3}},
		{"and are reached", []float64{0, 3, 2}, 3, 8, []int{0, 1, 2}},
		{"below one means one", []float64{0, 3}, 0, 8, []int{1}},
		{"limit of the caller", []float64{1, 0, 1}, 3, 2, []int{0, 2}},
		{"more than there are", []float64{1, 1}, 9, 8, []int{0, 1}},
		{"one endpoint", []float64{0}, 1, 8, []int{0}},
		{"no endpoint", nil, 1, 8, []int{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := bed(t, len(tt.score), tt.most).PickFrom(tt.score, tt.limit)
			slices.Sort(got)
			if !slices.Equal(got, tt.want) {
				t.Errorf("picked %v, want %v", got, tt.want)
			}
		})
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
