// Package tokenloadscorer provides the plugin type token-load-scorer: the fewer tokens an endpoint has to compute before the
// answer of this request begins, the higher it scores.
package tokenloadscorer

import (
	"github.com/zerohop/zerohop/scorers"
	"github.com/zerohop/zerohop/shared/plan"
)

// Type is the plugin type.
const Type = "token-load-scorer"

const (
	paramThreshold = "queueThresholdTokens"
	paramProducer  = "inFlightLoadProducerName"

	defaultThreshold = 4 << 20 // tokens
)

// Spec describes the plugin type.
var Spec = scorers.Spec{
	Type:  Type,
	Kinds: scorers.KindScorer,
	Params: []scorers.Param{
		{
			Name: paramThreshold, Kind: plan.Number, Integer: true, Default: float64(defaultThreshold),
			Doc: "tokens from which an endpoint scores 0; 0 and less mean 4194304",
		},
		{Name: paramProducer, Kind: plan.String, Default: "", Ref: "inflight-load-producer", Doc: "name of the inflight-load-producer to read"},
	},
	Consumes: []scorers.Need{{Key: scorers.DataInFlight, Param: paramProducer}, {Key: scorers.DataUncached}},
	New: func(u *scorers.Setup) (any, error) {
		threshold := u.Params.Float(paramThreshold, defaultThreshold)
		if !(threshold > 0) {
			threshold = defaultThreshold
		}
		return &scorer{threshold}, nil
	},
}

type scorer struct{ threshold float64 } // tokens

// Score implements scorers.Scorer.
func (s *scorer) Score(c *scorers.Cycle, cand []int32, out []float64) {
	tokens := c.Endpoints.InFlightTokens
	for i, slot := range cand {
		load := float64(max(tokens[slot]+c.Uncached(slot), 0))
		if load > s.threshold {
			load = s.threshold
		}
		out[i] = 1 - load/s.threshold
	}
}
