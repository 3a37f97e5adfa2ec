// Package endpointattributescorer provides the plugin type endpoint-attribute-scorer: endpoints score by one number that is
// known of them, the lower or the higher the better.
package endpointattributescorer

import (
	"errors"
	"math"

	"github.com/zerohop/zerohop/scorers"
	"github.com/zerohop/zerohop/scorers/attribute"
	"github.com/zerohop/zerohop/shared/plan"
)

// Type is the plugin type.
const Type = "endpoint-attribute-scorer"

const (
	paramAttribute     = "attributeKey"
	paramType          = "algorithm.type"
	paramNormalization = "algorithm.normalization"
	paramFixed         = paramNormalization + ".fixedRange"
	paramAdaptive      = paramNormalization + ".adaptiveRange"

	lowerIsBetter  = "linear_lower_is_better"
	higherIsBetter = "linear_higher_is_better"
)

// Spec describes the plugin type.
var Spec = scorers.Spec{
	Type:      Type,
	Kinds:     scorers.KindScorer,
	Stability: "alpha",
	Params: []scorers.Param{
		{Name: paramAttribute, Kind: plan.String, Required: true, Doc: "name of the attribute"},
		attribute.Producer,
		{Name: "algorithm", Shape: scorers.Object, Required: true, Doc: "how the attribute becomes a score", Fields: []scorers.Param{
			{
				Name: "type", Kind: plan.String, Required: true, Choices: []string{lowerIsBetter, higherIsBetter},
				Doc: "which end of the range scores 1",
			},
			{Name: "normalization", Shape: scorers.Object, Doc: "range; by default that of the candidates", Fields: []scorers.Param{
				{Name: "fixedRange", Shape: scorers.Object, Doc: "range from min to max", Fields: []scorers.Param{
					{Name: "min", Kind: plan.Number, Doc: "lower end, 0 if it is left out"},
					{Name: "max", Kind: plan.Number, Doc: "upper end, 0 if it is left out"},
				}},
				{Name: "adaptiveRange", Shape: scorers.Object, Doc: "range of the candidates that have the attribute"},
			}},
		}},
	},
	New: newScorer,
}

type scorer struct {
	attr  scorers.AttrID
	lower bool // the lower end scores 1
	fixed bool
	lo    float64 // of the fixed range
	hi    float64
}

func newScorer(u *scorers.Setup) (any, error) {
	id, err := attribute.Ask(u, paramAttribute)
	s := &scorer{
		attr: id, lower: u.Params.String(paramType, lowerIsBetter) == lowerIsBetter, fixed: u.Params.Has(paramFixed),
		lo: u.Params.Float(paramFixed+".min", 0), hi: u.Params.Float(paramFixed+".max", 0),
	}
	switch {
	case s.fixed && u.Params.Has(paramAdaptive):
		err = errors.Join(err, errors.New(paramNormalization+": has fixedRange and adaptiveRange; keep one"))
	case s.fixed && !(s.lo < s.hi):
		err = errors.Join(err, errors.New(paramFixed+": min must be less than max"))
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Score implements scorers.Scorer.
func (s *scorer) Score(c *scorers.Cycle, cand []int32, out []float64) {
	column := c.Endpoints.Attr[s.attr]
	lo, hi := s.lo, s.hi
	if !s.fixed {
		lo, hi = span(column, cand)
	}
	for i, slot := range cand {
		v := column[slot]
		switch {
		case v != v: // NaN: the endpoint has no such attribute
			out[i] = 0
			continue
		case !(lo < hi): // a range of the candidates: all that have the attribute are equal
			out[i] = 1
			continue
		}
		score := share(v, lo, hi)
		if s.lower {
			score = 1 - score
		}
		out[i] = score
	}
}

// span returns the least and the greatest value. lo is above hi if no candidate has one.
func span(column []float64, cand []int32) (lo, hi float64) {
	lo, hi = math.Inf(1), math.Inf(-1)
	for _, slot := range cand {
		v := column[slot]
		if v < lo {
			lo = v
		}
		if v > hi {
			hi = v
		}
	}
	return lo, hi
}

// share returns how far v is on the way from lo to hi, limited to the range. Infinite ends, and ends so far apart that their
// distance is infinite, leave the others at one of them or in the middle.
func share(v, lo, hi float64) float64 {
	switch {
	case v <= lo:
		return 0
	case v >= hi:
		return 1
	}
	// In halves the distance of finite ends cannot overflow.
	if x := (v/2 - lo/2) / (hi/2 - lo/2); x >= 0 && x <= 1 {
		return x
	}
	return .5 // both ends are infinite, or the lower one is
}
