// Package known lists the plugin types of llm-d's endpoint picker that are no part of the filter: those that the agent or
// the loader acts on, and those that this version does not act on. Both have their parameters here, so that a configuration
// that the endpoint picker loads is checked in full, and whatever does nothing is said rather than ignored. It assumes that
// the types of the filter are listed elsewhere, and runs nothing itself.
package known

import (
	"slices"
	"strings"

	"github.com/zerohop/zerohop/scorers"
	"github.com/zerohop/zerohop/shared/plan"
)

// Role is a set of the places of an EndpointPickerConfig that can name a plugin, beyond those of scorers.Kind.
type Role uint16

// The roles.
const (
	Parser Role = 1 << iota
	Source
	Extractor
	Discovery
	Peers // discovery of other endpoint pickers, and what they tell each other
	Decider
	Screener
	Ordering
	Fairness
	UsageLimit
)

// Type is one plugin type.
type Type struct {
	scorers.Spec // without New
	Role         Role
	// Carries says what a source tells its extractors, or an extractor takes from its source; empty if that is not known.
	Carries string
	// What says what is not done, since the type is not active; empty if the agent or the loader does what it asks for.
	What string
	// Idle are parameters that nothing acts on although the type is active, by name, with what to do instead.
	Idle map[string]string
	// Open are objects whose content is not looked at.
	Open []string
	// Check judges parameters together; nil if there is nothing to say. Its error begins with the path of one and a colon.
	Check func(given plan.Params) error
}

// What sources tell their extractors.
const (
	Pages     = "pages of metrics"
	Models    = "lists of models"
	Endpoints = "events of endpoints"
	Objects   = "events of objects"
)

// Active says whether the agent or the loader acts on the type.
func (t *Type) Active() bool { return t.What == "" }

// Types returns all types, sorted. The slice belongs to the caller.
func Types() []Type {
	all := slices.Concat(agentTypes(), parsers(), scheduling(), producers(), disaggregation(), flowControl(), dataLayer())
	for i := range all {
		all[i].Kinds |= scorers.KindAgent
	}
	slices.SortFunc(all, func(a, b Type) int { return strings.Compare(a.Type, b.Type) })
	return all
}

// spec begins a type.
func spec(typ string, kinds scorers.Kind, params ...scorers.Param) scorers.Spec {
	return scorers.Spec{Type: typ, Kinds: kinds, Params: params}
}

// alpha marks a type as one that may change.
func alpha(s scorers.Spec) scorers.Spec {
	s.Stability = "alpha"
	return s
}

// loose accepts every parameter, as the EPP does for a type that reads none.
func loose(s scorers.Spec) scorers.Spec {
	s.LooseParams = true
	return s
}

// makes says what a type produces.
func makes(s scorers.Spec, keys ...scorers.DataKey) scorers.Spec {
	s.Produces = keys
	return s
}
