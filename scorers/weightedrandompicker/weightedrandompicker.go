// Package weightedrandompicker provides the plugin type weighted-random-picker: candidates in random order, each place with a
// probability in proportion to the totals that are left.
package weightedrandompicker

import (
	"math"

	"github.com/zerohop/zerohop/scorers"
)

// Type is the plugin type.
const Type = "weighted-random-picker"

// Spec describes the plugin type.
var Spec = scorers.Spec{
	Type:   Type,
	Kinds:  scorers.KindPicker,
	Params: scorers.PickerParams,
	New:    func(u *scorers.Setup) (any, error) { return &picker{limit: u.PickerLimit()}, nil },
}

type picker struct{ limit int }

// Pick implements scorers.Picker.
func (p *picker) Pick(c *scorers.Cycle, cand []int32, score []float64, limit int) []int32 {
	n := min(len(cand), limit, p.limit)
	for i := range n {
		j := i + draw(c.Rand, score[i:len(cand)])
		cand[i], cand[j] = cand[j], cand[i]
		score[i], score[j] = score[j], score[i]
	}
	return cand[:n]
}

// draw returns the index of a score, each one with a probability in proportion to it. What is not above 0 is drawn only if
// everything is so, and then with equal probability. Drawing one after the other without putting back gives the same
// distribution of orders as sorting by U^(1/score), without a logarithm and without scratch memory.
func draw(r *scorers.Rand, score []float64) int {
	top := 0.0
	for _, s := range score {
		top = max(top, weight(s))
	}
	if top == 0 {
		return r.Intn(len(score))
	}
	// Relative to the greatest one, so that the sum is finite.
	sum := 0.0
	for _, s := range score {
		sum += weight(s) / top
	}
	rest, last := r.Float64()*sum, 0
	for i, s := range score {
		w := weight(s) / top
		if w == 0 {
			continue
		}
		if rest < w {
			return i
		}
		rest -= w
		last = i
	}
	return last // rounding has left a rest
}

// weight returns the score as a finite number of at least 0.
func weight(score float64) float64 {
	if !(score > 0) {
		return 0
	}
	return min(score, math.MaxFloat64)
}
