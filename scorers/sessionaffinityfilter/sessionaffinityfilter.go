// Package sessionaffinityfilter provides the plugin type session-affinity-filter: only the endpoint that a request's session
// belongs to is left, if it is a candidate.
package sessionaffinityfilter

import (
	"github.com/zerohop/zerohop/scorers"
	"github.com/zerohop/zerohop/scorers/sessionaffinity"
)

// Type is the plugin type.
const Type = "session-affinity-filter"

// Spec describes the plugin type.
var Spec = scorers.Spec{
	Type:      Type,
	Kinds:     scorers.KindFilter,
	Stability: "alpha",
	Params:    sessionaffinity.Params,
	Consumes:  sessionaffinity.Consumes,
	New:       newFilter,
}

// byToken and byID have the hooks of what they embed, so that only what is needed is called. They embed no pointer: of each
// hook the module would have two copies.
type (
	byToken struct{ sessionaffinity.Token }
	byID    struct{ sessionaffinity.Bindings }
)

func newFilter(u *scorers.Setup) (any, error) {
	if sessionaffinity.ByID(u) {
		b, err := sessionaffinity.NewBindings(u)
		return &byID{*b}, err
	}
	t, err := sessionaffinity.NewToken(u)
	if err != nil {
		return nil, err
	}
	return &byToken{*t}, nil
}

// Filter implements scorers.Filter.
func (s *byToken) Filter(c *scorers.Cycle, cand []int32) []int32 {
	return only(cand, s.Choose(c, cand))
}

// Filter implements scorers.Filter.
func (s *byID) Filter(c *scorers.Cycle, cand []int32) []int32 { return only(cand, s.Choose(c, cand)) }

// only returns the chosen candidate alone, or all if there is none.
func only(cand []int32, chosen int) []int32 {
	if chosen < 0 {
		return cand
	}
	cand[0] = cand[chosen]
	return cand[:1]
}
