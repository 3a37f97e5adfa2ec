package scorers_test

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/zerohop/zerohop/scorers"
	"github.com/zerohop/zerohop/shared/plan"
)

// tree declares parameters of every shape.
var tree = scorers.Spec{Params: []scorers.Param{
	{Name: "name", Kind: plan.String, Required: true},
	{Name: "limit", Default: nil, Min: 0, Max: math.Inf(1), MinOpen: true, Integer: true},
	{Name: "conditions", Shape: scorers.List, Limit: 3, Fields: []scorers.Param{
		{Name: "metric", Kind: plan.String, Required: true, Choices: []string{"queue", "running"}},
		{Name: "max", Default: 5.0, Max: 100},
		{Name: "of", Shape: scorers.List, Kind: plan.String},
	}},
	{Name: "values", Shape: scorers.List, Kind: plan.String},
	{Name: "labels", Shape: scorers.Map, Kind: plan.String},
	{Name: "algorithm", Shape: scorers.Object, Fields: []scorers.Param{
		{Name: "type", Kind: plan.String, Default: "linear"},
		{Name: "range", Shape: scorers.Object, Fields: []scorers.Param{
			{Name: "min", Required: true}, {Name: "max", Required: true},
		}},
		{Name: "adaptive", Shape: scorers.Object},
	}},
}}

func num(name string, v float64) plan.Param { return plan.Param{Name: name, Num: v} }

func str(name, v string) plan.Param { return plan.Param{Name: name, Kind: plan.String, Str: v} }

func yes(name string) plan.Param { return plan.Param{Name: name, Kind: plan.Bool, Num: 1} }

func TestCompleteTrees(t *testing.T) {
	name, linear := str("name", "n"), str("algorithm.type", "linear")
	tests := []struct {
		name  string
		given plan.Params
		want  plan.Params
		errs  []string
	}{
		{"least", plan.Params{name}, plan.Params{name, linear}, nil},
		{
			"elements in order of index, each with defaults",
			plan.Params{str("conditions[1].metric", "running"), num("conditions[1].max", 7), str("conditions[0].metric", "queue"), name},
			plan.Params{name, str("conditions[0].metric", "queue"), num("conditions[0].max", 5), str("conditions[1].metric", "running"), num("conditions[1].max", 7), linear},
			nil,
		},
		{
			"lists in lists, maps, objects",
			plan.Params{
				name, str("conditions[0].metric", "queue"), str("conditions[0].of[0]", "a"), str("conditions[0].of[1]", "b"), str("values[0]", ""),
				str("labels[0].key", "k"), str("labels[0].value", "v"), num("algorithm.range.min", 1), num("algorithm.range.max", 2), yes("algorithm.adaptive"),
			},
			plan.Params{
				name, str("conditions[0].metric", "queue"), num("conditions[0].max", 5), str("conditions[0].of[0]", "a"), str("conditions[0].of[1]", "b"),
				str("values[0]", ""), str("labels[0].key", "k"), str("labels[0].value", "v"), linear, num("algorithm.range.min", 1), num("algorithm.range.max", 2),
				yes("algorithm.adaptive"),
			},
			nil,
		},
		{"missing", nil, nil, []string{"name: missing"}},
		{"field of an object that is there", plan.Params{name, num("algorithm.range.max", 2)}, nil, []string{"algorithm.range.min: missing"}},
		{"gap in a list", plan.Params{name, str("values[1]", "x")}, nil, []string{"values[0]: missing"}},
		{"gap in a list of objects", plan.Params{name, str("conditions[1].metric", "queue")}, nil, []string{"conditions[0].metric: missing"}},
		{"too many", plan.Params{name, str("conditions[3].metric", "queue")}, nil, []string{"conditions: want at most 3 elements"}},
		{"far too many", plan.Params{name, str("values[2147483646]", "x")}, nil, []string{"values: want at most 64 elements"}},
		{"index beyond numbers", plan.Params{name, str("values[99999999999999999999]", "x")}, nil, []string{"values[99999999999999999999]: unknown"}},
		{"another spelling of an index", plan.Params{name, str("values[00]", "x")}, nil, []string{"values[0]: missing", "values[00]: unknown"}},
		{"choice", plan.Params{name, str("conditions[0].metric", "kv")}, nil, []string{"conditions[0].metric: want one of queue, running"}},
		{"kind in a list", plan.Params{name, num("values[0]", 1)}, nil, []string{"values[0]: want a string"}},
		{"range in a list", plan.Params{name, str("conditions[0].metric", "queue"), num("conditions[0].max", 101)}, nil, []string{"conditions[0].max: want a number from 0 to 100"}},
		{"above", plan.Params{name, num("limit", 0)}, nil, []string{"limit: want an integer above 0"}},
		{"fraction", plan.Params{name, num("limit", 1.5)}, nil, []string{"limit: want an integer above 0"}},
		{"not a number", plan.Params{name, num("limit", math.NaN())}, nil, []string{"limit: want an integer above 0"}},
		{"infinite", plan.Params{name, num("limit", math.Inf(1))}, nil, []string{"limit: want an integer above 0"}},
		{"value without key", plan.Params{name, str("labels[0].value", "v")}, nil, []string{"labels[0].key: missing"}},
		{"unknown fields", plan.Params{name, str("algorithm.kind", "x"), str("conditions[0].metric", "queue"), num("conditions[0].min", 1)}, nil, []string{"algorithm.kind: unknown", "conditions[0].min: unknown"}},
		{"object as a scalar", plan.Params{name, num("algorithm", 1)}, nil, []string{"algorithm: unknown"}},
		{"absent object said to be false", plan.Params{name, {Name: "algorithm.adaptive", Kind: plan.Bool}}, nil, []string{"algorithm.adaptive: want true"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := tree.Complete(tt.given)
			if tt.errs == nil {
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("parameters (-want +got):\n%s", diff)
				}
				return
			}
			if err == nil {
				t.Fatalf("accepted as %v", got)
			}
			if lines := strings.Split(err.Error(), "\n"); len(lines) != len(tt.errs) {
				t.Errorf("%d problems, want %d:\n%v", len(lines), len(tt.errs), err)
			}
			for _, e := range tt.errs {
				if !strings.Contains(err.Error(), e) {
					t.Errorf("error %v, want it to contain %q", err, e)
				}
			}
		})
	}
}

// TestCompleteIsStable completes what was completed: nothing changes.
func TestCompleteIsStable(t *testing.T) {
	names := []string{"name", "limit", "algorithm", "algorithm.type", "algorithm.range.min", "algorithm.adaptive", "values[0]", "values[1]", "labels[0].key", "labels[0].value", "x", "[", "values[", "conditions[].metric", "conditions[0]"}
	for i := range 3 {
		for _, field := range []string{"metric", "max", "of[0]"} {
			names = append(names, "conditions["+strconv.Itoa(i)+"]."+field)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		var given plan.Params
		for _, name := range rapid.SliceOfDistinct(rapid.SampledFrom(names), rapid.ID).Draw(t, "names") {
			p := plan.Param{Name: name, Kind: plan.ParamKind(rapid.IntRange(0, 2).Draw(t, "kind")), Num: rapid.SampledFrom([]float64{0, 1, 50, 1e9}).Draw(t, "number")}
			switch p.Kind {
			case plan.String:
				p = str(name, rapid.SampledFrom([]string{"", "queue", "running", "z"}).Draw(t, "text"))
			case plan.Bool:
				p.Num = min(p.Num, 1)
			}
			given = append(given, p)
		}
		loose := tree
		loose.LooseParams = rapid.Bool().Draw(t, "loose")
		once, err := loose.Complete(given)
		if err != nil {
			return
		}
		twice, err := loose.Complete(once)
		if err != nil {
			t.Fatalf("%v\nbecame %v, which is refused: %v", given, once, err)
		}
		if diff := cmp.Diff(once, twice); diff != "" {
			t.Fatalf("changed (-once +twice):\n%s", diff)
		}
	})
}
