package config

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/zerohop/zerohop/scorers"
	"github.com/zerohop/zerohop/shared/plan"
	"github.com/zerohop/zerohop/xds/strictyaml"
)

// checkedParams reads a plugin's parameters and lets the type itself judge them together.
func (l *loader) checkedParams(n strictyaml.Node, spec *scorers.Spec) plan.Params {
	before := l.problems.Len()
	p := l.params(n, spec)
	if l.problems.Len() == before {
		if _, err := scorers.Alone(spec, p); err != nil {
			n.Problemf("%v", err)
		}
	}
	return p
}

// params reads a plugin's parameters: every declared one in the order of its declaration, with defaults applied.
func (l *loader) params(n strictyaml.Node, spec *scorers.Spec) plan.Params {
	out := spec.Defaults()
	for i := range out {
		if !n.Field(out[i].Name).Exists() && !supplied(n, spec, out[i].Name) {
			l.defaultParam(n.Path(), spec, out[i])
		}
	}
	if !n.Exists() {
		return out
	}
	for _, k := range n.Keys() {
		v := n.Field(k)
		if i := declared(spec, k); i >= 0 {
			if v.Exists() {
				out = set(out, readParam(v, spec.Params[i]))
			}
			continue
		}
		switch {
		case special(spec.Type, k):
			// Read by prefix or producerRef, which know what it stands for.
		case spec.LooseParams:
			l.warnf(v, "has no effect; plugin type %s reads no such parameter", spec.Type)
		default:
			v.Problemf("unknown field %q; %s", k, suggestParam(k, spec))
		}
	}
	l.producerRef(n, spec)
	l.deprecatedBlockSize(n, spec, out)
	return out
}

// readParam reads the value of a declared parameter.
func readParam(v strictyaml.Node, d scorers.Param) plan.Param {
	p := plan.Param{Name: d.Name, Kind: d.Kind}
	switch d.Kind {
	case plan.Bool:
		if v.Bool() {
			p.Num = 1
		}
	case plan.String:
		p.Str = v.Text()
	case plan.Number:
		p.Num = v.Number()
		// Equal bounds mean that the type declares none.
		if d.Min != d.Max && v.IsNumber() && (p.Num < d.Min || p.Num > d.Max) {
			v.Problemf("%v is outside %v to %v (%s)", p.Num, d.Min, d.Max, d.Doc)
		}
	}
	return p
}

// declared returns the index of the parameter called name, or -1.
func declared(spec *scorers.Spec, name string) int {
	for i := range spec.Params {
		if spec.Params[i].Name == name {
			return i
		}
	}
	return -1
}

// suggestParam says what to write instead of an unknown parameter.
func suggestParam(word string, spec *scorers.Spec) string {
	names := make([]string, len(spec.Params))
	for i := range spec.Params {
		names[i] = spec.Params[i].Name
	}
	if near := strictyaml.Nearest(word, names); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	if len(names) == 0 {
		return fmt.Sprintf("plugin type %q has no parameters", spec.Type)
	}
	return fmt.Sprintf("plugin type %q has %s", spec.Type, strings.Join(names, ", "))
}

// set puts p in the place of the parameter of its name, or at the end.
func set(params plan.Params, p plan.Param) plan.Params {
	for i := range params {
		if params[i].Name == p.Name {
			params[i] = p
			return params
		}
	}
	return append(params, p)
}

// defaultParam notes that a parameter of a type was left open.
func (l *loader) defaultParam(path string, spec *scorers.Spec, p plan.Param) {
	doc := ""
	if i := declared(spec, p.Name); i >= 0 {
		doc = spec.Params[i].Doc
	}
	l.defaulted(path+"."+p.Name, paramText(p), "default of "+spec.Type+": "+doc)
}

// paramText writes a parameter's value as YAML.
func paramText(p plan.Param) string {
	switch p.Kind {
	case plan.Bool:
		return strconv.FormatBool(p.Num != 0)
	case plan.String:
		return scalar(p.Str)
	}
	return numberText(p.Num)
}

func numberText(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }
