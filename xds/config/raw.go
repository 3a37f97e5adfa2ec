package config

import (
	"strconv"
	"strings"

	"github.com/zerohop/zerohop/xds/strictyaml"
)

// rawSections returns, as YAML, the sections that a document has beside plugins and profiles, with what stands in deprecated
// places put where it belongs.
func rawSections(root strictyaml.Node) []string {
	var lines []string
	if gates := root.Field("featureGates"); gates.Exists() {
		lines = append(lines, "featureGates: "+flowOf(gates))
	}
	for _, name := range []string{"dataLayer", "flowControl", "requestHandler"} {
		var fields []string
		n := root.Field(name)
		if n.IsObject() {
			for _, k := range n.Keys() {
				if f := n.Field(k); f.Exists() {
					fields = append(fields, "  "+k+": "+flowOf(f))
				}
			}
		}
		if old := root.Field("saturationDetector"); name == "flowControl" && old.Exists() && !n.Field("saturationDetector").Exists() {
			fields = append(fields, "  saturationDetector: "+flowOf(old))
		}
		if old := root.Field("parser"); name == "requestHandler" && old.Exists() && !n.Field("parsers").Exists() {
			fields = append(fields, "  parsers: ["+flowOf(old)+"]")
		}
		if len(fields) > 0 {
			lines = append(append(lines, name+":"), fields...)
		}
	}
	return lines
}

// flowOf returns a value as YAML on one line. Null, which counts as absent, is left out of objects.
func flowOf(n strictyaml.Node) string {
	var parts []string
	switch {
	case n.IsObject():
		for _, k := range n.Keys() {
			if f := n.Field(k); f.Exists() {
				parts = append(parts, scalar(k)+": "+flowOf(f))
			}
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case n.IsList():
		for _, e := range n.List() {
			parts = append(parts, flowOf(e))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case n.IsNumber():
		return numberText(n.Number())
	case n.IsBool():
		return strconv.FormatBool(n.Bool())
	case n.IsText():
		return scalar(n.Text())
	}
	return "null"
}
