package labelselectorfilter

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zerohop/zerohop/scorers/plugintest"
	"github.com/zerohop/zerohop/shared/plan"
)

// params writes a selector: "k=v" is one of matchLabels, anything else an expression "key operator value value".
func params(parts ...string) plan.Params {
	var p plan.Params
	add := func(name, value string) { p = append(p, plan.Param{Name: name, Kind: plan.String, Str: value}) }
	labels, expressions := 0, 0
	for _, part := range parts {
		if key, value, ok := strings.Cut(part, "="); ok {
			at := plan.Element(paramLabels, labels)
			labels++
			add(at+".key", key)
			add(at+".value", value)
			continue
		}
		at := plan.Element(paramExpressions, expressions)
		expressions++
		words := strings.Split(part, " ")
		add(at+".key", words[0])
		add(at+".operator", words[1])
		for i, v := range words[2:] {
			add(plan.Element(at+".values", i), v)
		}
	}
	return p
}

func TestFilter(t *testing.T) {
	eps := []plugintest.EP{
		{Labels: map[string]string{"gpu": "h100", "zone": "a"}},
		{Labels: map[string]string{"gpu": "a100", "zone": "b"}},
		{Labels: map[string]string{"zone": "a"}},
		{Labels: map[string]string{"gpu": ""}},
	}
	tests := []struct {
		name     string
		selector []string
		want     []int
	}{
		{"empty selector", nil, []int{0, 1, 2, 3}},
		{"label", []string{"gpu=h100"}, []int{0}},
		{"label with empty value", []string{"gpu="}, []int{3}},
		{"two labels", []string{"gpu=h100", "zone=b"}, []int{}},
		{"In", []string{"gpu In h100 a100"}, []int{0, 1}},
		{"NotIn keeps those without", []string{"gpu NotIn h100"}, []int{1, 2, 3}},
		{"Exists", []string{"gpu Exists"}, []int{0, 1, 3}},
		{"DoesNotExist", []string{"gpu DoesNotExist"}, []int{2}},
		{"label and expression", []string{"zone=a", "gpu Exists"}, []int{0}},
		{"one label twice", []string{"gpu Exists", "gpu NotIn a100"}, []int{0, 3}},
		{"contradiction", []string{"gpu Exists", "gpu DoesNotExist"}, []int{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b, err := plugintest.New(&Spec, params(tt.selector...), eps, plugintest.Req{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, b.Filter()); diff != "" {
				t.Errorf("kept (-want +got):\n%s", diff)
			}
			conf := plugintest.Config{UnknownLabels: true}
			b, err = plugintest.NewWith(conf, &Spec, params(tt.selector...), eps, plugintest.Req{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]int{0, 1, 2, 3}, b.Filter()); diff != "" {
				t.Errorf("kept before the labels are known (-want +got):\n%s", diff)
			}
		})
	}
}

func TestParameters(t *testing.T) {
	long := strings.Repeat("a", 64)
	tests := []struct {
		selector, want string
	}{
		{"gpu Near h100", "matchExpressions[0].operator: want one of In, NotIn, Exists, DoesNotExist"},
		{"gpu In", "matchExpressions[0].values: is empty; In needs at least one value"},
		{"gpu NotIn", "matchExpressions[0].values: is empty; NotIn needs at least one value"},
		{"gpu Exists h100", "matchExpressions[0].values: Exists takes no values; remove them"},
		{"-gpu Exists", "matchExpressions[0].key: a label key is at most 63"},
		{long + " Exists", "matchExpressions[0].key: a label key is at most 63"},
		{"a/b/c Exists", "matchExpressions[0].key: a label key is at most 63"},
		{"Example.com/gpu Exists", "matchExpressions[0].key: the part of a label key before the slash"},
		{"a..b/gpu Exists", "matchExpressions[0].key: the part of a label key before the slash"},
		{"-a/gpu Exists", "matchExpressions[0].key: the part of a label key before the slash"},
		{"/gpu Exists", "matchExpressions[0].key: the part of a label key before the slash"},
		{"gpu In h100 b!", "matchExpressions[0].values[1]: a label value is at most 63"},
		{"gpu=b!", "matchLabels.gpu: a label value is at most 63"},
		{"gpu=" + long, "matchLabels.gpu: a label value is at most 63"},
		{"=h100", "matchLabels: a label key is at most 63"},
		{"llm-d.ai/inference-serving=true", ""},
		{"gpu.model_name-1=H100_80.GB", ""},
		{strings.Repeat("a", 63) + " Exists", ""},
	}
	for _, tt := range tests {
		_, err := plugintest.New(&Spec, params(tt.selector), nil, plugintest.Req{})
		switch {
		case tt.want == "" && err != nil:
			t.Errorf("%q: %v", tt.selector, err)
		case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%q: error %v, want %s", tt.selector, err, tt.want)
		}
	}
}
