// Package servedmodelfilter provides the plugin type served-model-filter: endpoints that are known not to serve the requested
// model are no candidates.
package servedmodelfilter

import (
	"github.com/zerohop/zerohop/scorers"
	"github.com/zerohop/zerohop/shared/plan"
)

// Type is the plugin type.
const Type = "served-model-filter"

const (
	paramUnknown  = "onUnknown"
	paramFallback = "fallbackOnEmpty"

	unknownPass = "pass"
	unknownFail = "fail"
)

// Spec describes the plugin type.
var Spec = scorers.Spec{
	Type:  Type,
	Kinds: scorers.KindFilter,
	Params: []scorers.Param{
		{
			Name: paramUnknown, Kind: plan.String, Default: unknownPass, Choices: []string{unknownPass, unknownFail},
			Doc: "what becomes of an endpoint whose models are not known",
		},
		{Name: paramFallback, Kind: plan.Bool, Default: false, Doc: "keep all endpoints if none would be left"},
	},
	New: newFilter,
}

type filter struct {
	unknown  bool // keep endpoints whose models are not known
	fallback bool
}

func newFilter(u *scorers.Setup) (any, error) {
	u.Models()
	u.LoRA()
	return &filter{u.Params.String(paramUnknown, unknownPass) == unknownPass, u.Params.Bool(paramFallback, false)}, nil
}

// Filter implements scorers.Filter.
func (f *filter) Filter(c *scorers.Cycle, cand []int32) []int32 {
	model := c.Request.ModelHash
	if model == 0 {
		return cand
	}
	e, n := c.Endpoints, 0
	unknown := f.unknown || !e.Models.Asked
	for i, s := range cand {
		keep := e.Models.Has(s, model) || unknown && !e.Models.IsKnown(s) ||
			e.Adapters.Has(s, model) || e.WaitingAdapters.Has(s, model)
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
