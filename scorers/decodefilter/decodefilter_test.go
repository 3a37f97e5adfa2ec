package decodefilter

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zerohop/zerohop/scorers/plugintest"
)

var vectors = []struct {
	name  string
	roles []string // "none" is an endpoint without the label
	want  []int
}{
	{"F1", []string{"decode", "prefill", "none", "both", "encode"}, []int{0, 2, 3}},
	{"every accepted role", []string{"decode", "prefill-decode", "both", "encode-prefill-decode"}, []int{0, 1, 2, 3}},
	{"others", []string{"encode-decode", "encode-prefill", "Decode", "decode ", ""}, []int{}},
	{"one endpoint without role", []string{"none"}, []int{0}},
}

func TestFilter(t *testing.T) {
	for _, tt := range vectors {
		t.Run(tt.name, func(t *testing.T) {
			eps := make([]plugintest.EP, len(tt.roles))
			for i, role := range tt.roles {
				if role != "none" {
					eps[i].Labels = map[string]string{"llm-d.ai/role": role}
				}
			}
			b, err := plugintest.New(&Spec, nil, eps, plugintest.Req{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, b.Filter()); diff != "" {
				t.Errorf("kept (-want +got):\n%s", diff)
			}
		})
	}
}
