// Package loadawarescorer provides the plugin type load-aware-scorer: fewer waiting requests score higher, on a fixed scale
// rather than relative to the other candidates.
package loadawarescorer

import (
	"github.com/zerohop/zerohop/scorers"
	"github.com/zerohop/zerohop/shared/plan"
)

// Type is the plugin type.
const Type = "load-aware-scorer"

const (
	paramThreshold = "threshold"

	defaultThreshold = 128 // requests

	// most is the score of an endpoint in which nothing waits. The EPP leaves the upper half of the range unused.
	most = 0.5
)

// Spec describes the plugin type.
var Spec = scorers.Spec{
	Type:  Type,
	Kinds: scorers.KindScorer,
	Params: []scorers.Param{{
		Name: paramThreshold, Kind: plan.Number, Integer: true, Default: float64(defaultThreshold),
		Doc: "waiting requests from which an endpoint scores 0; 0 and less mean 128",
	}},
	New: func(u *scorers.Setup) (any, error) {
		threshold := u.Params.Float(paramThreshold, defaultThreshold)
		if !(threshold > 0) {
			threshold = defaultThreshold
		}
		return &scorer{threshold: threshold, parity: u.Parity}, nil
	},
}

type scorer struct {
	threshold float64 // requests
	parity    bool
}

// Score implements scorers.Scorer. For an endpoint that is not fresh, Waiting is an estimate already (see fleet).
func (s *scorer) Score(c *scorers.Cycle, cand []int32, out []float64) {
	waiting, fresh := c.Endpoints.Waiting, c.Endpoints.Fresh
	for i, slot := range cand {
		w := waiting[slot]
		if w > s.threshold {
			w = s.threshold
		}
		out[i] = most * (1 - w/s.threshold)
		if !fresh[slot] && !s.parity {
			c.Neutral++
		}
	}
}
