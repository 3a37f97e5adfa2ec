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
	Kinds:       scorers.KindScorer,
	LooseParams: true,
	New:         func(*scorers.Setup) (any, error) { return scorer{}, nil },
}

type scorer struct{}

// Score implements scorers.Scorer.
func (scorer) Score(c *scorers.Cycle, cand []int32, out []float64) {
	e := c.Endpoints
	for i, s := range cand {
		if !e.Fresh[s] {
			out[i] = neutral
			c.Neutral++
			continue
		}
		// Some engines report a little more than 1; the EPP's pipeline clamps what that gives.
		out[i] = max(0, 1-e.KVUsage[s])
	}
}
