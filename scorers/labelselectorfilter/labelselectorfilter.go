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
		{Name: paramLabels, Shape: scorers.Map, Kind: plan.String, Limit: scorers.MaxLabels, Doc: "labels with the value that an endpoint must have"},
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
	r := reader{u: u}
	for i := range u.Params.Len(paramLabels) {
		at := plan.Element(paramLabels, i)
		key := r.text(at + ".key")
		r.key(paramLabels, key)
		r.value(paramLabels+"."+key, r.text(at+".value"))
		r.all = append(r.all, requirement{u.Label(key), opIn, []string{r.text(at + ".value")}})
	}
	for i := range u.Params.Len(paramExpressions) {
		r.expression(plan.Element(paramExpressions, i))
	}
	all := r.all
	return labelmatch.New(func(f *scorers.Facts) bool { return matches(all, f) }), errors.Join(r.problems...)
}

// reader collects the requirements of a selector, and what is wrong with it.
type reader struct {
	u        *scorers.Setup
	all      []requirement
	problems []error
}

// problem is not inlined, and nor are the two that call it: they have several callers that run once for a configuration.
//
//go:noinline
func (r *reader) problem(path, what string) {
	r.problems = append(r.problems, errors.New(path+": "+what))
}

func (r *reader) text(name string) string { return r.u.Params.String(name, "") }

//go:noinline
func (r *reader) key(path, key string) {
	if what := checkKey(key); what != "" {
		r.problem(path, what)
	}
}

//go:noinline
func (r *reader) value(path, value string) {
	if what := checkValue(value); what != "" {
		r.problem(path, what)
	}
}

// expression reads the element of matchExpressions called at.
func (r *reader) expression(at string) {
	key, op, list := r.text(at+".key"), r.text(at+".operator"), at+".values"
	r.key(at+".key", key)
	values := make([]string, r.u.Params.Len(list))
	for i := range values {
		name := plan.Element(list, i)
		values[i] = r.text(name)
		r.value(name, values[i])
	}
	switch takes := op == opIn || op == opNotIn; {
	case takes && len(values) == 0:
		r.problem(list, "is empty; "+op+" needs at least one value")
	case !takes && len(values) > 0:
		r.problem(list, op+" takes no values; remove them")
	}
	r.all = append(r.all, requirement{r.u.Label(key), op, values})
}

// matches reports whether the labels meet every requirement. What is not known yet is met.
func matches(all []requirement, f *scorers.Facts) bool {
	for i := range all {
		r := &all[i]
		value, presence := f.Label(r.id)
		if presence == scorers.Unknown {
			continue
		}
		holds := presence == scorers.Present
		if r.op == opIn || r.op == opNotIn {
			holds = holds && labelmatch.In(value, r.values)
		}
		if negated := r.op == opNotIn || r.op == opDoesNotExist; holds == negated {
			return false
		}
	}
	return true
}
