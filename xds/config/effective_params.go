package config

import (
	"strings"

	"github.com/zerohop/zerohop/scorers"
	"github.com/zerohop/zerohop/shared/plan"
)

// parameters writes the parameters of a plugin in the form in which they are declared, one field of an object a line. A plan
// has them flat. path is that of the object in the document, prefix its name among params.
func (w *yamlWriter) parameters(indent int, path, prefix string, fields []scorers.Param, params plan.Params) {
	for i := range fields {
		p := &fields[i]
		name := prefix + p.Name
		switch {
		case p.Shape == scorers.Object && len(p.Fields) > 0:
			if w.given(path, name, params) {
				w.line(indent, p.Name+":", "")
				w.parameters(indent+1, path, name+".", p.Fields, params)
			}
		case params.Has(name):
			w.line(indent, p.Name+": "+w.flow(path, name, p, params), path+"."+name)
		}
	}
}

// given says whether anything in an object is not there by default alone. An object that is absent has defaults too, but if
// it were written, its required fields would be missing.
func (w *yamlWriter) given(path, name string, params plan.Params) bool {
	for i := range params {
		if strings.HasPrefix(params[i].Name, name+".") && !w.defaults[path+"."+params[i].Name] {
			return true
		}
	}
	return false
}

// flow returns a value on one line.
func (w *yamlWriter) flow(path, name string, p *scorers.Param, params plan.Params) string {
	var parts []string
	switch p.Shape {
	case scorers.List:
		for i := range params.Len(name) {
			at := plan.Element(name, i)
			if len(p.Fields) > 0 {
				parts = append(parts, w.flowObject(path, at, p.Fields, params))
			} else {
				parts = append(parts, scalarOf(at, p, params))
			}
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case scorers.Map:
		for i := range params.Len(name) {
			at := plan.Element(name, i)
			parts = append(parts, scalar(params.String(at+".key", ""))+": "+scalarOf(at+".value", p, params))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case scorers.Object:
		return w.flowObject(path, name, p.Fields, params)
	default:
		return scalarOf(name, p, params)
	}
}

func (w *yamlWriter) flowObject(path, name string, fields []scorers.Param, params plan.Params) string {
	var parts []string
	for i := range fields {
		f := &fields[i]
		inner := name + "." + f.Name
		absent := f.Shape == scorers.Object && len(f.Fields) > 0 && !w.given(path, inner, params)
		if params.Has(inner) && !absent {
			parts = append(parts, f.Name+": "+w.flow(path, inner, f, params))
		}
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// scalarOf returns the scalar called name as YAML.
func scalarOf(name string, p *scorers.Param, params plan.Params) string {
	for i := range params {
		if params[i].Name == name {
			return valueText(params[i], p)
		}
	}
	return "null"
}
