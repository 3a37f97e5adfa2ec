// Package concurrencydetector provides the plugin type concurrency-detector: endpoints are saturated by the requests or tokens
// that were sent to them and are not finished. As a filter it drops the saturated ones.
package concurrencydetector

import (
	"math"

	"github.com/zerohop/zerohop/scorers"
	"github.com/zerohop/zerohop/shared/plan"
)

// Type is the plugin type.
const Type = "concurrency-detector"

const (
	paramRequests = "maxConcurrency"
	paramTokens   = "maxTokenConcurrency"
	paramHeadroom = "headroom"
	paramMode     = "concurrencyMode"
	paramLoad     = "inFlightLoadProducerName"

	modeRequests = "requests"
	modeTokens   = "tokens"
	modeHybrid   = "hybrid"

	defaultRequests = 100
	defaultTokens   = 1000000
)

// Spec describes the plugin type.
var Spec = scorers.Spec{
	Type:  Type,
	Kinds: scorers.KindFilter | scorers.KindDetector,
	Params: []scorers.Param{
		{
			Name: paramRequests, Default: float64(defaultRequests), Min: 0, Max: math.Inf(1), MinOpen: true, Integer: true,
			Doc: "requests in flight at which an endpoint is saturated",
		},
		{
			Name: paramTokens, Default: float64(defaultTokens), Min: 0, Max: math.Inf(1), MinOpen: true, Integer: true,
			Doc: "booked tokens at which an endpoint is saturated",
		},
		{Name: paramHeadroom, Default: 0.0, Min: 0, Max: math.Inf(1), Doc: "share by which the filter lets the limits be exceeded"},
		{
			Name: paramMode, Kind: plan.String, Default: modeRequests, Choices: []string{modeRequests, modeTokens, modeHybrid},
			Doc: "what is counted",
		},
		{Name: paramLoad, Kind: plan.String, Default: "", Ref: "inflight-load-producer", Doc: "name of the producer of booked tokens"},
	},
	Consumes: []scorers.Need{{Key: scorers.DataInFlight, Param: paramLoad}},
	New:      newDetector,
}

type detector struct {
	_ [0]func() // not comparable, for the size of the module

	byRequests, byTokens bool
	requests, tokens     float64 // saturated
	requestLimit         int64   // what the filter drops
	tokenLimit           int64
}

func newDetector(u *scorers.Setup) (any, error) {
	mode := u.Params.String(paramMode, modeRequests)
	d := &detector{
		byRequests: mode != modeTokens, byTokens: mode != modeRequests,
		requests: u.Params.Float(paramRequests, defaultRequests), tokens: u.Params.Float(paramTokens, defaultTokens),
	}
	headroom := 1 + u.Params.Float(paramHeadroom, 0)
	d.requestLimit, d.tokenLimit = whole(d.requests*headroom), whole(d.tokens*headroom)
	return d, nil
}

// whole returns the integer part of v, which is not negative.
func whole(v float64) int64 {
	if v >= math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(v)
}

// Saturation implements scorers.Detector. In one mode the capacities are equal, so that the share of the sums is the mean of
// the shares.
func (d *detector) Saturation(c *scorers.Cycle, cand []int32) float64 {
	if len(cand) == 0 {
		return 1
	}
	e, sum := c.Endpoints, 0.0
	for _, s := range cand {
		share := 0.0
		if d.byRequests {
			share = float64(e.InFlight[s]) / d.requests
		}
		if d.byTokens {
			share = max(share, float64(e.InFlightTokens[s])/d.tokens)
		}
		sum += share
	}
	return sum / float64(len(cand))
}

// Filter implements scorers.Filter.
func (d *detector) Filter(c *scorers.Cycle, cand []int32) []int32 {
	e, n := c.Endpoints, 0
	for i, s := range cand {
		keep := (!d.byRequests || int64(e.InFlight[s]) < d.requestLimit) && (!d.byTokens || e.InFlightTokens[s] < d.tokenLimit)
		c.Pass[i] = keep
		if keep {
			n++
		}
	}
	return c.Keep(cand, n)
}
