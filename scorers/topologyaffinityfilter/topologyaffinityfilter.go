// Package topologyaffinityfilter provides the plugin type topology-affinity-filter: it keeps the endpoints that are near the one
// that does the other part of the request's work.
package topologyaffinityfilter

import (
	"slices"

	"github.com/zerohop/zerohop/scorers"
	"github.com/zerohop/zerohop/scorers/topologyextractor"
	"github.com/zerohop/zerohop/shared/plan"
)

// Type is the plugin type.
const Type = "topology-affinity-filter"

const paramLevel = "minAffinity"

// levels are in the order of Endpoints.Topo.
var levels = []string{"host", "rack", "zone", "region"}

// Spec describes the plugin type.
var Spec = scorers.Spec{
	Type:      Type,
	Kinds:     scorers.KindFilter,
	Stability: "alpha",
	Params: []scorers.Param{
		{Name: paramLevel, Kind: plan.String, Default: levels[0], Choices: levels, Doc: "widest place that still counts as near"},
		topologyextractor.Producer,
	},
	Consumes: []scorers.Need{{Key: scorers.DataTopology, Param: topologyextractor.ParamProducer, Optional: true}},
	New:      newFilter,
}

type filter struct{ widest int }

func newFilter(u *scorers.Setup) (any, error) {
	topologyextractor.Ask(u)
	return &filter{slices.Index(levels, u.Params.String(paramLevel, levels[0]))}, nil
}

// Filter implements scorers.Filter.
func (f *filter) Filter(c *scorers.Cycle, cand []int32) []int32 {
	peer := c.Request.Peer
	if peer < 0 {
		return cand
	}
	at := c.Endpoints.Topo[peer]
	n := 0
	for i, s := range cand {
		near := shares(&at, &c.Endpoints.Topo[s], f.widest)
		c.Pass[i] = near
		if near {
			n++
		}
	}
	if n == 0 {
		return cand
	}
	return c.Keep(cand, n)
}

// shares reports whether both are known to be in the same place of a level up to widest.
func shares(a, b *[4]uint64, widest int) bool {
	for level := 0; level <= widest; level++ {
		if a[level] != 0 && a[level] == b[level] {
			return true
		}
	}
	return false
}
