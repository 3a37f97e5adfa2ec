// Package prefixcacheaffinityfilter provides the plugin type prefix-cache-affinity-filter: while they are not much slower than
// the others, only the endpoints that hold most of the prompt are left ("sticky until saturated").
package prefixcacheaffinityfilter

import (
	"errors"
	"math"

	"github.com/zerohop/zerohop/scorers"
	"github.com/zerohop/zerohop/shared/plan"
)

// Type is the plugin type.
const Type = "prefix-cache-affinity-filter"

const (
	paramThreshold  = "affinityThreshold"
	paramExplore    = "explorationProbability"
	paramPenalty    = "maxTTFTPenaltyMs"
	paramSource     = "ttftSource"
	paramThroughput = "peakPrefillThroughput"
	paramPrefix     = "prefixMatchInfoProducerName"
	paramLatency    = "latencyPredictionInfoProducerName"
	paramLoad       = "inFlightLoadProducerName"

	sourceThroughput = "prefillThroughput"
	sourcePredictor  = "latencyPredictor"

	// defaultThroughput is the EPP's: a 32B model on two H100.
	defaultThroughput = 15928
	defaultPenalty    = 18000
	defaultThreshold  = .8
)

// Spec describes the plugin type.
var Spec = scorers.Spec{
	Type:  Type,
	Kinds: scorers.KindFilter,
	Params: []scorers.Param{
		{
			Name: paramThreshold, Default: defaultThreshold, Min: math.Inf(-1), Max: 1,
			Doc: "share of the prompt from which an endpoint is sticky; 0 or less turns the filter off",
		},
		{Name: paramExplore, Default: 0.0, Min: 0, Max: 1, Doc: "share of requests that are not filtered"},
		{
			Name: paramPenalty, Default: float64(defaultPenalty), Min: 0, Max: math.Inf(1),
			Doc: "milliseconds to the first token that stickiness may cost; 0 means any",
		},
		{
			Name: paramSource, Kind: plan.String, Default: sourceThroughput, Choices: []string{sourceThroughput, sourcePredictor},
			Doc: "where the time to the first token is from",
		},
		{
			Name: paramThroughput, Default: float64(defaultThroughput), Min: 0, Max: math.Inf(1),
			Doc: "prompt tokens that an endpoint computes in a second",
		},
		{
			Name: paramPrefix, Kind: plan.String, Default: "", Ref: "approx-prefix-cache-producer",
			Doc: "name of the producer of prefix matches",
		},
		{Name: paramLatency, Kind: plan.String, Default: "", Ref: "predicted-latency-producer", Doc: "name of the producer of predictions"},
		{Name: paramLoad, Kind: plan.String, Default: "", Ref: "inflight-load-producer", Doc: "name of the producer of booked tokens"},
	},
	Consumes: []scorers.Need{
		{Key: scorers.DataPrefixMatch, Param: paramPrefix},
		{Key: scorers.DataLatency, Param: paramLatency, Optional: true},
		{Key: scorers.DataInFlight, Param: paramLoad, Optional: true},
	},
	New: newFilter,
}

type filter struct {
	_ [0]func() // not comparable, for the size of the module

	threshold  float64
	explore    float64
	penalty    float64 // milliseconds
	predictor  bool
	throughput float64 // tokens per millisecond
}

func newFilter(u *scorers.Setup) (any, error) {
	f := &filter{
		threshold: u.Params.Float(paramThreshold, defaultThreshold), explore: u.Params.Float(paramExplore, 0),
		penalty: u.Params.Float(paramPenalty, defaultPenalty), throughput: u.Params.Float(paramThroughput, defaultThroughput) / 1000,
		predictor: u.Params.String(paramSource, sourceThroughput) == sourcePredictor,
	}
	if !f.predictor && f.penalty > 0 && f.throughput == 0 {
		return nil, errors.New(paramThroughput + ": want more than 0 tokens while " + paramSource + " is " + sourceThroughput)
	}
	return f, nil
}

// Filter implements scorers.Filter.
func (f *filter) Filter(c *scorers.Cycle, cand []int32) []int32 {
	if len(cand) <= 1 || f.threshold <= 0 || f.explore > 0 && c.Rand.Float64() < f.explore {
		return cand
	}
	r := &c.Request
	if r.TotalBlocks <= 0 {
		return cand
	}
	enough := f.enough(r.TotalBlocks)
	sticky, soonest := 0, [2]float64{math.Inf(1), math.Inf(1)} // time to the first token of the others, of the sticky ones
	for i, s := range cand {
		keep := r.Match[s] >= enough
		c.Pass[i] = keep
		which := 0
		if keep {
			which = 1
			sticky++
		}
		if t := f.ttft(c.Endpoints, s); t < soonest[which] {
			soonest[which] = t
		}
	}
	switch {
	case sticky == 0:
		return cand
	// Both may be infinite. Their difference is no number then, and the penalty stands.
	case f.penalty > 0 && sticky < len(cand) && soonest[1]-soonest[0] > f.penalty:
		return cand
	}
	return c.Keep(cand, sticky)
}

// enough returns the fewest blocks of total that make an endpoint sticky. Where rounding matters, the quotient decides, as in
// the EPP.
func (f *filter) enough(total int) int32 {
	n := int32(f.threshold * float64(total))
	for n > 0 && float64(n-1)/float64(total) >= f.threshold {
		n--
	}
	for float64(n)/float64(total) < f.threshold {
		n++
	}
	return n
}

// ttft returns the time to the first token at slot, in milliseconds; infinite if it is not known.
func (f *filter) ttft(e *scorers.Endpoints, s int32) float64 {
	switch {
	case !f.predictor:
		return float64(e.InFlightTokens[s]) / f.throughput
	case e.Predicted != nil && e.Predicted.Has[s]:
		return e.Predicted.TTFT[s]
	}
	return math.Inf(1)
}
