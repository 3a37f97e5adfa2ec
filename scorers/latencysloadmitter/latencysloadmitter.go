// Package latencysloadmitter provides the plugin type latency-slo-admitter: a request of negative priority is refused if every
// endpoint is predicted to miss its latency objectives.
package latencysloadmitter

import (
	"math"

	"github.com/zerohop/zerohop/scorers"
	"github.com/zerohop/zerohop/shared/plan"
)

// Type is the plugin type.
const Type = "latency-slo-admitter"

const paramLatency = "latencyPredictionInfoProducerName"

// coldKV is the share of KV blocks in use below which an endpoint has served too little for its prediction to count.
const coldKV = .02

// Spec describes the plugin type.
var Spec = scorers.Spec{
	Type:  Type,
	Kinds: scorers.KindAdmitter,
	Params: []scorers.Param{
		{Name: paramLatency, Kind: plan.String, Default: "", Ref: "predicted-latency-producer", Doc: "name of the producer of predictions"},
	},
	Consumes: []scorers.Need{{Key: scorers.DataLatency, Param: paramLatency}},
	New: func(u *scorers.Setup) (any, error) {
		u.Priority()
		u.SLO()
		return &admitter{}, nil
	},
}

type admitter struct{}

// Admit implements scorers.Admitter.
func (*admitter) Admit(c *scorers.Cycle, cand []int32) bool {
	r, p := &c.Request, c.Endpoints.Predicted
	if r.Priority >= 0 || r.TTFTms <= 0 && r.TPOTms <= 0 || p == nil {
		return true
	}
	e, predicted := c.Endpoints, false
	for _, s := range cand {
		if e.Running[s] == 0 || e.KVUsage[s] < coldKV {
			return true
		}
		if p.Has[s] {
			predicted = true
			// Without an objective for the time per token, that headroom is 0.
			if p.TTFTHeadroom[s] > 0 && p.TPOTHeadroom[s] >= 0 {
				return true
			}
		}
	}
	return !predicted
}

// Denied implements scorers.Denier: the greatest headroom that an endpoint has for both objectives, in milliseconds, which is to
// be above 0.
func (*admitter) Denied(c *scorers.Cycle, cand []int32) (value, threshold float64) {
	p := c.Endpoints.Predicted
	value = math.Inf(-1)
	for _, s := range cand {
		if p.Has[s] {
			value = max(value, min(p.TTFTHeadroom[s], p.TPOTHeadroom[s]))
		}
	}
	return value, 0
}
