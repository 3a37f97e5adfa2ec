package config

import (
	"math"
	"slices"
	"strings"
)

// tighten completes the schema of an object and of everything in it: null stands for a field that is left out, and numbers are
// finite. YAML has .inf, which JSON Schema takes for a number.
func tighten(s schema) {
	if words := typesOf(s); slices.Contains(words, "number") && s["minimum"] == nil && s["exclusiveMinimum"] == nil {
		s["minimum"] = -math.MaxFloat64
	}
	if slices.Contains(typesOf(s), "number") && s["maximum"] == nil {
		s["maximum"] = math.MaxFloat64
	}
	required, _ := s["required"].([]string)
	for _, part := range []string{"properties", "$defs"} {
		fields, _ := s[part].(schema)
		for name, field := range fields {
			tighten(field.(schema))
			if part == "properties" && !slices.Contains(required, name) {
				optional(field.(schema))
			}
		}
	}
	for _, part := range []string{"items", "additionalProperties"} {
		if inner, ok := s[part].(schema); ok {
			tighten(inner)
		}
	}
	options, _ := s["oneOf"].([]schema)
	for _, option := range options {
		tighten(option)
	}
}

// optional lets null stand where a value may be left out.
func optional(s schema) {
	if words := typesOf(s); len(words) > 0 && !slices.Contains(words, "null") {
		s["type"] = append(words, "null")
	}
	if words, ok := s["enum"].([]string); ok {
		values := make([]any, len(words), len(words)+1)
		for i, w := range words {
			values[i] = w
		}
		s["enum"] = append(values, nil)
	}
}

// typesOf returns the types that a value may have; nil if the schema does not say.
func typesOf(s schema) []string {
	switch t := s["type"].(type) {
	case string:
		return []string{t}
	case []string:
		return slices.Clone(t)
	}
	return nil
}

// gatePattern is the syntax of a feature gate: its name, or name=value with a value as strconv.ParseBool reads it, in any case.
func gatePattern() string {
	return `^\s*(` + strings.Join(featureGates, "|") + `)\s*(=\s*(1|[tT]|[tT][rR][uU][eE]|0|[fF]|[fF][aA][lL][sS][eE])\s*)?$`
}
