// Package prefillfilter provides the plugin type prefill-filter: it keeps the endpoints whose role says that they do prefill.
package prefillfilter

import (
	"github.com/zerohop/zerohop/scorers"
	"github.com/zerohop/zerohop/scorers/labelmatch"
)

// Type is the plugin type.
const Type = "prefill-filter"

// Spec describes the plugin type.
var Spec = scorers.Spec{
	Type:        Type,
	Kinds:       scorers.KindFilter,
	LooseParams: true,
	New:         newFilter,
}

func newFilter(u *scorers.Setup) (any, error) {
	return labelmatch.ByValue(u.Label(labelmatch.Role), false, "prefill", "encode-prefill", "prefill-decode", "both", "encode-prefill-decode"), nil
}
