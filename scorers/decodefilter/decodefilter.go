// Package decodefilter provides the plugin type decode-filter: it keeps the endpoints that may do the decoding of a
// request: those with such a role, and those without any.
package decodefilter

import (
	"github.com/zerohop/zerohop/scorers"
	"github.com/zerohop/zerohop/scorers/labelmatch"
)

// Type is the plugin type.
const Type = "decode-filter"

// Spec describes the plugin type.
var Spec = scorers.Spec{
	Type:        Type,
	Kinds:       scorers.KindFilter,
	LooseParams: true,
	New:         newFilter,
}

func newFilter(u *scorers.Setup) (any, error) {
	return labelmatch.ByValue(u.Label(labelmatch.Role), true, "decode", "prefill-decode", "both", "encode-prefill-decode"), nil
}
