// Package singleprofilehandler provides the plugin type single-profile-handler: the only profile runs, for every request.
package singleprofilehandler

import "github.com/zerohop/zerohop/scorers"

// Type is the plugin type.
const Type = "single-profile-handler"

// Spec describes the plugin type.
var Spec = scorers.Spec{
	Type:        Type,
	Kinds:       scorers.KindProfileHandler,
	LooseParams: true,
	New:         func(u *scorers.Setup) (any, error) { return &handler{only: len(u.Profiles) == 1}, nil },
}

type handler struct{ only bool }

// Constant implements scorers.Constant.
func (h *handler) Constant() {}

// Profile implements scorers.ProfileHandler.
func (h *handler) Profile(*scorers.Cycle) int {
	if !h.only {
		return -1 // which of several is meant cannot be told
	}
	return 0
}
