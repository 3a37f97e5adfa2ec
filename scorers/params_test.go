package scorers_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zerohop/zerohop/scorers"
	"github.com/zerohop/zerohop/shared/plan"
)

func TestComplete(t *testing.T) {
	spec := scorers.Spec{Params: []scorers.Param{
		{Name: "share", Default: 0.5, Max: 1},
		{Name: "on", Kind: plan.Bool, Default: true},
		{Name: "label", Kind: plan.String, Default: "x"},
		{Name: "any", Default: 3.0},
	}}
	num := func(name string, v float64) plan.Param { return plan.Param{Name: name, Num: v} }
	on := plan.Param{Name: "on", Kind: plan.Bool, Num: 1}
	label := plan.Param{Name: "label", Kind: plan.String, Str: "x"}
	tests := []struct {
		name  string
		loose bool
		given plan.Params
		want  plan.Params
		errs  []string
	}{
		{"defaults", false, nil, plan.Params{num("share", .5), on, label, num("any", 3)}, nil},
		{"given in another order", false, plan.Params{num("any", -7), num("share", 1)}, plan.Params{num("share", 1), on, label, num("any", -7)}, nil},
		{"all problems at once", false, plan.Params{num("share", 2), num("on", 1), num("other", 1)}, nil, []string{"share: want a number from 0 to 1", "on: want a boolean", "other: unknown"}},
		{"loose type ignores the unknown", true, plan.Params{num("other", 1)}, plan.Params{num("share", .5), on, label, num("any", 3)}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := spec
			s.LooseParams = tt.loose
			got, err := s.Complete(tt.given)
			if tt.errs != nil {
				for _, e := range tt.errs {
					if err == nil || !strings.Contains(err.Error(), e) {
						t.Errorf("error %v, want it to contain %q", err, e)
					}
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("parameters (-want +got):\n%s", diff)
			}
		})
	}
}
