// Package queuescorer provides the plugin type queue-scorer: fewer waiting requests score higher, relative to the other
// candidates.
package queuescorer

import "github.com/zerohop/zerohop/scorers"

// Type is the plugin type.
const Type = "queue-scorer"

// minSpread is the smallest difference in waiting requests that counts as a full one. The scraped queue lengths are whole
// numbers, for which it changes nothing against the EPP's formula. What fleet adds for requests of our own is fractional,
// and must not cost an endpoint the whole score only because all others are at zero.
const minSpread = 1

// Spec describes the plugin type.
var Spec = scorers.Spec{
	Type:        Type,
	Aliases:     []string{"queue-depth-scorer"},
	Kinds:       scorers.KindScorer,
	LooseParams: true,
	New:         func(u *scorers.Setup) (any, error) { return &scorer{parity: u.Parity}, nil },
}

type scorer struct {
	parity bool // Waiting is the last scraped number, and no estimate
}

// Score implements scorers.Scorer. For an endpoint that is not fresh, Waiting is an estimate already (see fleet).
func (s *scorer) Score(c *scorers.Cycle, cand []int32, out []float64) {
	if len(cand) == 0 {
		return
	}
	waiting, fresh := c.Endpoints.Waiting, c.Endpoints.Fresh
	lo := waiting[cand[0]]
	hi := lo
	for _, slot := range cand {
		switch w := waiting[slot]; { // cheaper than min and max, which look for NaN
		case w < lo:
			lo = w
		case w > hi:
			hi = w
		}
	}
	spread := hi - lo
	if spread < minSpread {
		spread = minSpread
	}
	stale := uint32(0)
	for i, slot := range cand {
		out[i] = 1 - (waiting[slot]-lo)/spread
		if !fresh[slot] {
			stale++
		}
	}
	if !s.parity {
		c.Neutral += stale
	}
}
