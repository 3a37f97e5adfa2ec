// Package singleprofilehandler provides the plugin type single-profile-handler: the only profile runs, for every request.
package singleprofilehandler

import (
	"github.com/zerohop/zerohop/scorers"
	"github.com/zerohop/zerohop/shared/plan"
)

// Type is the plugin type.
const Type = "single-profile-handler"

// Spec describes the plugin type.
var Spec = scorers.Spec{
	Type:        Type,
	Kinds:       scorers.KindProfileHandler,
	LooseParams: true,
	New:         func(plan.Params) (any, error) { return handler{}, nil },
}

type handler struct{}

// Profile implements scorers.ProfileHandler.
func (handler) Profile(_ *scorers.Cycle, profiles int) int {
	if profiles != 1 {
		return -1
	}
	return 0
}
