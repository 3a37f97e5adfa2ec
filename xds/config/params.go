package config

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/zerohop/zerohop/scorers"
	"github.com/zerohop/zerohop/shared/plan"
	"github.com/zerohop/zerohop/xds/config/known"
	"github.com/zerohop/zerohop/xds/strictyaml"
)

// paramReader reads the parameters of one plugin into the flat form that a plan has.
type paramReader struct {
	l    *loader
	spec *scorers.Spec
	open []string // paths of objects that are not looked into
	out  plan.Params
	bad  map[string]bool // paths of values that are reported already
}

// params reads a plugin's parameters: every declared one that is given or has a default, in the order of declaration, and
// those that are given. ok says whether the plugin can be made of them. k is nil for a type of the filter.
func (l *loader) params(n strictyaml.Node, spec *scorers.Spec, k *known.Type) (complete, given plan.Params, ok bool) {
	before := l.problems.Len()
	r := paramReader{l: l, spec: spec, bad: make(map[string]bool)}
	if k != nil {
		r.open = k.Open
	}
	if n.Exists() {
		r.object(n, "", spec.Params)
	}
	l.producerRef(n, spec)
	r.out = l.deprecatedBlockSize(n, spec, r.out)
	complete, err := spec.Complete(r.out)
	if err != nil {
		r.missing(n, err)
	}
	for i := range complete {
		if name := complete[i].Name; !r.out.Has(name) && !r.reported(name) && (k == nil || k.Active()) {
			l.defaultParam(n.Path(), spec, complete[i])
		}
	}
	return complete, r.out, l.problems.Len() == before
}

// object reads the fields of an object.
func (r *paramReader) object(n strictyaml.Node, prefix string, fields []scorers.Param) {
	if !n.IsObject() {
		r.bad[strings.TrimSuffix(prefix, ".")] = true
	}
	for _, k := range n.Keys() {
		v := n.Field(k)
		if i := declared(fields, k); i >= 0 {
			if v.Exists() {
				r.value(v, prefix+k, &fields[i])
			}
			continue
		}
		switch {
		case prefix == "" && special(r.spec.Type, k):
			// Read by prefix or producerRef, which know what it stands for.
		case r.spec.LooseParams:
			r.l.warnf(v, "has no effect; plugin type %s reads no such parameter", r.spec.Type)
		default:
			v.Problemf("unknown field %q; %s", k, suggestParam(k, prefix, fields, r.spec))
		}
	}
}

// value reads one parameter of any shape.
func (r *paramReader) value(v strictyaml.Node, path string, p *scorers.Param) {
	if p.Deprecated != "" {
		r.l.warnf(v, "is deprecated; %s", p.Deprecated)
	}
	switch {
	case p.Shape == scorers.List:
		r.list(v, path, p)
	case p.Shape == scorers.Map:
		for i, k := range v.Keys() {
			at := plan.Element(path, i)
			r.out = append(r.out, plan.Param{Name: at + ".key", Kind: plan.String, Str: k})
			if e := v.Field(k); e.Exists() {
				r.scalar(e, at+".value", p)
			} else { // the EPP takes null for what has no text
				r.out = append(r.out, plan.Param{Name: at + ".value", Kind: p.Kind})
			}
		}
		r.bad[path] = !v.IsObject()
	case p.Shape == scorers.Object && len(p.Fields) > 0:
		r.object(v, path+".", p.Fields)
	case p.Shape == scorers.Object && slices.Contains(r.open, path):
		r.out = append(r.out, plan.Param{Name: path, Kind: plan.Bool, Num: 1})
	case p.Shape == scorers.Object:
		for _, k := range v.Keys() {
			v.Field(k).Problemf("unknown field %q; %s is an object without fields, write {}", k, p.Name)
		}
		r.bad[path] = !v.IsObject()
		r.out = append(r.out, plan.Param{Name: path, Kind: plan.Bool, Num: 1})
	default:
		r.scalar(v, path, p)
	}
}

// list reads the elements of a list.
func (r *paramReader) list(v strictyaml.Node, path string, p *scorers.Param) {
	elements := v.List()
	r.bad[path] = !v.IsList()
	limit := p.Limit
	if limit == 0 {
		limit = scorers.DefaultLimit
	}
	if len(elements) > limit {
		v.Problemf("has %d elements; at most %d are possible", len(elements), limit)
		r.bad[path] = true
		return
	}
	for i, e := range elements {
		at := plan.Element(path, i)
		switch {
		case !e.Exists() || e.IsObject() && len(e.Keys()) == 0:
			e.Problemf("is empty; fill it in or remove it")
			r.bad[at] = true
		case len(p.Fields) == 0:
			r.scalar(e, at, p)
		default:
			r.object(e, at+".", p.Fields)
		}
	}
}

// scalar reads one number, boolean or string.
func (r *paramReader) scalar(v strictyaml.Node, path string, p *scorers.Param) {
	out, ok := plan.Param{Name: path, Kind: p.Kind}, false
	switch {
	case p.Duration:
		out, ok = readDuration(v, out)
	case p.Kind == plan.Bool:
		if ok = v.IsBool(); v.Bool() {
			out.Num = 1
		}
	case p.Kind == plan.String:
		out.Str, ok = v.Text(), v.IsText()
	default:
		out.Num, ok = v.Number(), v.IsNumber()
	}
	if !ok {
		r.bad[path] = true
		return
	}
	if p.Check(out) != "" {
		v.Problemf("%s", wrong(out, p))
		r.bad[path] = true
		return
	}
	r.out = append(r.out, out)
}

// readDuration reads a duration as nanoseconds.
func readDuration(v strictyaml.Node, out plan.Param) (plan.Param, bool) {
	if v.IsNumber() {
		v.Problemf("must be a duration with its unit, not the number %v; write for example 200ms", v.Number())
		return out, false
	}
	d, err := time.ParseDuration(v.Text())
	if err != nil && v.IsText() {
		v.Problemf("%q is not a duration; write for example 200ms", v.Text())
	}
	out.Num = float64(d)
	return out, err == nil
}

// wrong says why a value of the right type cannot be used.
func wrong(v plan.Param, p *scorers.Param) string {
	doc := ""
	if p.Doc != "" {
		doc = " (" + p.Doc + ")"
	}
	switch {
	case len(p.Choices) > 0:
		return fmt.Sprintf("%q is not known; %s", v.Str, strictyaml.Suggest(v.Str, p.Choices))
	case p.Duration:
		return valueText(v, p) + " does not fit; want " + spanText(p) + doc
	}
	return valueText(v, p) + " does not fit; " + p.Check(v) + doc
}

// spanText says in words which durations fit.
func spanText(p *scorers.Param) string {
	least := "a duration of at least " + time.Duration(p.Min).String()
	if p.MinOpen {
		least = "a duration above " + time.Duration(p.Min).String()
	}
	if math.IsInf(p.Max, 1) {
		return least
	}
	return least + " and at most " + time.Duration(p.Max).String()
}

// missing reports what the type itself misses, unless it misses it because of a problem that is known.
func (r *paramReader) missing(n strictyaml.Node, err error) {
	for text := range strings.SplitSeq(err.Error(), "\n") {
		path, what, _ := strings.Cut(text, ": ")
		if r.reported(path) {
			continue
		}
		if rest, ok := strings.CutPrefix(what, "missing"); ok {
			what = "is missing" + rest
			if p := paramAt(r.spec.Params, path); p != nil && p.Doc != "" {
				what += " (" + p.Doc + ")"
			}
		}
		descend(n, path).Problemf("%s", what)
	}
}

// reported says whether something is known to be wrong at a path, in it, or around it.
func (r *paramReader) reported(path string) bool {
	for bad := range maps.Keys(r.bad) {
		if r.bad[bad] && (bad == "" || inside(path, bad) || inside(bad, path)) {
			return true
		}
	}
	return false
}
