package config

import (
	"encoding/json"
	"math"
	"slices"
	"strings"

	"github.com/zerohop/zerohop/scorers"
	"github.com/zerohop/zerohop/shared/plan"
	"github.com/zerohop/zerohop/xds/discovery"
)

// schema is an object of JSON Schema.
type schema = map[string]any

// durationPattern is the syntax of a Go duration.
const durationPattern = `^[+-]?(0|(\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h))+$`

// JSONSchema returns the JSON Schema (2020-12) of a document of either kind, for editors. types are the plugin types of the
// filter. It accepts what Load accepts and, within an object, refuses what Load refuses; what must hold between objects, such
// as references, is left to Load.
func JSONSchema(specs []scorers.Spec) ([]byte, error) {
	t := newTypes(specs)
	root := schema{
		"$schema": "https://json-schema.org/draft/2020-12/schema",
		"title":   "zerohop: EndpointPickerConfig and ZerohopConfig",
		"oneOf":   []schema{{"$ref": "#/$defs/" + kind}, {"$ref": "#/$defs/" + zerohopKind}},
		"$defs":   schema{kind: pickerSchema(&t), zerohopKind: zerohopSchema()},
	}
	tighten(root)
	out, err := json.MarshalIndent(root, "", "  ")
	return append(out, '\n'), err
}

// pickerSchema describes an EndpointPickerConfig.
func pickerSchema(t *types) schema {
	out := document.schema("")
	fields := out["properties"].(schema)
	fields["apiVersion"] = schema{"enum": []string{apiVersion, apiVersionLegacy}}
	fields["kind"] = schema{"const": kind}
	out["required"] = []string{"apiVersion", "kind"}
	fields["plugins"].(schema)["items"] = schema{"oneOf": t.schemas()}
	fields["featureGates"].(schema)["items"].(schema)["pattern"] = gatePattern()
	profile := fields["schedulingProfiles"].(schema)["items"].(schema)
	require(profile, "name")
	require(profile["properties"].(schema)["plugins"].(schema)["items"].(schema), "pluginRef")
	return out
}

// require demands a text that is not empty.
func require(object schema, field string) {
	object["required"] = []string{field}
	object["properties"].(schema)[field].(schema)["minLength"] = 1
}

// schema describes a value.
func (s *shape) schema(doc string) schema {
	out := schema{}
	if doc != "" {
		out["description"] = doc
	}
	switch s.is {
	case aText:
		out["type"] = "string"
	case aNumber:
		out["type"] = "number"
	case aBoolean:
		out["type"] = "boolean"
	case aDuration:
		out["type"], out["pattern"] = "string", durationPattern
	case aQuantity:
		out["type"], out["pattern"] = []string{"string", "number"}, quantityPattern
	case aList:
		out["type"], out["items"] = "array", s.elem.schema("")
	case anObject:
		fields := schema{}
		for i := range s.fields {
			fields[s.fields[i].name] = s.fields[i].schema(s.fields[i].doc)
		}
		out["type"], out["properties"], out["additionalProperties"] = "object", fields, false
	}
	return out
}

// schema describes the field.
func (f *field) schema(doc string) schema {
	s := f.shape
	return s.schema(doc)
}

// schemas returns a schema for a plugin of each type, in the order of types.
func (t *types) schemas() []schema {
	var out []schema
	for _, s := range t.active {
		s.Params = append(slices.Clone(s.Params), missingParams(&s)...)
		out = append(out, pluginSchema(&s, nil, ""))
	}
	for _, name := range sortedKeys(t.known) {
		if k := t.known[name]; k.Type == name {
			out = append(out, pluginSchema(&k.Spec, k.Open, k.What))
		}
	}
	slices.SortFunc(out, func(a, b schema) int { return strings.Compare(typeOf(a), typeOf(b)) })
	return out
}

// missingParams returns the parameters of a type that the loader reads and the type does not declare.
func missingParams(s *scorers.Spec) []scorers.Param {
	return slices.DeleteFunc(specialParams(s.Type), func(p scorers.Param) bool { return declared(s.Params, p.Name) >= 0 })
}

// typeOf returns the type that a plugin's schema is about.
func typeOf(s schema) string {
	return s["properties"].(schema)["type"].(schema)["enum"].([]string)[0]
}

// pluginSchema describes a plugin of one type. idle says what is not done, if the type is not active.
func pluginSchema(s *scorers.Spec, open []string, idle string) schema {
	typ := schema{"enum": append([]string{s.Type}, s.Aliases...)}
	switch {
	case idle != "":
		typ["description"] = "known but not active in this version: " + idle
	case s.DeprecatedBy != "":
		typ["deprecated"], typ["description"] = true, "use "+s.DeprecatedBy
	}
	params := paramsSchema("", s.Params, open)
	if s.LooseParams {
		params["additionalProperties"] = true
	}
	out := objectSchema(schema{"type": typ, "name": schema{"type": "string"}, "parameters": params}, "type")
	if params["required"] != nil {
		out["required"] = []string{"type", "parameters"}
	}
	return out
}

// objectSchema describes an object with these fields and no others.
func objectSchema(fields schema, required ...string) schema {
	out := schema{"type": "object", "properties": fields, "additionalProperties": false}
	if len(required) > 0 {
		out["required"] = required
	}
	return out
}

// paramsSchema describes an object of parameters.
func paramsSchema(prefix string, fields []scorers.Param, open []string) schema {
	properties := schema{}
	var required []string
	for i := range fields {
		p := &fields[i]
		properties[p.Name] = paramSchema(prefix+p.Name, p, open)
		if p.Required {
			required = append(required, p.Name)
		}
	}
	out := schema{"type": "object", "properties": properties, "additionalProperties": false}
	if required != nil {
		out["required"] = required
	}
	return out
}

// paramSchema describes one parameter.
func paramSchema(path string, p *scorers.Param, open []string) schema {
	var out schema
	switch {
	case p.Shape == scorers.List:
		items := scalarSchema(p)
		if len(p.Fields) > 0 {
			items = paramsSchema(path+".", p.Fields, open)
		}
		out = schema{"type": "array", "items": items, "maxItems": scorers.DefaultLimit}
		if p.Limit > 0 {
			out["maxItems"] = p.Limit
		}
		if p.Required {
			out["minItems"] = 1
		}
	case p.Shape == scorers.Map:
		value := scalarSchema(p)
		optional(value)
		out = schema{"type": "object", "additionalProperties": value, "maxProperties": scorers.DefaultLimit}
		if p.Limit > 0 {
			out["maxProperties"] = p.Limit
		}
	case p.Shape == scorers.Object && slices.Contains(open, path):
		out = schema{}
	case p.Shape == scorers.Object:
		out = paramsSchema(path+".", p.Fields, open)
	default:
		out = scalarSchema(p)
		if p.Default != nil && !p.Duration {
			out["default"] = p.Default
		}
	}
	if p.Doc != "" {
		out["description"] = p.Doc
	}
	if p.Deprecated != "" {
		out["deprecated"], out["description"] = true, p.Deprecated
	}
	return out
}

// scalarSchema describes a scalar, an element of a list or a value of a map.
func scalarSchema(p *scorers.Param) schema {
	switch {
	case p.Duration:
		return schema{"type": "string", "pattern": durationPattern}
	case p.Kind == plan.Bool:
		return schema{"type": "boolean"}
	case p.Kind == plan.String && len(p.Choices) > 0:
		return schema{"enum": p.Choices}
	case p.Kind == plan.String:
		return schema{"type": "string"}
	}
	out := schema{"type": "number"}
	if p.Integer {
		out["type"] = "integer"
	}
	if p.Min == p.Max {
		return out
	}
	switch {
	case math.IsInf(p.Min, -1):
	case p.MinOpen:
		out["exclusiveMinimum"] = p.Min
	default:
		out["minimum"] = p.Min
	}
	if !math.IsInf(p.Max, 1) {
		out["maximum"] = p.Max
	}
	return out
}

// zerohopSchema describes a ZerohopConfig.
func zerohopSchema() schema {
	root := objectSchema(schema{"apiVersion": schema{"const": zerohopVersion}, "kind": schema{"const": zerohopKind}}, "apiVersion", "kind")
	for i := range settings {
		leaf := schema{"description": "default: " + settings[i].why}
		for k, v := range settings[i].form.schema {
			leaf[k] = v
		}
		place(root, settings[i].path, leaf)
	}
	place(root, pathEndpoints, schema{"type": "array", "items": objectSchema(schema{
		"name": schema{"type": "string", "minLength": 1}, "namespace": schema{"type": "string"}, "address": schema{"type": "string", "minLength": 1},
		"port": schema{"type": "string", "minLength": 1}, "labels": schema{"type": "object", "additionalProperties": schema{"type": "string"}},
	}, "name", "address", "port")})
	ttl := schema{"type": "string", "pattern": durationPattern}
	place(root, pathDNS, schema{"type": "array", "items": objectSchema(schema{
		"name": schema{"type": "string", "minLength": 1}, "type": schema{"enum": []string{discovery.DNSAddress, discovery.DNSService}}, "namespace": schema{"type": "string"},
		"ports":    schema{"type": "array", "items": schema{"type": "integer", "minimum": 1, "maximum": math.MaxUint16}},
		"resolver": schema{"type": "string"}, "minTTL": ttl, "maxTTL": ttl,
	}, "name")})
	return root
}

// place puts a field at a path of an object, whose parents it adds.
func place(root schema, path string, leaf schema) {
	names := strings.Split(path, ".")
	for _, name := range names[:len(names)-1] {
		fields := root["properties"].(schema)
		if fields[name] == nil {
			fields[name] = schema{"type": []string{"object", "null"}, "properties": schema{}, "additionalProperties": false}
		}
		root = fields[name].(schema)
	}
	root["properties"].(schema)[names[len(names)-1]] = leaf
}
