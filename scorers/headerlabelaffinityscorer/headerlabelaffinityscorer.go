// Package headerlabelaffinityscorer provides the plugin type header-label-affinity-scorer: endpoints with a label equal to what
// a request header says score 1, all others 0.
package headerlabelaffinityscorer

import (
	"errors"

	"github.com/cespare/xxhash/v2"

	"github.com/zerohop/zerohop/scorers"
	"github.com/zerohop/zerohop/shared/plan"
)

// Type is the plugin type.
const Type = "header-label-affinity-scorer"

const (
	paramHeader = "headerName"
	paramLabel  = "labelKey"
)

// Spec describes the plugin type.
var Spec = scorers.Spec{
	Type:      Type,
	Kinds:     scorers.KindScorer,
	Stability: "alpha",
	Params: []scorers.Param{
		{Name: paramHeader, Kind: plan.String, Required: true, Doc: "request header with the wanted value"},
		{Name: paramLabel, Kind: plan.String, Required: true, Doc: "label of endpoints that is compared with it"},
	},
	New: newScorer,
}

type scorer struct {
	header scorers.HeaderID
	label  scorers.LabelID
	values []uint64 // by slot: hash of the label's value, 0 if it is absent or empty
}

func newScorer(u *scorers.Setup) (any, error) {
	header, label := scorers.TrimText(u.Params.String(paramHeader, "")), u.Params.String(paramLabel, "")
	if header == "" {
		return nil, errors.New(paramHeader + ": is empty; write the name of a request header")
	}
	if label == "" {
		return nil, errors.New(paramLabel + ": is empty; write the key of a label")
	}
	return &scorer{header: u.Header(header), label: u.Label(label)}, nil
}

// Score implements scorers.Scorer.
func (s *scorer) Score(c *scorers.Cycle, cand []int32, out []float64) {
	clear(out)
	wanted := hash(c.Request.Headers.Get(s.header))
	if wanted == 0 {
		return
	}
	for i, slot := range cand {
		if s.values[slot] == wanted {
			out[i] = 1
		}
	}
}

// hash returns a hash of a value that is not empty, and else 0.
func hash(value []byte) uint64 {
	if len(value) == 0 {
		return 0
	}
	return max(xxhash.Sum64(value), 1)
}

// Grow implements scorers.SlotWatcher.
func (s *scorer) Grow(slots int) {
	if n := slots - len(s.values); n > 0 {
		s.values = append(s.values, make([]uint64, n)...)
	}
}

// Facts implements scorers.SlotWatcher.
func (s *scorer) Facts(slot int32, f *scorers.Facts) {
	value, _ := f.Label(s.label)
	s.values[slot] = hash(value)
}

// Forget implements scorers.SlotWatcher.
func (s *scorer) Forget(slot int32) { s.values[slot] = 0 }
