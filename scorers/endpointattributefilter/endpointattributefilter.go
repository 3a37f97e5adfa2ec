// Package endpointattributefilter provides the plugin type endpoint-attribute-filter: it keeps the endpoints of which an
// attribute compares with a value as asked.
package endpointattributefilter

import (
	"github.com/zerohop/zerohop/scorers"
	"github.com/zerohop/zerohop/scorers/attribute"
	"github.com/zerohop/zerohop/shared/plan"
)

// Type is the plugin type.
const Type = "endpoint-attribute-filter"

const (
	paramAttribute = "attribute"
	paramMissing   = "onMissing"
	paramFallback  = "fallbackOnEmpty"
	paramOperator  = "algorithm.threshold.operator"
	paramValue     = "algorithm.threshold.value"

	missingPass = "Pass"
	missingFail = "Fail"
)

// The comparisons of an attribute with the value.
const (
	opLess         = "LessThan"
	opLessEqual    = "LessThanOrEqual"
	opGreater      = "GreaterThan"
	opGreaterEqual = "GreaterThanOrEqual"
	opEqual        = "Equal"
	opNotEqual     = "NotEqual"
)

// Spec describes the plugin type.
var Spec = scorers.Spec{
	Type:      Type,
	Kinds:     scorers.KindFilter,
	Stability: "alpha",
	Params: []scorers.Param{
		{Name: paramAttribute, Kind: plan.String, Required: true, Doc: "name of the attribute"},
		attribute.Producer,
		{
			Name: paramMissing, Kind: plan.String, Default: missingPass, Choices: []string{missingPass, missingFail},
			Doc: "what becomes of an endpoint without the attribute",
		},
		{Name: paramFallback, Kind: plan.Bool, Default: false, Doc: "keep all endpoints if none would be left"},
		{Name: "algorithm", Shape: scorers.Object, Required: true, Doc: "comparison", Fields: []scorers.Param{
			{Name: "type", Kind: plan.String, Required: true, Choices: []string{"threshold"}, Doc: "kind of comparison"},
			{Name: "threshold", Shape: scorers.Object, Required: true, Doc: "comparison with one value", Fields: []scorers.Param{
				{
					Name: "operator", Kind: plan.String, Required: true, Doc: "how the attribute compares with the value",
					Choices: []string{opLess, opLessEqual, opGreater, opGreaterEqual, opEqual, opNotEqual},
				},
				{Name: "value", Required: true, Doc: "the value"},
			}},
		}},
	},
	New: newFilter,
}

type filter struct {
	_ [0]func() // not comparable, for the size of the module

	attr     scorers.AttrID
	value    float64
	less     bool // keep what is less than the value
	equal    bool
	greater  bool
	missing  bool // keep what has no value
	fallback bool
}

func newFilter(u *scorers.Setup) (any, error) {
	id, err := attribute.Ask(u, paramAttribute)
	f := &filter{
		attr: id, value: u.Params.Float(paramValue, 0),
		missing:  u.Params.String(paramMissing, missingPass) == missingPass,
		fallback: u.Params.Bool(paramFallback, false),
	}
	switch u.Params.String(paramOperator, "") {
	case opLess:
		f.less = true
	case opLessEqual:
		f.less, f.equal = true, true
	case opGreater:
		f.greater = true
	case opGreaterEqual:
		f.greater, f.equal = true, true
	case opEqual:
		f.equal = true
	case opNotEqual:
		f.less, f.greater = true, true
	}
	return f, err
}

// Filter implements scorers.Filter.
func (f *filter) Filter(c *scorers.Cycle, cand []int32) []int32 {
	column := c.Endpoints.Attr[f.attr]
	n := 0
	for i, s := range cand {
		keep := false
		switch v := column[s]; {
		case v < f.value:
			keep = f.less
		case v > f.value:
			keep = f.greater
		case v == f.value:
			keep = f.equal
		default: // NaN
			keep = f.missing
		}
		c.Pass[i] = keep
		if keep {
			n++
		}
	}
	if n == 0 && f.fallback {
		return cand
	}
	return c.Keep(cand, n)
}

// Binding implements scorers.Rule.
func (*filter) Binding() bool { return true }
