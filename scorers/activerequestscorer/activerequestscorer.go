// Package activerequestscorer provides the plugin type active-request-scorer: the fewer requests are in flight
// at an endpoint, the higher it scores.
package activerequestscorer

import (
	"github.com/zerohop/zerohop/scorers"
	"github.com/zerohop/zerohop/shared/plan"
)

// Type is the plugin type.
const Type = "active-request-scorer"

const (
	paramIdle     = "idleThreshold"
	paramBusy     = "maxBusyScore"
	paramProducer = "inFlightLoadProducerName"
	paramTimeout  = "requestTimeout"
)

// Spec describes the plugin type.
var Spec = scorers.Spec{
	Type:  Type,
	Kinds: scorers.KindScorer,
	Params: []scorers.Param{
		{Name: paramIdle, Kind: plan.Number, Integer: true, Default: 0.0, Doc: "requests in flight up to which an endpoint counts as idle and scores 1"},
		{Name: paramBusy, Kind: plan.Number, Default: 1.0, Doc: "upper end of the scores of endpoints that are not idle; outside of 0 to 1 it is 1"},
		{Name: paramProducer, Kind: plan.String, Default: "", Ref: "inflight-load-producer", Doc: "name of the inflight-load-producer to read"},
		{
			Name: paramTimeout, Kind: plan.String, Deprecated: "remove it, requests count until they end",
			Doc: "ignored",
		},
	},
	Consumes: []scorers.Need{{Key: scorers.DataInFlight, Param: paramProducer}},
	New:      newScorer,
}

type scorer struct {
	idle float64 // requests
	busy float64
}

func newScorer(u *scorers.Setup) (any, error) {
	s := &scorer{idle: u.Params.Float(paramIdle, 0), busy: u.Params.Float(paramBusy, 1)}
	if !(s.busy >= 0 && s.busy <= 1) {
		s.busy = 1
	}
	return s, nil
}

// Score implements scorers.Scorer.
func (s *scorer) Score(c *scorers.Cycle, cand []int32, out []float64) {
	inFlight := c.Endpoints.InFlight
	most := int32(0)
	for _, slot := range cand {
		most = max(most, inFlight[slot])
	}
	for i, slot := range cand {
		// A threshold below 0 makes an endpoint busy that has nothing; where none has anything, all are as good.
		if n := max(inFlight[slot], 0); most == 0 || float64(n) <= s.idle {
			out[i] = 1
		} else {
			out[i] = float64(most-n) / float64(most) * s.busy
		}
	}
}
