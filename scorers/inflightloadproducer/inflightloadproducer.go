// Package inflightloadproducer provides the plugin type inflight-load-producer: what a request is booked with at the endpoint
// that it is sent to. The counters are the scheduler's (packages fleet and sched), and every plugin that reads
// Endpoints.InFlight or Endpoints.InFlightTokens reads the same.
package inflightloadproducer

import (
	"math"

	"github.com/zerohop/zerohop/scorers"
	"github.com/zerohop/zerohop/shared/plan"
)

// Type is the plugin type.
const Type = "inflight-load-producer"

const (
	paramOutput   = "addEstimatedOutputTokens"
	paramRatio    = "outputRatio"
	paramMax      = "maxEstimatedOutputTokens"
	paramProducer = "prefixMatchInfoProducerName"
	paramSync     = "syncCrossReplicaState"

	defaultRatio = 1.5
)

// Spec describes the plugin type.
var Spec = scorers.Spec{
	Type:  Type,
	Kinds: scorers.KindProducer,
	Params: []scorers.Param{
		{
			Name: paramOutput, Kind: plan.Bool, Default: false,
			Doc: "book an estimate of the answer's tokens, too, and keep all tokens booked until the request ends",
		},
		{Name: paramRatio, Default: defaultRatio, Min: 0, Max: math.Inf(1), Doc: "tokens of the answer for each token of the prompt"},
		{Name: paramMax, Min: 0, Max: math.Inf(1), Doc: "most tokens that an answer is estimated at; no limit if absent"},
		{
			Name: paramProducer, Kind: plan.String, Default: "", Ref: "approx-prefix-cache-producer",
			Doc: "name of the producer of prefix matches",
		},
		{
			Name: paramSync, Kind: plan.Bool, Default: true,
			Doc: "share the counters with other replicas; has no effect, each worker counts its own requests",
		},
	},
	Consumes: []scorers.Need{{Key: scorers.DataPrefixMatch, Param: paramProducer, Optional: true}},
	Produces: []scorers.DataKey{scorers.DataInFlight, scorers.DataUncached},
	New:      newProducer,
}

type producer struct {
	output bool
	ratio  float64
	limit  float64 // tokens
}

func newProducer(u *scorers.Setup) (any, error) {
	return &producer{
		output: u.Params.Bool(paramOutput, false),
		ratio:  u.Params.Float(paramRatio, defaultRatio),
		limit:  u.Params.Float(paramMax, math.Inf(1)),
	}, nil
}

// Estimate implements scorers.LoadEstimator.
func (p *producer) Estimate(c *scorers.Cycle, slot int32) (tokens int32, untilEnd bool) {
	n := float64(c.Uncached(slot))
	if p.output {
		n += p.answer(&c.Request)
	}
	return int32(min(max(n, 0), math.MaxInt32)), p.output
}

// answer estimates the tokens of the answer.
func (p *producer) answer(r *scorers.Request) float64 {
	n := min(math.Round(float64(max(r.PromptTokens, 0))*p.ratio), p.limit)
	if r.MaxTokens > 0 {
		n = min(n, float64(r.MaxTokens))
	}
	return n
}
