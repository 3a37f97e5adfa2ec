// Package randompicker provides the plugin type random-picker: candidates in uniformly random order, whatever their totals.
package randompicker

import "github.com/zerohop/zerohop/scorers"

// Type is the plugin type.
const Type = "random-picker"

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
		j := i + c.Rand.Intn(len(cand)-i)
		cand[i], cand[j] = cand[j], cand[i]
		score[i], score[j] = score[j], score[i]
	}
	return cand[:n]
}
