// Package nohitlruscorer provides the plugin type no-hit-lru-scorer: a request whose prefix no candidate holds goes to the
// endpoint that such a request went to longest ago, so that new prefixes spread over all caches.
package nohitlruscorer

import (
	"github.com/zerohop/zerohop/scorers"
	"github.com/zerohop/zerohop/shared/plan"
)

// Type is the plugin type.
const Type = "no-hit-lru-scorer"

const (
	paramSize         = "lruSize"
	paramProducer     = "prefixMatchInfoProducerName"
	paramProducerType = "prefixPluginType"
	paramProducerName = "prefixPluginName"

	defaultSize = 1024 // endpoints
	neutral     = .5
)

// Spec describes the plugin type.
var Spec = scorers.Spec{
	Type:  Type,
	Kinds: scorers.KindScorer,
	Params: []scorers.Param{
		{
			Name: paramSize, Kind: plan.Number, Integer: true, Default: float64(defaultSize),
			Doc: "endpoints whose last use is remembered; 0 and less mean 1024",
		},
		{
			Name: paramProducer, Kind: plan.String, Default: "", Ref: "approx-prefix-cache-producer",
			Doc: "name of the producer of prefix matches",
		},
		{Name: paramProducerType, Kind: plan.String, Deprecated: "write " + paramProducer, Doc: "ignored"},
		{Name: paramProducerName, Kind: plan.String, Deprecated: "write " + paramProducer, Doc: "ignored"},
	},
	Consumes: []scorers.Need{{Key: scorers.DataPrefixMatch, Param: paramProducer}},
	New:      newScorer,
}

type scorer struct {
	order    order
	position []int32 // scratch by slot

	cold   bool   // the cycle that was scored last had no match
	coldAt uint64 // when that was

	out scorers.Event // what the last pick changed; At 0 for nothing
}

func newScorer(u *scorers.Setup) (any, error) {
	size := u.Params.Float(paramSize, defaultSize)
	if !(size > 0) {
		size = defaultSize
	}
	return &scorer{order: order{limit: int(min(size, float64(u.MaxSlots)))}}, nil
}

// Score implements scorers.Scorer.
func (s *scorer) Score(c *scorers.Cycle, cand []int32, out []float64) {
	cold := true
	for _, slot := range cand {
		if c.Request.Match[slot] > 0 {
			cold = false
			break
		}
	}
	if !c.Dry {
		s.cold, s.coldAt = cold, c.Now
	}
	switch {
	case !cold:
		for i := range out {
			out[i] = neutral
		}
	case len(cand) == 1:
		out[0] = 1
	case len(cand) > 1:
		s.rank(cand, out)
	}
}

// rank scores by how long ago each candidate got a cold request: those that never did come first.
func (s *scorer) rank(cand []int32, out []float64) {
	last := float64(len(cand) - 1)
	unused := 0
	for i, slot := range cand {
		if !s.order.nodes[slot].in {
			out[i] = 1 - float64(unused)/last
			unused++
		}
	}
	if unused == len(cand) {
		return
	}
	s.order.positions(s.position)
	for i, slot := range cand {
		if s.order.nodes[slot].in {
			out[i] = max(0, 1-float64(unused+int(s.position[slot]))/last)
		}
	}
}

// Picked implements scorers.PickWatcher.
func (s *scorer) Picked(c *scorers.Cycle, slot int32, gen uint32) {
	s.out = scorers.Event{}
	if s.cold && s.coldAt == c.Now {
		s.order.touch(slot, gen, c.Now)
		s.out = scorers.Event{At: c.Now, Slot: slot, Gen: gen}
	}
	s.cold = false
}

// TakeEvent implements scorers.Sharer.
func (s *scorer) TakeEvent() (scorers.Event, bool) {
	e := s.out
	s.out = scorers.Event{}
	return e, e.At != 0
}

// Apply implements scorers.Sharer.
func (s *scorer) Apply(e scorers.Event) { s.order.touch(e.Slot, e.Gen, e.At) }

// Events implements scorers.Sharer.
func (s *scorer) Events() int { return len(s.order.nodes) }

// Event implements scorers.Sharer. The state of a slot is its last use.
func (s *scorer) Event(i int) (scorers.Event, bool) {
	o := &s.order
	return scorers.Event{At: o.nodes[i].at, Slot: int32(i), Gen: o.nodes[i].gen}, o.nodes[i].in
}

// Grow implements scorers.SlotWatcher.
func (s *scorer) Grow(slots int) {
	s.order.grow(slots)
	for len(s.position) < slots {
		s.position = append(s.position, 0)
	}
}

// Facts implements scorers.SlotWatcher. A new endpoint has never been used.
func (s *scorer) Facts(int32, *scorers.Facts) {}

// Forget implements scorers.SlotWatcher.
func (s *scorer) Forget(slot int32) { s.order.remove(slot) }

// Adopt implements scorers.Keeper.
func (s *scorer) Adopt(old any) { s.order.adopt(&old.(*scorer).order) }
