package prefillfilter

import (
	"testing"

	"github.com/zerohop/zerohop/scorers/labelmatch"
	"github.com/zerohop/zerohop/scorers/plugintest"
)

func TestFilter(t *testing.T) {
	plugintest.Filters(t, &Spec, labelmatch.Role, []plugintest.ByRole{
		{Name: "F2", Roles: []string{"prefill", "none", "encode-prefill", "decode"}, Want: []int{0, 2}},
		{Name: "every accepted role", Roles: []string{"prefill", "encode-prefill", "prefill-decode", "both", "encode-prefill-decode"}, Want: []int{0, 1, 2, 3, 4}},
		{Name: "others", Roles: []string{"encode", "Prefill", "decode", ""}, Want: []int{}},
	})
}
