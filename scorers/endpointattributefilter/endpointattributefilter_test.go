package endpointattributefilter

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zerohop/zerohop/scorers/plugintest"
	"github.com/zerohop/zerohop/shared/plan"
)

func text(name, value string) plan.Param {
	return plan.Param{Name: name, Kind: plan.String, Str: value}
}

func threshold(operator string, more ...plan.Param) plan.Params {
	return append(plan.Params{
		text(paramAttribute, "load"), text("algorithm.type", "threshold"), text(paramOperator, operator), {Name: paramValue, Num: 10},
	}, more...)
}

// endpoints have these loads; NaN is an endpoint without the attribute.
func endpoints(load ...float64) []plugintest.EP {
	eps := make([]plugintest.EP, len(load))
	for i, v := range load {
		if v == v {
			eps[i].Attrs = map[string]float64{"core-metrics-extractor/load": v}
		}
	}
	return eps
}

func TestFilter(t *testing.T) {
	missing := math.NaN()
	pass, fail := text(paramMissing, missingPass), text(paramMissing, missingFail)
	fallback := plan.Param{Name: paramFallback, Kind: plan.Bool, Num: 1}
	tests := []struct {
		name   string
		params plan.Params
		load   []float64
		want   []int
	}{
		{"F7", threshold(opLess), []float64{5, 10, 15}, []int{0}},
		{"F8 LessThanOrEqual", threshold(opLessEqual), []float64{5, 10, 15}, []int{0, 1}},
		{"F8 GreaterThan", threshold(opGreater), []float64{5, 10, 15}, []int{2}},
		{"F8 GreaterThanOrEqual", threshold(opGreaterEqual), []float64{5, 10, 15}, []int{1, 2}},
		{"F9 Equal", threshold(opEqual), []float64{5, 10}, []int{1}},
		{"F9 NotEqual", threshold(opNotEqual), []float64{5, 10}, []int{0}},
		{"F10 Pass", threshold(opLess, pass), []float64{15, missing}, []int{1}},
		{"F10 Fail", threshold(opLess, fail), []float64{5, missing}, []int{0}},
		{"F11", threshold(opLess), []float64{15, 20}, []int{}},
		{"F11 fall back", threshold(opLess, fallback), []float64{15, 20}, []int{0, 1}},
		{"missing passes by default", threshold(opNotEqual), []float64{missing, missing}, []int{0, 1}},
		{"missing fails all, fall back", threshold(opNotEqual, fail, fallback), []float64{missing, missing}, []int{0, 1}},
		{"infinite", threshold(opLess), []float64{math.Inf(-1), math.Inf(1)}, []int{0}},
		{"no endpoint", threshold(opLess), nil, []int{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b, err := plugintest.New(&Spec, tt.params, endpoints(tt.load...), plugintest.Req{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, b.Filter()); diff != "" {
				t.Errorf("kept (-want +got):\n%s", diff)
			}
		})
	}
}

func TestParameters(t *testing.T) {
	tests := []struct {
		name   string
		params plan.Params
		want   string
	}{
		{"no attribute", threshold(opLess)[1:], "attribute: missing"},
		{"slash", append(plan.Params{text(paramAttribute, "a/b")}, threshold(opLess)[1:]...), `write attribute: "a" and producer: "b"`},
		{"no algorithm", plan.Params{text(paramAttribute, "load")}, "algorithm: missing"},
		{"other algorithm", append(threshold(opLess), text("algorithm.type", "linear")), "algorithm.type: want one of threshold"},
		{"other operator", threshold("Less"), "algorithm.threshold.operator: want one of LessThan, "},
		{"no value", threshold(opLess)[:3], "algorithm.threshold.value: missing"},
		{"other policy", threshold(opLess, text(paramMissing, "pass")), "onMissing: want one of Pass, Fail"},
	}
	for _, tt := range tests {
		_, err := plugintest.New(&Spec, tt.params, nil, plugintest.Req{})
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want %s", tt.name, err, tt.want)
		}
	}
}
