// Package kvcacheutilizationscorer provides the plugin type kv-cache-utilization-scorer: the more of its KV cache an
// endpoint has free, the higher it scores.
package kvcacheutilizationscorer

import "github.com/zerohop/zerohop/scorers"

// Type is the plugin type.
const Type = "kv-cache-utilization-scorer"

// neutral is the score of an endpoint whose utilisation is not known: neither attractive nor repellent.
const neutral = 0.5

// Spec describes the plugin type.
var Spec = scorers.Spec{
	Type:        Type,
	Aliases:     []string{"kv-cache-scorer"},
	Kinds:       scorers.KindScorer,
	LooseParams: true,
	New:         func(u *scorers.Setup) (any, error) { return &scorer{parity: u.Parity}, nil },
}

type scorer struct {
	parity bool // the last number counts, however old it is
}

// Score implements scorers.Scorer.
func (s *scorer) Score(c *scorers.Cycle, cand []int32, out []float64) {
	e := c.Endpoints
	for i, slot := range cand {
		if !e.Fresh[slot] && !s.parity {
			out[i] = neutral
			c.Neutral++
			continue
		}
		free := 1 - e.KVUsage[slot]
		switch {
		case free > 1:
			free = 1
		case !(free > 0): // some engines report a little more than 1
			free = 0
		}
		out[i] = free
	}
}
