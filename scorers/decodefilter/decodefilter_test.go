package decodefilter

import (
	"testing"

	"github.com/zerohop/zerohop/scorers/labelmatch"
	"github.com/zerohop/zerohop/scorers/plugintest"
)

func TestFilter(t *testing.T) {
	plugintest.Filters(t, &Spec, labelmatch.Role, []plugintest.ByRole{
		{Name: "F1", Roles: []string{"decode", "prefill", "none", "both", "encode"}, Want: []int{0, 2, 3}},
		{Name: "every accepted role", Roles: []string{"decode", "prefill-decode", "both", "encode-prefill-decode"}, Want: []int{0, 1, 2, 3}},
		{Name: "others", Roles: []string{"encode-decode", "encode-prefill", "Decode", "decode ", ""}, Want: []int{}},
		{Name: "one endpoint without role", Roles: []string{"none"}, Want: []int{0}},
	})
}
