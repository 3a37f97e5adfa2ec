// Package encodefilter provides the plugin type encode-filter: it keeps the endpoints whose role says that they encode
// images, sound or video.
package encodefilter

import (
	"github.com/zerohop/zerohop/scorers"
	"github.com/zerohop/zerohop/scorers/labelmatch"
)

// Type is the plugin type.
const Type = "encode-filter"

// Spec describes the plugin type.
var Spec = scorers.Spec{
	Type:        Type,
	Kinds:       scorers.KindFilter,
	LooseParams: true,
	New:         newFilter,
}

func newFilter(u *scorers.Setup) (any, error) {
	return labelmatch.ByValue(u.Label(labelmatch.Role), false, "encode", "encode-prefill", "encode-prefill-decode"), nil
}
