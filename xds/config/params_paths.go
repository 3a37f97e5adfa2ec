package config

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/zerohop/zerohop/scorers"
	"github.com/zerohop/zerohop/shared/plan"
	"github.com/zerohop/zerohop/xds/strictyaml"
)

// inside says whether a path is outer or leads to something in it.
func inside(path, outer string) bool {
	rest, ok := strings.CutPrefix(path, outer)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// descend walks from an object down a path such as conditions[3].metric.
func descend(n strictyaml.Node, path string) strictyaml.Node {
	for part := range strings.SplitSeq(path, ".") {
		name, indices, _ := strings.Cut(part, "[")
		n = n.Field(name)
		if indices == "" || !n.IsList() {
			continue
		}
		i, err := strconv.Atoi(strings.TrimSuffix(indices, "]"))
		if list := n.List(); err == nil && i < len(list) {
			n = list[i]
		}
	}
	return n
}

// paramAt returns the declaration of the parameter at a path, or nil.
func paramAt(fields []scorers.Param, path string) *scorers.Param {
	var p *scorers.Param
	for part := range strings.SplitSeq(path, ".") {
		name, _, _ := strings.Cut(part, "[")
		i := declared(fields, name)
		if i < 0 {
			return p // the key or value of a map
		}
		p = &fields[i]
		fields = p.Fields
	}
	return p
}

// declared returns the index of the parameter called name, or -1.
func declared(fields []scorers.Param, name string) int {
	for i := range fields {
		if fields[i].Name == name {
			return i
		}
	}
	return -1
}

// suggestParam says what to write instead of an unknown parameter.
func suggestParam(word, prefix string, fields []scorers.Param, spec *scorers.Spec) string {
	names := make([]string, len(fields))
	for i := range fields {
		names[i] = fields[i].Name
	}
	if near := strictyaml.Nearest(word, names); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	switch {
	case prefix != "":
		return "known here: " + strings.Join(names, ", ")
	case len(names) == 0:
		return fmt.Sprintf("plugin type %q has no parameters", spec.Type)
	}
	return fmt.Sprintf("plugin type %q has %s", spec.Type, strings.Join(names, ", "))
}

// defaultParam notes that a parameter of a type was left open.
func (l *loader) defaultParam(path string, spec *scorers.Spec, p plan.Param) {
	doc, text := "", ""
	if d := paramAt(spec.Params, p.Name); d != nil {
		doc, text = d.Doc, valueText(p, d)
	}
	l.defaulted(path+"."+p.Name, text, "default of "+spec.Type+": "+doc)
}

// valueText writes a parameter's value as YAML.
func valueText(v plan.Param, p *scorers.Param) string {
	switch {
	case p.Duration:
		return time.Duration(v.Num).String()
	case v.Kind == plan.Bool:
		return strconv.FormatBool(v.Num != 0)
	case v.Kind == plan.String:
		return scalar(v.Str)
	}
	return numberText(v.Num)
}

// numberText writes a number as YAML. The EPP reads no exponent where it wants an integer.
func numberText(f float64) string {
	if f == math.Trunc(f) && math.Abs(f) < 1e15 {
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	return strconv.FormatFloat(f, 'g', -1, 64)
}
