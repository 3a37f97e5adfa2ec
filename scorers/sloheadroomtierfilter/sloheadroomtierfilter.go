// Package sloheadroomtierfilter provides the plugin type slo-headroom-tier-filter: the endpoints that are predicted to keep the
// request's latency objectives, and now and then the others.
package sloheadroomtierfilter

import (
	"github.com/zerohop/zerohop/scorers"
	"github.com/zerohop/zerohop/shared/plan"
)

// Type is the plugin type.
const Type = "slo-headroom-tier-filter"

const (
	paramExplore = "epsilonExploreNeg"
	paramLatency = "latencyPredictionInfoProducerName"

	defaultExplore = .01
)

// Spec describes the plugin type.
var Spec = scorers.Spec{
	Type:  Type,
	Kinds: scorers.KindFilter,
	Params: []scorers.Param{
		{Name: paramExplore, Default: defaultExplore, Min: 0, Max: 1, Doc: "share of requests that go to the other endpoints instead"},
		{Name: paramLatency, Kind: plan.String, Default: "", Ref: "predicted-latency-producer", Doc: "name of the producer of predictions"},
	},
	Consumes: []scorers.Need{{Key: scorers.DataLatency, Param: paramLatency}},
	New:      func(u *scorers.Setup) (any, error) { return &filter{u.Params.Float(paramExplore, defaultExplore)}, nil },
}

type filter struct{ explore float64 }

// Filter implements scorers.Filter.
func (f *filter) Filter(c *scorers.Cycle, cand []int32) []int32 {
	p := c.Endpoints.Predicted
	if len(cand) <= 1 || p == nil {
		return cand
	}
	positive, known := 0, 0
	for i, s := range cand {
		keeps := p.Has[s] && p.TTFTHeadroom[s] >= 0 && p.TPOTHeadroom[s] >= 0
		c.Pass[i] = keeps
		if keeps {
			positive++
		}
		if p.Has[s] {
			known++
		}
	}
	switch {
	case known == 0 || positive == 0 || positive == len(cand):
		return cand
	case f.explore > 0 && c.Rand.Float64() < f.explore:
		for i := range cand {
			c.Pass[i] = !c.Pass[i]
		}
		return c.Keep(cand, len(cand)-positive)
	}
	return c.Keep(cand, positive)
}
