// Package loraaffinityscorer provides the plugin type lora-affinity-scorer: endpoints that have loaded the adapter of a request
// score highest, and after them those that have room for it.
package loraaffinityscorer

import "github.com/zerohop/zerohop/scorers"

// Type is the plugin type.
const Type = "lora-affinity-scorer"

// The scores, best first.
const (
	loaded  = 1.0
	room    = 0.8
	waiting = 0.6 // requests wait for the adapter already
	neutral = 0.5 // nobody knows
	full    = 0.0
)

// Spec describes the plugin type.
var Spec = scorers.Spec{
	Type:        Type,
	Kinds:       scorers.KindScorer,
	LooseParams: true,
	New: func(u *scorers.Setup) (any, error) {
		u.LoRA()
		return &scorer{parity: u.Parity}, nil
	},
}

type scorer struct {
	parity bool // what was scraped last counts, however old it is
}

// Score implements scorers.Scorer.
func (s *scorer) Score(c *scorers.Cycle, cand []int32, out []float64) {
	e, model := c.Endpoints, c.Request.ModelHash
	some, stale := false, uint32(0)
	for i, slot := range cand {
		known := e.Adapters.IsKnown(slot)
		some = some || known
		switch {
		case !s.parity && !e.Fresh[slot] && (known || !e.Scraped[slot]):
			out[i] = neutral
			stale++
		case known:
			out[i] = rate(e, slot, model)
		default:
			out[i] = full
		}
	}
	if !some {
		// None of these engines has adapters. An endpoint that was never scraped is none the better for it.
		clear(out)
		return
	}
	c.Neutral += stale
}

// rate scores an endpoint that reports its adapters. Room counts before a queue for the adapter, as in the EPP.
func rate(e *scorers.Endpoints, slot int32, model uint64) float64 {
	known := model != 0
	switch {
	case known && e.Adapters.Has(slot, model):
		return loaded
	case len(e.Adapters.Of(slot))+len(e.WaitingAdapters.Of(slot)) < int(e.MaxLoRA[slot]):
		return room
	case known && e.WaitingAdapters.Has(slot, model):
		return waiting
	}
	return full
}
