// Package probabilisticadmitter provides the plugin type probabilistic-admitter: the fuller the fleet, the more requests of
// negative priority are refused.
package probabilisticadmitter

import (
	"math"

	"github.com/zerohop/zerohop/scorers"
)

// Type is the plugin type.
const Type = "probabilistic-admitter"

const (
	paramQueue = "queueDepthThreshold"
	paramKV    = "kvCacheUtilThreshold"
	paramPower = "power"
	paramK     = "k"

	defaultQueue = 5
	defaultKV    = .8
	defaultPower = 5
	defaultK     = 300
)

// Spec describes the plugin type.
var Spec = scorers.Spec{
	Type:  Type,
	Kinds: scorers.KindAdmitter,
	Params: []scorers.Param{
		{
			Name: paramQueue, Default: float64(defaultQueue), Min: 0, Max: math.Inf(1), MinOpen: true, Integer: true,
			Doc: "waiting requests at which an endpoint is saturated",
		},
		{
			Name: paramKV, Default: defaultKV, Min: 0, Max: math.Inf(1), MinOpen: true,
			Doc: "share of KV blocks in use at which an endpoint is saturated",
		},
		{
			Name: paramPower, Default: float64(defaultPower), Min: 0, Max: math.Inf(1), MinOpen: true,
			Doc: "how late refusals set in",
		},
		{Name: paramK, Default: float64(defaultK), Min: 0, Max: math.Inf(1), MinOpen: true, Doc: "how steeply they rise then"},
	},
	New: newAdmitter,
}

type admitter struct {
	_ [0]func() // not comparable, for the size of the module

	queue, kv, power, k float64
	parity              bool
}

func newAdmitter(u *scorers.Setup) (any, error) {
	u.Priority()
	return &admitter{
		queue: u.Params.Float(paramQueue, defaultQueue), kv: u.Params.Float(paramKV, defaultKV),
		power: u.Params.Float(paramPower, defaultPower), k: u.Params.Float(paramK, defaultK), parity: u.Parity,
	}, nil
}

// Admit implements scorers.Admitter.
func (a *admitter) Admit(c *scorers.Cycle, cand []int32) bool {
	if c.Request.Priority >= 0 || len(cand) == 0 {
		return true
	}
	refuse := math.Pow(a.saturation(c.Endpoints, cand), a.power) * a.k
	return !(c.Rand.Float64() < refuse)
}

// Denied implements scorers.Denier: the saturation, and the one from which on every such request is refused.
func (a *admitter) Denied(c *scorers.Cycle, cand []int32) (value, threshold float64) {
	return a.saturation(c.Endpoints, cand), math.Pow(1/a.k, 1/a.power)
}

// saturation returns the mean over the candidates. An endpoint counts as saturated while its numbers are not known.
func (a *admitter) saturation(e *scorers.Endpoints, cand []int32) float64 {
	sum := 0.0
	for _, s := range cand {
		ratio := 1.0
		if e.Fresh[s] || a.parity && e.Scraped[s] {
			if v := max(e.Queue[s]/a.queue, e.KVUsage[s]/a.kv); v == v {
				ratio = max(v, 0)
			}
		}
		sum += ratio
	}
	return sum / float64(len(cand))
}
