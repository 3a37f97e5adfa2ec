package config

import (
	"github.com/zerohop/zerohop/scorers"
	"github.com/zerohop/zerohop/shared/plan"
	"github.com/zerohop/zerohop/xds/strictyaml"
)

// defaults returns every declared parameter of spec with its default.
func defaults(spec *scorers.Spec) plan.Params { return spec.Defaults() }

// checkedParams reads a plugin's parameters and lets the type itself judge them together.
func (l *loader) checkedParams(n strictyaml.Node, spec *scorers.Spec) plan.Params {
	before := l.problems.Len()
	p := l.params(n, spec)
	if l.problems.Len() == before {
		if _, err := spec.New(p); err != nil {
			n.Problemf("%v", err)
		}
	}
	return p
}

// params reads a plugin's parameters: every declared one in the order of its declaration, with defaults applied.
func (l *loader) params(n strictyaml.Node, spec *scorers.Spec) plan.Params {
	out := defaults(spec)
	if !n.Exists() {
		return out
	}
	for _, k := range n.Keys() {
		v := n.Field(k)
		if i := declared(spec, k); i >= 0 {
			if v.Exists() {
				out[i] = readParam(v, spec.Params[i])
			}
			continue
		}
		switch {
		case special(spec.Type, k):
			// Read by prefix or producerRef, which know what it stands for.
		case spec.LooseParams:
			l.warnf(v, "has no effect; plugin type "+spec.Type+" reads no such parameter")
		default:
			v.Problemf("unknown field %q; plugin type %q has %s", k, spec.Type, paramNames(spec))
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

func paramNames(spec *scorers.Spec) string {
	if len(spec.Params) == 0 {
		return "no parameters"
	}
	s := ""
	for i, p := range spec.Params {
		if i > 0 {
			s += ", "
		}
		s += p.Name
	}
	return s
}
