package attribute

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zerohop/zerohop/scorers"
	"github.com/zerohop/zerohop/shared/plan"
)

func TestAsk(t *testing.T) {
	spec := scorers.Spec{
		Type:   "test",
		Params: []scorers.Param{{Name: "attribute", Kind: plan.String, Required: true}, Producer},
		New:    func(u *scorers.Setup) (any, error) { return Ask(u, "attribute") },
	}
	text := func(name, value string) plan.Param { return plan.Param{Name: name, Kind: plan.String, Str: value} }
	tests := []struct {
		name   string
		params plan.Params
		want   string // the attribute that is asked for
		err    string
	}{
		{"default producer", plan.Params{text("attribute", "load")}, "core-metrics-extractor/load", ""},
		{"producer", plan.Params{text("attribute", "load"), text("producer", "mine")}, "mine/load", ""},
		{"no producer", plan.Params{text("attribute", "x.ai/load"), text("producer", "")}, "/x.ai/load", ""},
		{"slash with producer", plan.Params{text("attribute", "a/b"), text("producer", "mine")}, "mine/a/b", ""},
		{
			"slash alone",
			plan.Params{text("attribute", "a/b/mine")},
			"",
			`attribute: "a/b/mine" has a slash and there is no producer; write attribute: "a/b" and producer: "mine", or`,
		},
		{"empty", plan.Params{text("attribute", "")}, "", "attribute: is empty; write the name of an attribute"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			params, err := spec.Complete(tt.params)
			if err != nil {
				t.Fatal(err)
			}
			var b scorers.Builder
			_, err = b.Build(&spec, "test", params)
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Errorf("error %v, want %s", err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{tt.want}, b.Wants.Attributes); diff != "" {
				t.Errorf("attributes (-want +got):\n%s", diff)
			}
		})
	}
}
