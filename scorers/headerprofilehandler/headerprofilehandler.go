// Package headerprofilehandler provides the plugin type header-profile-handler: a request header names the profile to run.
package headerprofilehandler

import (
	"github.com/zerohop/zerohop/scorers"
	"github.com/zerohop/zerohop/shared/plan"
)

// Type is the plugin type.
const Type = "header-profile-handler"

const (
	paramHeader  = "headerName"
	paramDefault = "defaultProfile"

	defaultHeader  = "EPP-Profile"
	defaultProfile = "decode"
)

// Spec describes the plugin type.
var Spec = scorers.Spec{
	Type:      Type,
	Kinds:     scorers.KindProfileHandler,
	Stability: "alpha",
	Params: []scorers.Param{
		{Name: paramHeader, Kind: plan.String, Default: defaultHeader, Doc: "request header with the name of a profile"},
		{Name: paramDefault, Kind: plan.String, Default: defaultProfile, Doc: "profile of a request without the header"},
	},
	New: newHandler,
}

type handler struct {
	header   scorers.HeaderID
	profiles []string
	other    int // index of the profile without the header; -1 if there is no such profile
}

func newHandler(u *scorers.Setup) (any, error) {
	h := &handler{profiles: u.Profiles, other: -1}
	if len(u.Profiles) == 1 {
		return h, nil // whatever the header says
	}
	h.header = u.Header(text(u, paramHeader, defaultHeader))
	h.other = h.find([]byte(text(u, paramDefault, defaultProfile)))
	return h, nil
}

// text returns a parameter without blanks around it; where nothing is left, its default.
func text(u *scorers.Setup, name, def string) string {
	if v := scorers.TrimText(u.Params.String(name, def)); v != "" {
		return v
	}
	return def
}

// Profile implements scorers.ProfileHandler.
func (h *handler) Profile(c *scorers.Cycle) int {
	if len(h.profiles) == 1 {
		return 0
	}
	if name := c.Request.Headers.Get(h.header); len(name) > 0 {
		return h.find(name)
	}
	return h.other
}

// find returns the index of the profile called name, or -1.
func (h *handler) find(name []byte) int {
	for i, p := range h.profiles {
		if p == string(name) {
			return i
		}
	}
	return -1
}
