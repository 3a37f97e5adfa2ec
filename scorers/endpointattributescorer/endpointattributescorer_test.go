package endpointattributescorer

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/zerohop/zerohop/scorers/plugintest"
	"github.com/zerohop/zerohop/shared/plan"
)

func text(name, value string) plan.Param {
	return plan.Param{Name: name, Kind: plan.String, Str: value}
}

// with returns parameters for the attribute depth and more.
func with(algorithm string, more ...plan.Param) plan.Params {
	return append(plan.Params{text(paramAttribute, "depth"), text(paramType, algorithm)}, more...)
}

func fixed(lo, hi float64) []plan.Param {
	return []plan.Param{{Name: paramFixed + ".min", Num: lo}, {Name: paramFixed + ".max", Num: hi}}
}

var adaptive = plan.Param{Name: paramAdaptive, Kind: plan.Bool, Num: 1}

func TestScore(t *testing.T) {
	none, inf := math.NaN(), math.Inf(1)
	lower, higher := with(lowerIsBetter), with(higherIsBetter)
	lowerFixed, higherFixed := with(lowerIsBetter, fixed(0, 10)...), with(higherIsBetter, fixed(0, 10)...)
	tests := []struct {
		name   string
		params plan.Params
		values []float64
		want   []float64
	}{
		{"S29 lower", lower, []float64{10, 5, 0}, []float64{0, .5, 1}},
		{"S29 higher", higher, []float64{10, 5, 0}, []float64{1, .5, 0}},
		{"S30 equal", lower, []float64{7, 7}, []float64{1, 1}},
		{"S30 missing", lower, []float64{10, none, 0}, []float64{0, 0, 1}},
		{"S30 missing everywhere", lower, []float64{none, none}, []float64{0, 0}},
		{"S31", lowerFixed, []float64{10, 5, 0}, []float64{0, .5, 1}},
		{"S31 equal", lowerFixed, []float64{7, 7}, []float64{.3, .3}},
		{"S31 outside", lowerFixed, []float64{15, -5}, []float64{0, 1}},
		{"fixed higher", higherFixed, []float64{15, 7, -5, none}, []float64{1, .7, 0, 0}},
		{"adaptive in words", with(higherIsBetter, adaptive), []float64{10, 5, 0}, []float64{1, .5, 0}},
		{"equal beside missing", higher, []float64{7, none}, []float64{1, 0}},
		{"below 0", higher, []float64{-10, -5}, []float64{0, 1}},
		{"upper end infinite", higher, []float64{inf, 5, 0}, []float64{1, 0, 0}},
		{"lower end infinite", lower, []float64{-inf, 5, 9}, []float64{1, .5, 0}},
		{"ends far apart", higher, []float64{-math.MaxFloat64, 0, math.MaxFloat64}, []float64{0, .5, 1}},
		{"only max", with(lowerIsBetter, fixed(0, 4)[1:]...), []float64{1}, []float64{.75}},
		{"no endpoint", lower, nil, []float64{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var eps []plugintest.EP
			for _, v := range tt.values {
				e := plugintest.EP{Attrs: map[string]float64{"core-metrics-extractor/depth": v}}
				if math.IsNaN(v) {
					e.Attrs = nil
				}
				eps = append(eps, e)
			}
			b, err := plugintest.New(&Spec, tt.params, eps, plugintest.Req{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, b.Score(), cmpopts.EquateApprox(0, 1e-12)); diff != "" {
				t.Errorf("scores (-want +got):\n%s", diff)
			}
		})
	}
}

func TestProducer(t *testing.T) {
	eps := []plugintest.EP{{Attrs: map[string]float64{"mine/depth": 1, "core-metrics-extractor/depth": 9}}, {Attrs: map[string]float64{"mine/depth": 2}}}
	b, err := plugintest.New(&Spec, with(lowerIsBetter, text("producer", "mine")), eps, plugintest.Req{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]float64{1, 0}, b.Score()); diff != "" {
		t.Errorf("scores (-want +got):\n%s", diff)
	}
}

func TestNew(t *testing.T) {
	tests := []struct {
		name    string
		params  plan.Params
		wantErr string // empty if there is none
	}{
		{"nothing", nil, "attributeKey: missing\nalgorithm: missing"},
		{"no type", plan.Params{text(paramAttribute, "a"), adaptive}, "algorithm.type: missing"},
		{"other type", with("log_lower_is_better"), "algorithm.type: want one of linear_lower_is_better, linear_higher_is_better"},
		{"empty attribute", plan.Params{text(paramAttribute, ""), text(paramType, lowerIsBetter)}, "attributeKey: is empty"},
		{"slash", plan.Params{text(paramAttribute, "a/b"), text(paramType, lowerIsBetter)}, `attributeKey: "a/b" has a slash`},
		{"both ranges", with(lowerIsBetter, append(fixed(0, 1), adaptive)...), "algorithm.normalization: has fixedRange and adaptiveRange"},
		{"empty range", with(lowerIsBetter, fixed(1, 1)...), "algorithm.normalization.fixedRange: min must be less than max"},
		{"only min", with(lowerIsBetter, fixed(1, 1)[:1]...), "algorithm.normalization.fixedRange: min must be less than max"},
		{"two problems", append(plan.Params{text(paramAttribute, ""), text(paramType, lowerIsBetter)}, fixed(2, 1)...), "attributeKey: is empty"},
		{"fixed", with(lowerIsBetter, fixed(-1, 1)...), ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := plugintest.New(&Spec, tt.params, nil, plugintest.Req{})
			if (err == nil) != (tt.wantErr == "") || err != nil && !strings.Contains(err.Error(), tt.wantErr) {
				t.Errorf("error %v, want %q", err, tt.wantErr)
			}
		})
	}
}
