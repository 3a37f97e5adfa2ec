package config

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zerohop/zerohop/scorers"
	"github.com/zerohop/zerohop/shared/plan"
	"github.com/zerohop/zerohop/xds/discovery"
)

// treeTypes are plugin types whose parameters have every shape.
var treeTypes = append(withNew([]scorers.Spec{
	{Type: "tree", Kinds: scorers.KindScorer, Params: []scorers.Param{
		{Name: "conditions", Shape: scorers.List, Required: true, Limit: 3, Doc: "what must hold", Fields: []scorers.Param{
			{Name: "metric", Kind: plan.String, Required: true, Choices: []string{"queue", "kv"}, Doc: "what is read"},
			{Name: "maxValue", Required: true, Doc: "largest value that passes"},
			{Name: "more", Shape: scorers.Object, Fields: []scorers.Param{{Name: "age", Kind: plan.Number, Default: 5.0}}},
		}},
		{Name: "names", Shape: scorers.List, Kind: plan.String},
		{Name: "labels", Shape: scorers.Map, Kind: plan.String},
		{Name: "algorithm", Shape: scorers.Object, Fields: []scorers.Param{
			{Name: "type", Kind: plan.String, Required: true, Choices: []string{"linear", "step"}},
			{Name: "adaptive", Shape: scorers.Object, Doc: "range of what there is"},
			{Name: "scale", Default: 2.0, Min: 0, MinOpen: true, Max: math.Inf(1)},
		}},
		{Name: "age", Duration: true, Default: 2e8, Min: 0, MinOpen: true, Max: math.Inf(1), Doc: "oldest that counts"},
		{Name: "count", Integer: true, Min: 1, Max: 9, Default: 1.0},
		{Name: "old", Kind: plan.Bool, Deprecated: "write count"},
	}},
}), append(testTypes, scorers.Spec{Type: "reader", Kinds: scorers.KindFilter, New: func(u *scorers.Setup) (any, error) {
	u.Label("role")
	u.Header("X-Token")
	return nil, nil
}})...)

func TestTreesOfParameters(t *testing.T) {
	c, err := Load([]byte(header+`
plugins:
- type: tree
  parameters:
    conditions: [{metric: queue, maxValue: 5}, {maxValue: 0.8, metric: kv, more: {age: 6}}]
    names: [a, b c]
    labels: {b.c/d: x, a: "yes"}
    algorithm: {type: linear, adaptive: {}}
    age: 1m
    old: true
`), treeTypes)
	if err != nil {
		t.Fatal(err)
	}
	text := func(name, s string) plan.Param { return plan.Param{Name: name, Kind: plan.String, Str: s} }
	number := func(name string, f float64) plan.Param { return plan.Param{Name: name, Num: f} }
	want := plan.Params{
		text("conditions[0].metric", "queue"), number("conditions[0].maxValue", 5), number("conditions[0].more.age", 5),
		text("conditions[1].metric", "kv"), number("conditions[1].maxValue", 0.8), number("conditions[1].more.age", 6),
		text("names[0]", "a"), text("names[1]", "b c"),
		text("labels[0].key", "a"), text("labels[0].value", "yes"), text("labels[1].key", "b.c/d"), text("labels[1].value", "x"),
		text("algorithm.type", "linear"),
		{Name: "algorithm.adaptive", Kind: plan.Bool, Num: 1},
		number("algorithm.scale", 2),
		number("age", 6e10), number("count", 1),
		{Name: "old", Kind: plan.Bool, Num: 1},
	}
	if d := cmp.Diff(want, c.Plugins[0].Parameters); d != "" {
		t.Error(d)
	}
	if got := c.Warnings; len(got) != 1 || got[0].String() != "line 12: plugins[0].parameters.old: is deprecated; write count" {
		t.Errorf("warnings: %v", got)
	}
	wantYAML := `
  parameters:
    conditions: [{metric: queue, maxValue: 5}, {metric: kv, maxValue: 0.8, more: {age: 6}}]
    names: [a, "b c"]
    labels: {a: "yes", "b.c/d": x}
    algorithm:
      type: linear
      adaptive: {}
      scale: 2 # default
    age: 1m0s
    count: 1 # default
    old: true
`
	if got := string(c.YAML()); !strings.Contains(got, wantYAML) {
		t.Errorf("the effective configuration has no %s\n%s", wantYAML, got)
	}
	sameAgain(t, c, treeTypes)
}

func TestTreesOfParametersErrors(t *testing.T) {
	tests := []struct{ name, params, want string }{
		{"nothing", "{}", "conditions: is missing; want at least one element (what must hold)"},
		{"empty list", "{conditions: []}", "conditions: is missing; want at least one element (what must hold)"},
		{"no list", "{conditions: {metric: kv}}", "conditions: must be a list, not an object"},
		{"no object", "[]", ": must be an object, not a list"},
		{"elements", "{conditions: [{metric: kv}, {metrc: kv, maxValue: 1}, {}]}", `conditions[0].maxValue: is missing (largest value that passes)
conditions[1].metrc: unknown field "metrc"; did you mean "metric"?
conditions[1].metric: is missing (what is read)
conditions[2]: is empty; fill it in or remove it`},
		{"values", "{conditions: [{metric: kvv, maxValue: \"1\"}], names: [1, null], labels: {a: 1}, age: 0s, count: 1.5}", `age: 0s does not fit; want a duration above 0s (oldest that counts)
conditions[0].maxValue: must be a number, not the string "1"
conditions[0].metric: "kvv" is not known; did you mean "kv"?
count: 1.5 does not fit; want an integer from 1 to 9
labels.a: must be a string, not the number 1; put it in quotes
names[0]: must be a string, not the number 1; put it in quotes
names[1]: is empty; fill it in or remove it`},
		{"too many", "{conditions: [{}, {}, {}, {}]}", "conditions: has 4 elements; at most 3 are possible"},
		{"object", "{conditions: [{metric: kv, maxValue: 1}], algorithm: {adaptive: {x: 1}, scale: 0}, age: 5}", `age: must be a duration with its unit, not the number 5; write for example 200ms
algorithm.adaptive.x: unknown field "x"; adaptive is an object without fields, write {}
algorithm.scale: 0 does not fit; want a number above 0
algorithm.type: is missing`},
		{"no flag", "{conditions: [{metric: kv, maxValue: 1}], algorithm: {type: step, adaptive: true}}", "algorithm.adaptive: must be an object, not true"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Load([]byte(header+"plugins: [{type: tree, parameters: "+tt.params+"}]"), treeTypes)
			if err == nil {
				t.Fatal("no error")
			}
			got := strings.ReplaceAll(err.Error(), "line 3: plugins[0].parameters", "")
			got = strings.ReplaceAll("\n"+got, "\n.", "\n")[1:]
			if d := cmp.Diff(sortedLines(tt.want), sortedLines(got)); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestPlansCarryTheLabelsThatArePluginsInputs(t *testing.T) {
	c, err := Load([]byte(header+"plugins: [{type: reader}]"), treeTypes)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(scorers.Wants{Headers: []string{"x-token"}, Labels: []string{"role"}}, c.Wants); d != "" {
		t.Error(d)
	}
	eps, err := discovery.ParseFile([]byte(`endpoints: [{name: a, address: 10.0.0.1, port: "80", labels: {role: both, other: x}}, {name: b, address: 10.0.0.2, port: "80"}]`))
	if err != nil {
		t.Fatal(err)
	}
	p := c.Plan(Settings{Endpoints: eps})
	if d := cmp.Diff([]plan.Label{{Key: "role", Value: "both"}}, p.Endpoints[0].Labels); d != "" {
		t.Error(d)
	}
	if len(p.Endpoints[1].Labels) != 0 {
		t.Errorf("labels of b: %v", p.Endpoints[1].Labels)
	}
}

func sortedLines(s string) []string {
	lines := strings.Split(s, "\n")
	for i := range lines {
		for j := range i {
			if lines[i] < lines[j] {
				lines[i], lines[j] = lines[j], lines[i]
			}
		}
	}
	return lines
}

func TestNumberText(t *testing.T) {
	for _, tt := range []struct {
		f    float64
		want string
	}{{4194304, "4194304"}, {-1e14, "-100000000000000"}, {.25, "0.25"}, {1e300, "1e+300"}} {
		if got := numberText(tt.f); got != tt.want {
			t.Errorf("%v is written %s, want %s", tt.f, got, tt.want)
		}
	}
}
