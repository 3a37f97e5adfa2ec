// Package maxscorepicker provides the plugin type max-score-picker: the candidates with the highest totals, best first,
// equal totals in uniformly random order.
package maxscorepicker

import "github.com/zerohop/zerohop/scorers"

// Type is the plugin type.
const Type = "max-score-picker"

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
		j := i + best(c.Rand, score[i:len(cand)])
		cand[i], cand[j] = cand[j], cand[i]
		score[i], score[j] = score[j], score[i]
	}
	return cand[:n]
}

// best returns the index of the greatest score, each of several equal ones with the same probability.
func best(r *scorers.Rand, score []float64) int {
	top, ties, first := score[0], 1, 0
	for i, s := range score[1:] {
		switch {
		case s > top:
			top, ties, first = s, 1, i+1
		case s == top:
			ties++
		}
	}
	if ties == 1 {
		return first
	}
	skip := r.Intn(ties)
	for i := first; ; i++ {
		if score[i] == top {
			if skip == 0 {
				return i
			}
			skip--
		}
	}
}
