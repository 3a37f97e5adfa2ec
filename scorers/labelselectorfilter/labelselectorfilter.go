// Package labelselectorfilter provides the plugin type label-selector-filter: it keeps the endpoints whose labels a Kubernetes
// label selector matches.
package labelselectorfilter

import (
	"errors"

	"github.com/zerohop/zerohop/scorers"
	"github.com/zerohop/zerohop/scorers/labelmatch"
	"github.com/zerohop/zerohop/shared/plan"
)

// Type is the plugin type.
const Type = "label-selector-filter"

const (
	paramLabels      = "matchLabels"
	paramExpressions = "matchExpressions"
)

// The operators of expressions.
const (
	opIn           = "In"
	opNotIn        = "NotIn"
	opExists       = "Exists"
	opDoesNotExist = "DoesNotExist"
)

// Spec describes the plugin type.
var Spec = scorers.Spec{
	Type:    Type,
	Aliases: []string{"by-label-selector"},
	Kinds:   scorers.KindFilter,
	Params: []scorers.Param{
		{Name: paramLabels, Shape: scorers.Map, Kind: plan.String, Doc: "labels with the value that an endpoint must have"},
		{Name: paramExpressions, Shape: scorers.List, Doc: "requirements that an endpoint must meet", Fields: []scorers.Param{
			{Name: "key", Kind: plan.String, Required: true, Doc: "key of the label"},
			{
				Name: "operator", Kind: plan.String, Required: true, Choices: []string{opIn, opNotIn, opExists, opDoesNotExist},
				Doc: "relation between the label and the values",
			},
			{Name: "values", Shape: scorers.List, Kind: plan.String, Doc: "values of In and NotIn"},
		}},
	},
	New: newFilter,
}

// requirement is what one label must be like.
type requirement struct {
	id     scorers.LabelID
	op     string
	values []string
}

func newFilter(u *scorers.Setup) (any, error) {
	var all []requirement
	var problems []error
	add := func(path, key, op string, values []string, at func(i int) string) {
		if what := checkKey(key); what != "" {
			problems = append(problems, errors.New(path+": "+what))
		}
		for i, v := range values {
			if what := checkValue(v); what != "" {
				problems = append(problems, errors.New(at(i)+": "+what))
			}
		}
		all = append(all, requirement{u.Label(key), op, values})
	}
	for i := range u.Params.Len(paramLabels) {
		at := plan.Element(paramLabels, i)
		key := u.Params.String(at+".key", "")
		add(paramLabels, key, opIn, []string{u.Params.String(at+".value", "")}, func(int) string { return paramLabels + "." + key })
	}
	for i := range u.Params.Len(paramExpressions) {
		at := plan.Element(paramExpressions, i)
		op, list := u.Params.String(at+".operator", ""), at+".values"
		values := make([]string, u.Params.Len(list))
		for k := range values {
			values[k] = u.Params.String(plan.Element(list, k), "")
		}
		switch takes := op == opIn || op == opNotIn; {
		case takes && len(values) == 0:
			problems = append(problems, errors.New(list+": is empty; "+op+" needs at least one value"))
		case !takes && len(values) > 0:
			problems = append(problems, errors.New(list+": "+op+" takes no values; remove them"))
		}
		add(at+".key", u.Params.String(at+".key", ""), op, values, func(k int) string { return plan.Element(list, k) })
	}
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	return labelmatch.New(func(f *scorers.Facts) bool { return matches(all, f) }), nil
}

// matches reports whether the labels meet every requirement. What is not known yet is met.
func matches(all []requirement, f *scorers.Facts) bool {
	for i := range all {
		r := &all[i]
		value, presence := f.Label(r.id)
		if presence == scorers.Unknown {
			continue
		}
		ok, there := false, presence == scorers.Present
		switch r.op {
		case opIn:
			ok = there && labelmatch.In(value, r.values)
		case opNotIn:
			ok = !there || !labelmatch.In(value, r.values)
		case opExists:
			ok = there
		case opDoesNotExist:
			ok = !there
		}
		if !ok {
			return false
		}
	}
	return true
}
