// Package runningrequestssizescorer provides the plugin type running-requests-size-scorer: fewer running requests score
// higher, relative to the other candidates.
package runningrequestssizescorer

import (
	"math"

	"github.com/zerohop/zerohop/scorers"
)

// Type is the plugin type.
const Type = "running-requests-size-scorer"

// Spec describes the plugin type.
var Spec = scorers.Spec{
	Type:        Type,
	Kinds:       scorers.KindScorer,
	LooseParams: true,
	New:         func(u *scorers.Setup) (any, error) { return &scorer{parity: u.Parity}, nil },
}

type scorer struct {
	parity bool // the last number counts, however old it is
}

// Score implements scorers.Scorer.
func (s *scorer) Score(c *scorers.Cycle, cand []int32, out []float64) {
	running, fresh := c.Endpoints.Running, c.Endpoints.Fresh
	lo, hi, sum, n := math.Inf(1), math.Inf(-1), 0.0, 0
	for _, slot := range cand {
		if !fresh[slot] && !s.parity {
			continue
		}
		r := running[slot]
		if r < lo { // cheaper than min and max, which look for NaN
			lo = r
		}
		if r > hi {
			hi = r
		}
		sum += r
		n++
	}
	if n == 0 {
		lo, hi = 0, 0
	}
	// What runs is counted in whole requests, so that 1 stands for no spread at all.
	spread := max(hi-lo, 1)
	mean := sum / float64(max(n, 1))
	for i, slot := range cand {
		r := running[slot]
		if !fresh[slot] && !s.parity {
			r = mean
			c.Neutral++
		}
		out[i] = 1 - (r-lo)/spread
	}
}
