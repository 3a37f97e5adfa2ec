package config

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zerohop/zerohop/scorers/registry"
	"github.com/zerohop/zerohop/xds/strictyaml"
)

const schemaFile = samples + "/endpointpickerconfig.schema.json"

// TestJSONSchemaIsCommitted compares the file with what "zerohop schema" prints.
func TestJSONSchemaIsCommitted(t *testing.T) {
	want, err := JSONSchema(registry.Specs())
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(got), string(want)); d != "" {
		t.Errorf("write the file again with \"zerohop schema > config/endpointpickerconfig.schema.json\": %s", d)
	}
}

// TestJSONSchemaAccepts checks that what loads is valid, and so is the effective configuration of it.
func TestJSONSchemaAccepts(t *testing.T) {
	v := newValidator(t)
	docs := map[string]string{"default": DefaultDocument, "whole": wholeDocument, "header": header}
	files, err := filepath.Glob(filepath.Join(samples, "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(filepath.Base(file), "endpoints") {
			docs[filepath.Base(file)] = string(text)
		}
	}
	for name, doc := range docs {
		t.Run(name, func(t *testing.T) {
			v.accepts(t, doc)
			c, err := Load([]byte(doc), registry.Specs())
			if err != nil {
				t.Fatal(err)
			}
			v.accepts(t, string(c.YAML()))
		})
	}
}

func TestJSONSchemaRefuses(t *testing.T) {
	v := newValidator(t)
	for _, doc := range []string{
		"plugins: [{type: queue-scorr}]",
		"plugins: [{type: prefix-cache-scorer, parameters: {matchLengthWeigt: 1}}]",
		"plugins: [{type: prefix-cache-scorer, parameters: {matchLengthWeight: 1.5}}]",
		"plugins: [{type: file-discovery}]",
		"plugins: [{type: priority-holdback-policy, parameters: {minCeiling: a}}]",
		"plugins: [{type: burst-prefix-cache-producer, parameters: {balanceBy: luck}}]",
		"plugins: [{type: burst-prefix-cache-producer, parameters: {windowDurationMs: 0.5}}]",
		"schedulingProfiles: [{name: a, plugins: [{weight: 1}]}]",
		"flowControl: {defaultRequestTTL: soon}",
		"foo: 1",
	} {
		if problems := v.problems(t, header+doc); len(problems) == 0 {
			t.Errorf("%s is valid", doc)
		}
	}
	if problems := v.problems(t, zheader+"scrape: {interval: 5}"); len(problems) == 0 {
		t.Error("a number as duration is valid")
	}
}

// TestJSONSchemaAgrees gives documents to both the schema and Load, which are to be of one opinion.
func TestJSONSchemaAgrees(t *testing.T) {
	v := newValidator(t)
	weight := func(w string) string {
		return header + "plugins: [{type: queue-scorer}]\nschedulingProfiles: [{name: a, plugins: [{pluginRef: queue-scorer, weight: " + w + "}]}]"
	}
	labels := func(n int) string {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf("l%d: x", i))
		}
		return header + "plugins: [{type: queue-scorer}, {type: label-selector-filter, parameters: {matchLabels: {" + strings.Join(all, ", ") + "}}}]"
	}
	plugin := func(text string) string { return header + "plugins: [{type: queue-scorer}, {" + text + "}]" }
	section := func(text string) string { return header + "plugins: [{type: queue-scorer}]\n" + text }
	for _, tt := range []struct {
		doc string
		ok  bool
	}{
		{weight("1"), true},
		{weight("null"), true},
		{weight("1e308"), true},
		{weight("-1e308"), true},
		{weight(".inf"), false},
		{weight("-.inf"), false},
		{weight(`"1"`), false},
		{section("featureGates: [flowControl]"), true},
		{section("featureGates: [flowControl=true, \" haPopulateNonLeaderDatastore = FALSE \"]"), true},
		{section("featureGates: [flowControl=t]"), true},
		{section("featureGates: [flowControl=yes]"), false},
		{section("featureGates: [flowcontrol]"), false},
		{section("featureGates: [other]"), false},
		{section("featureGates: null"), true},
		{labels(32), true},
		{labels(33), false},
		{plugin("type: label-selector-filter, parameters: {matchLabels: {a: null}}"), true}, // as an empty value
		{plugin("type: label-selector-filter, parameters: {matchLabels: null}"), true},
		{plugin("type: null"), false},
		{plugin(`type: ""`), false},
		{plugin("type: decode-filter, name: null, parameters: null"), true},
		{plugin("type: by-label, parameters: null"), false},
		{plugin("type: by-label, parameters: {label: null}"), false},
		{plugin("type: by-label, parameters: {label: a, validValues: [b], allowsNoLabel: null}"), true},
		{plugin("type: by-label, parameters: {label: a, validValues: [null]}"), false},
		{plugin("type: session-affinity-scorer, parameters: {strategy: null}"), true},
		{plugin("type: session-affinity-scorer, parameters: {strategy: luck}"), false},
		{plugin("type: session-affinity-scorer, parameters: {sessionIdConfig: {evictionTtlSeconds: .inf}}"), false},
		{plugin("type: session-affinity-scorer, parameters: {sessionIdConfig: {evictionTtlSeconds: 0}}"), false},
		{plugin("type: utilization-detector, parameters: {metricsStalenessThreshold: null}"), true},
		{plugin("type: utilization-detector, parameters: {metricsStalenessThreshold: 5}"), false},
		{section("flowControl: {maxBytes: null, defaultRequestTTL: null}"), true},
		{section("flowControl: {maxBytes: .inf}"), false},
		{section("schedulingProfiles: null"), true},
		{section("schedulingProfiles: [null]"), false},
		{section("schedulingProfiles: [{name: null}]"), false},
		{section(`schedulingProfiles: [{name: ""}]`), false},
		{section(`schedulingProfiles: [{name: a, plugins: [{pluginRef: ""}]}]`), false},
		{section("schedulingProfiles: [{name: a, plugins: null}]"), true},
		{section("saturationDetector: null"), true},
		{zheader + "scrape: null", true},
		{zheader + "scrape: {interval: null, engine: null, tls: null}", true},
		{zheader + "scrape: {engine: luck}", false},
		{zheader + "bounds: {endpoints: .inf}", false},
		{zheader + "bounds: {endpoints: 0.5}", false},
		{zheader + "agent: {requestsPerSecond: .inf}", false},
		{zheader + "destinationMode: null", true},
		{zheader + `destinationMode: ""`, false},
		{zheader + "objectives: null", true},
		{zheader + "objectives: [{name: a, priority: null}]", false},
		{zheader + "objectives: [{name: a, priority: 1e10}]", false},
		{zheader + "explain: {trustedNetworks: [null]}", false},
		{zheader + `explain: {trustedNetworks: [""]}`, false},
		{zheader + `discovery: {endpoints: [{name: "", address: 10.0.0.1, port: "1"}]}`, false},
		{zheader + `discovery: {dns: [{name: a, ports: [null]}]}`, false},
		{zheader + `discovery: {dns: [{name: a, ports: [80], type: null, minTTL: null}]}`, true},
	} {
		_, err := Load([]byte(tt.doc), registry.Specs())
		problems := v.problems(t, tt.doc)
		if loads, valid := err == nil, len(problems) == 0; loads != tt.ok || valid != tt.ok {
			t.Errorf("%s\nwant %v; Load: %v; schema: %q", tt.doc, tt.ok, err, problems)
		}
	}
}

// validator knows as much of JSON Schema as the generated one uses.
type validator struct{ root schema }

func newValidator(t *testing.T) *validator {
	t.Helper()
	text, err := JSONSchema(registry.Specs())
	if err != nil {
		t.Fatal(err)
	}
	v := &validator{}
	if err := json.Unmarshal(text, &v.root); err != nil {
		t.Fatal(err)
	}
	return v
}

func (v *validator) accepts(t *testing.T, doc string) {
	t.Helper()
	if problems := v.problems(t, doc); len(problems) > 0 {
		t.Errorf("%q\n%s", problems, doc)
	}
}

// problems validates every document of a text.
func (v *validator) problems(t *testing.T, text string) []string {
	t.Helper()
	var p strictyaml.Problems
	roots, err := strictyaml.ParseAll([]byte(text), &p)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, root := range roots {
		out = append(out, v.check(v.root, plainOf(root, &p), "")...)
	}
	return out
}

// plainOf returns a value as encoding/json would.
func plainOf(n strictyaml.Node, p *strictyaml.Problems) any {
	switch {
	case n.IsObject():
		m := make(map[string]any)
		for _, k := range n.Keys() {
			m[k] = plainOf(n.Field(k), p)
		}
		return m
	case n.IsList():
		l := make([]any, 0)
		for _, e := range n.List() {
			l = append(l, plainOf(e, p))
		}
		return l
	case n.IsNumber():
		before := p.Len()
		if f := n.Number(); p.Len() == before {
			return f
		}
		return math.Inf(1) // of either sign
	case n.IsBool():
		return n.Bool()
	case n.IsText():
		return n.Text()
	}
	return nil
}

func (v *validator) check(s schema, value any, path string) (problems []string) {
	fail := func(format string, args ...any) { problems = append(problems, path+": "+fmt.Sprintf(format, args...)) }
	for keyword, arg := range s {
		switch keyword {
		case "$schema", "title", "$defs", "description", "default", "deprecated", "additionalProperties":
		case "$ref":
			name := strings.TrimPrefix(arg.(string), "#/$defs/")
			problems = append(problems, v.check(v.root["$defs"].(schema)[name].(schema), value, path)...)
		case "oneOf":
			fits, nearest := 0, []string(nil)
			for _, option := range arg.([]any) {
				found := v.check(option.(schema), value, path)
				if len(found) == 0 {
					fits++
				} else if nearest == nil || len(found) < len(nearest) {
					nearest = found
				}
			}
			if fits != 1 {
				fail("%d of oneOf fit; %v", fits, nearest)
			}
		case "type":
			if !slices.ContainsFunc(oneOrMore(arg), func(typ string) bool { return isType(typ, value) }) {
				fail("%v is no %v", value, arg)
			}
		case "enum":
			if !slices.Contains(arg.([]any), value) {
				fail("%v is none of %v", value, arg)
			}
		case "const":
			if value != arg {
				fail("%v is not %v", value, arg)
			}
		case "pattern":
			if text, ok := value.(string); ok && !regexp.MustCompile(arg.(string)).MatchString(text) {
				fail("%q does not match", text)
			}
		case "minimum", "exclusiveMinimum", "maximum":
			f, ok := value.(float64)
			bound := arg.(float64)
			if ok && (keyword == "minimum" && f < bound || keyword == "exclusiveMinimum" && f <= bound || keyword == "maximum" && f > bound) {
				fail("%v is beyond %s %v", f, keyword, bound)
			}
		case "minLength":
			if text, ok := value.(string); ok && float64(len(text)) < arg.(float64) {
				fail("%q is too short", text)
			}
		case "maxProperties":
			if m, ok := value.(map[string]any); ok && float64(len(m)) > arg.(float64) {
				fail("%d fields", len(m))
			}
		case "minItems", "maxItems":
			if l, ok := value.([]any); ok && (keyword == "minItems") == (float64(len(l)) < arg.(float64)) && float64(len(l)) != arg.(float64) {
				fail("%d elements", len(l))
			}
		case "required":
			for _, name := range arg.([]any) {
				if m, ok := value.(map[string]any); ok && m[name.(string)] == nil {
					fail("%s is missing", name)
				}
			}
		case "items":
			if l, ok := value.([]any); ok {
				for i := range l {
					problems = append(problems, v.check(arg.(schema), l[i], fmt.Sprintf("%s[%d]", path, i))...)
				}
			}
		case "properties":
			problems = append(problems, v.fields(s, value, path)...)
		default:
			fail("the validator does not know %s", keyword)
		}
	}
	if s["properties"] == nil {
		problems = append(problems, v.fields(s, value, path)...)
	}
	return problems
}

// fields checks the fields of an object, the others by additionalProperties.
func (v *validator) fields(s schema, value any, path string) (problems []string) {
	m, ok := value.(map[string]any)
	if !ok {
		return nil
	}
	known, _ := s["properties"].(schema)
	for name, field := range m {
		if sub, ok := known[name].(schema); ok {
			problems = append(problems, v.check(sub, field, path+"."+name)...)
			continue
		}
		switch others := s["additionalProperties"].(type) {
		case bool:
			if !others {
				problems = append(problems, path+"."+name+": unknown")
			}
		case schema:
			problems = append(problems, v.check(others, field, path+"."+name)...)
		}
	}
	return problems
}

// oneOrMore returns a keyword's argument that is one word or a list of them.
func oneOrMore(arg any) []string {
	if s, ok := arg.(string); ok {
		return []string{s}
	}
	var out []string
	for _, w := range arg.([]any) {
		out = append(out, w.(string))
	}
	return out
}

func isType(typ string, value any) bool {
	switch x := value.(type) {
	case map[string]any:
		return typ == "object"
	case []any:
		return typ == "array"
	case float64:
		return typ == "number" || typ == "integer" && x == float64(int64(x))
	case bool:
		return typ == "boolean"
	case string:
		return typ == "string"
	}
	return typ == "null"
}
