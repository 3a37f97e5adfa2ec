// Package sessionaffinityscorer provides the plugin type session-affinity-scorer: the endpoint that a request's session belongs
// to scores 1, all others 0.
package sessionaffinityscorer

import (
	"github.com/zerohop/zerohop/scorers"
	"github.com/zerohop/zerohop/scorers/sessionaffinity"
)

// Type is the plugin type.
const Type = "session-affinity-scorer"

// Spec describes the plugin type.
var Spec = scorers.Spec{
	Type:      Type,
	Kinds:     scorers.KindScorer,
	Stability: "alpha",
	Params:    sessionaffinity.Params,
	Consumes:  sessionaffinity.Consumes,
	New:       newScorer,
}

// byToken and byID have the hooks of what they embed, so that only what is needed is called. They embed no pointer: of each
// hook the module would have two copies.
type (
	byToken struct{ sessionaffinity.Token }
	byID    struct{ sessionaffinity.Bindings }
)

func newScorer(u *scorers.Setup) (any, error) {
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

// Score implements scorers.Scorer.
func (s *byToken) Score(c *scorers.Cycle, cand []int32, out []float64) { mark(out, s.Choose(c, cand)) }

// Score implements scorers.Scorer.
func (s *byID) Score(c *scorers.Cycle, cand []int32, out []float64) { mark(out, s.Choose(c, cand)) }

// mark writes 1 at the chosen place and 0 elsewhere.
func mark(out []float64, chosen int) {
	clear(out)
	if chosen >= 0 {
		out[chosen] = 1
	}
}
