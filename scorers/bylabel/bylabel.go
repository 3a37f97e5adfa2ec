// Package bylabel provides the plugin type by-label: it keeps the endpoints with certain values of one label.
package bylabel

import (
	"errors"
	"slices"

	"github.com/zerohop/zerohop/scorers"
	"github.com/zerohop/zerohop/scorers/labelmatch"
	"github.com/zerohop/zerohop/shared/plan"
)

// Type is the plugin type.
const Type = "by-label"

const (
	paramLabel  = "label"
	paramValues = "validValues"
	paramAbsent = "allowsNoLabel"
)

// Spec describes the plugin type.
var Spec = scorers.Spec{
	Type:         Type,
	Kinds:        scorers.KindFilter,
	DeprecatedBy: "label-selector-filter, or decode-filter, prefill-filter and encode-filter for roles",
	Params: []scorers.Param{
		{Name: paramLabel, Kind: plan.String, Required: true, Doc: "key of the label"},
		{Name: paramValues, Shape: scorers.List, Kind: plan.String, Doc: "values of endpoints to keep"},
		{Name: paramAbsent, Kind: plan.Bool, Default: false, Doc: "keep endpoints without the label"},
	},
	New: newFilter,
}

func newFilter(u *scorers.Setup) (any, error) {
	label, absent := u.Params.String(paramLabel, ""), u.Params.Bool(paramAbsent, false)
	values := make([]string, u.Params.Len(paramValues))
	for i := range values {
		values[i] = u.Params.String(plan.Element(paramValues, i), "")
	}
	switch {
	case label == "":
		return nil, errors.New(paramLabel + ": is empty; write the key of a label")
	case len(values) == 0 && !absent:
		return nil, errors.New(paramValues + ": is empty, so no endpoint could be kept; write values, or " + paramAbsent + ": true")
	}
	// The EPP reads an absent label as an empty one where it looks the value up.
	return labelmatch.ByValue(u.Label(label), absent || slices.Contains(values, ""), values...), nil
}
