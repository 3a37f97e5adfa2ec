package bylabel

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zerohop/zerohop/scorers/plugintest"
	"github.com/zerohop/zerohop/shared/plan"
)

func params(label string, absent bool, values ...string) plan.Params {
	p := plan.Params{{Name: paramLabel, Kind: plan.String, Str: label}}
	if absent {
		p = append(p, plan.Param{Name: paramAbsent, Kind: plan.Bool, Num: 1})
	}
	for i, v := range values {
		p = append(p, plan.Param{Name: plan.Element(paramValues, i), Kind: plan.String, Str: v})
	}
	return p
}

func TestFilter(t *testing.T) {
	eps := []plugintest.EP{
		{Labels: map[string]string{"gpu": "h100"}},
		{Labels: map[string]string{"gpu": "a100", "role": "h100"}},
		{Labels: map[string]string{"role": "h100"}},
		{Labels: map[string]string{"gpu": ""}},
		{Labels: map[string]string{"gpu": "h200"}},
	}
	tests := []struct {
		name   string
		params plan.Params
		want   []int
	}{
		{"one value", params("gpu", false, "h100"), []int{0}},
		{"two values", params("gpu", false, "h100", "h200"), []int{0, 4}},
		{"or none", params("gpu", true, "h100"), []int{0, 2}},
		{"none only", params("gpu", true), []int{2}},
		{"an empty value is an absent one too", params("gpu", false, ""), []int{2, 3}},
		{"value of nobody", params("gpu", false, "b200"), []int{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b, err := plugintest.New(&Spec, tt.params, eps, plugintest.Req{})
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
	for _, tt := range []struct {
		name   string
		params plan.Params
		want   string
	}{
		{"no label", nil, "label: missing"},
		{"empty label", params("", true), "label: is empty; write the key of a label"},
		{
			"nothing to keep", params("gpu", false),
			"validValues: is empty, so no endpoint could be kept; write values, or allowsNoLabel: true",
		},
	} {
		_, err := plugintest.New(&Spec, tt.params, nil, plugintest.Req{})
		if err == nil || err.Error() != tt.want {
			t.Errorf("%s: error %v, want %s", tt.name, err, tt.want)
		}
	}
}
