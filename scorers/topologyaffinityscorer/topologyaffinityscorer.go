// Package topologyaffinityscorer provides the plugin type topology-affinity-scorer: the nearer an endpoint is to the one that
// does the other part of the request's work, the higher it scores.
package topologyaffinityscorer

import (
	"github.com/zerohop/zerohop/scorers"
	"github.com/zerohop/zerohop/scorers/topologyextractor"
)

// Type is the plugin type.
const Type = "topology-affinity-scorer"

// levels are the scores by narrowest place that both share.
var levels = [4]float64{scorers.TopoHost: 1, scorers.TopoRack: .2, scorers.TopoZone: .05, scorers.TopoRegion: .02}

// Spec describes the plugin type.
var Spec = scorers.Spec{
	Type:      Type,
	Kinds:     scorers.KindScorer,
	Stability: "alpha",
	Params:    []scorers.Param{topologyextractor.Producer},
	Consumes:  []scorers.Need{{Key: scorers.DataTopology, Param: topologyextractor.ParamProducer, Optional: true}},
	New: func(u *scorers.Setup) (any, error) {
		topologyextractor.Ask(u)
		return &scorer{}, nil
	},
}

type scorer struct{}

// Score implements scorers.Scorer.
func (*scorer) Score(c *scorers.Cycle, cand []int32, out []float64) {
	clear(out)
	places, peer := c.Endpoints.Topo, c.Request.Peer
	if peer < 0 || int(peer) >= len(places) {
		return
	}
	at := places[peer]
	for i, slot := range cand {
		for level, score := range levels {
			if at[level] != 0 && at[level] == places[slot][level] {
				out[i] = score
				break
			}
		}
	}
}
