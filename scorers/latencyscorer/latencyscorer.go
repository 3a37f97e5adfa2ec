// Package latencyscorer provides the plugin type latency-scorer: endpoints score by how far their predicted latencies stay below
// the objectives of the request, and without predictions by a blend of cache, queue and prefix.
package latencyscorer

import (
	"math"

	"github.com/zerohop/zerohop/scorers"
	"github.com/zerohop/zerohop/shared/plan"
)

// Type is the plugin type.
const Type = "latency-scorer"

const (
	paramTTFT     = "ttftWeight"
	paramTPOT     = "tpotWeight"
	paramStrategy = "headroomSelectionStrategy"
	paramKV       = "compositeKVWeight"
	paramQueue    = "compositeQueueWeight"
	paramPrefix   = "compositePrefixWeight"
	paramLatency  = "latencyPredictionInfoProducerName"
	paramMatch    = "prefixMatchInfoProducerName"

	least = "least"
	most  = "most"

	defaultTTFT = 0.8
	defaultTPOT = 0.2
)

// Spec describes the plugin type.
var Spec = scorers.Spec{
	Type:  Type,
	Kinds: scorers.KindScorer,
	Params: []scorers.Param{
		weight(paramTTFT, defaultTTFT, "weight of the headroom of the time to the first token"),
		weight(paramTPOT, defaultTPOT, "weight of the headroom of the time per further token"),
		{
			Name: paramStrategy, Kind: plan.String, Default: least, Choices: []string{least, most},
			Doc: "whether the endpoints nearest to the objectives score highest, or those farthest from them",
		},
		weight(paramKV, 1, "weight of the free share of the KV cache where nothing is predicted"),
		weight(paramQueue, 1, "weight of the short queue where nothing is predicted"),
		weight(paramPrefix, 1, "weight of the prefix match where nothing is predicted"),
		{Name: paramLatency, Kind: plan.String, Default: "", Ref: "predicted-latency-producer", Doc: "name of the producer of predictions"},
		{Name: paramMatch, Kind: plan.String, Default: "", Ref: "approx-prefix-cache-producer", Doc: "name of the producer of prefix matches"},
	},
	Consumes: []scorers.Need{
		{Key: scorers.DataLatency, Param: paramLatency}, {Key: scorers.DataPrefixMatch, Param: paramMatch},
	},
	New: newScorer,
}

func weight(name string, def float64, doc string) scorers.Param {
	return scorers.Param{Name: name, Kind: plan.Number, Default: def, Min: 0, Max: math.Inf(1), Doc: doc}
}

type scorer struct {
	_ [0]func() // not comparable, for the size of the module

	ttft, tpot        float64 // sum 1
	most              bool    // more headroom is better
	kv, queue, prefix float64 // sum 1
	parity            bool
}

func newScorer(u *scorers.Setup) (any, error) {
	p := u.Params
	s := &scorer{
		ttft: p.Float(paramTTFT, defaultTTFT), tpot: p.Float(paramTPOT, defaultTPOT), most: p.String(paramStrategy, least) == most,
		kv: p.Float(paramKV, 1), queue: p.Float(paramQueue, 1), prefix: p.Float(paramPrefix, 1), parity: u.Parity,
	}
	if sum := s.ttft + s.tpot; sum > 0 {
		s.ttft, s.tpot = s.ttft/sum, s.tpot/sum
	} else {
		s.ttft, s.tpot = 1, 0
	}
	if sum := s.kv + s.queue + s.prefix; sum > 0 {
		s.kv, s.queue, s.prefix = s.kv/sum, s.queue/sum, s.prefix/sum
	} else {
		s.kv, s.queue, s.prefix = 1, 0, 0
	}
	return s, nil
}

// Score implements scorers.Scorer.
func (s *scorer) Score(c *scorers.Cycle, cand []int32, out []float64) {
	p := c.Endpoints.Predicted
	if p != nil {
		for _, slot := range cand {
			if p.Has[slot] {
				s.headroom(p, cand, out)
				return
			}
		}
	}
	s.composite(c, cand, out)
}
