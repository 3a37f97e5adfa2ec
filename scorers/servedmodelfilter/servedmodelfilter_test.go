package servedmodelfilter

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zerohop/zerohop/scorers/plugintest"
	"github.com/zerohop/zerohop/shared/plan"
)

func TestFilter(t *testing.T) {
	eps := []plugintest.EP{
		{Models: []string{"llama", "qwen"}},
		{Models: []string{"qwen"}},
		{},                   // not known
		{Models: []string{}}, // serves nothing yet
		{Models: []string{"qwen"}, Active: []string{"llama"}},
		{Models: []string{"qwen"}, WaitingModels: []string{"llama"}},
	}
	fail := plan.Param{Name: paramUnknown, Kind: plan.String, Str: unknownFail}
	fallback := plan.Param{Name: paramFallback, Kind: plan.Bool, Num: 1}
	tests := []struct {
		name   string
		params plan.Params
		model  string
		want   []int
	}{
		{"served, unknown, adapter in use or waited for", nil, "llama", []int{0, 2, 4, 5}},
		{"unknown fails", plan.Params{fail}, "llama", []int{0, 4, 5}},
		{"served by most", plan.Params{fail}, "qwen", []int{0, 1, 4, 5}},
		{"case counts", plan.Params{fail}, "Llama", []int{}},
		{"served by none", nil, "gpt", []int{2}},
		{"served by none, unknown fails", plan.Params{fail}, "gpt", []int{}},
		{"served by none, fall back", plan.Params{fail, fallback}, "gpt", []int{0, 1, 2, 3, 4, 5}},
		{"no model", plan.Params{fail}, "", []int{0, 1, 2, 3, 4, 5}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b, err := plugintest.New(&Spec, tt.params, eps, plugintest.Req{Model: tt.model})
			if err != nil {
				t.Fatal(err)
			}
			if !b.Wants.Models || !b.Wants.LoRA {
				t.Errorf("asks for %+v, want models and adapters", b.Wants)
			}
			if diff := cmp.Diff(tt.want, b.Filter()); diff != "" {
				t.Errorf("kept (-want +got):\n%s", diff)
			}
		})
	}
}

// TestNobodyAsked keeps all endpoints while no snapshot carries models, as after a change of the configuration.
func TestNobodyAsked(t *testing.T) {
	fail := plan.Params{{Name: paramUnknown, Kind: plan.String, Str: unknownFail}}
	b, err := plugintest.New(&Spec, fail, []plugintest.EP{{}, {}}, plugintest.Req{Model: "llama"})
	if err != nil {
		t.Fatal(err)
	}
	for _, asked := range []bool{false, true} {
		b.Cycle.Endpoints.Models.Asked = asked
		if got := len(b.Filter()); (got == 0) != asked {
			t.Errorf("asked %v: %d of 2 endpoints are kept", asked, got)
		}
	}
}
