// Package randompicker provides the plugin type random-picker: candidates in uniformly random order, whatever their totals.
package randompicker

import "github.com/zerohop/zerohop/scorers"

// Type is the plugin type.
const Type = "random-picker"

const paramMax = "maxNumOfEndpoints"

// Spec describes the plugin type.
var Spec = scorers.Spec{
	Type:  Type,
	Kinds: scorers.KindPicker,
	Params: []scorers.Param{
		{Name: paramMax, Default: 1.0, Integer: true, Doc: "endpoints in the ordered answer; below 1 means 1"},
	},
	New: func(u *scorers.Setup) (any, error) { return &picker{limit: max(1, u.Params.Int(paramMax, 1))}, nil },
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
