package encodefilter

import (
	"testing"

	"github.com/zerohop/zerohop/scorers/labelmatch"
	"github.com/zerohop/zerohop/scorers/plugintest"
)

func TestFilter(t *testing.T) {
	plugintest.Filters(t, &Spec, labelmatch.Role, []plugintest.ByRole{
		{Name: "every accepted role", Roles: []string{"encode", "encode-prefill", "encode-prefill-decode"}, Want: []int{0, 1, 2}},
		{Name: "others", Roles: []string{"encode-decode", "both", "prefill", "none", ""}, Want: []int{}},
	})
}
