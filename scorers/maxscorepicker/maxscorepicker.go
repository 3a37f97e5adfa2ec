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
	score = score[:len(cand)]
	for i := range n {
		top, ties, j := score[i], 0, i
		for k := i; k < len(score); k++ {
			switch s := score[k]; {
			case s > top:
				top, ties, j = s, 1, k
			case s == top:
				ties++
			}
		}
		if ties > 1 {
			j = oneOf(c.Rand, score, j, ties)
		}
		cand[i], cand[j] = cand[j], cand[i]
		score[i], score[j] = score[j], score[i]
	}
	return cand[:n]
}

// oneOf returns the index of one of the scores that equal the one at first, of which there are so many from there on, each with
// the same probability.
func oneOf(r *scorers.Rand, score []float64, first, ties int) int {
	skip := r.Intn(ties)
	for i := first; ; i++ {
		if score[i] == score[first] {
			if skip == 0 {
				return i
			}
			skip--
		}
	}
}
