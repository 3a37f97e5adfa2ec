// Package registry lists the plugin types that exist. A new plugin is one folder under scorers and one line in a list here.
package registry

import (
	"slices"
	"strings"

	"github.com/zerohop/zerohop/scorers"
)

// Specs returns every plugin type, sorted by Type. The slice belongs to the caller.
func Specs() []scorers.Spec {
	all := All()
	slices.SortFunc(all, func(a, b scorers.Spec) int { return strings.Compare(a.Type, b.Type) })
	return all
}

// All returns what Specs does in no order, which spares the Wasm module the sorting.
func All() []scorers.Spec {
	var all []scorers.Spec
	for _, list := range [...][]scorers.Spec{base(), filters(), ratings(), stateful()} {
		all = append(all, list...)
	}
	return all
}

// Lookup returns the plugin type called typ, and whether it exists. It makes the whole list: a caller with many questions
// keeps what Specs returns.
func Lookup(typ string) (scorers.Spec, bool) {
	for _, s := range All() {
		if s.Type == typ {
			return s, true
		}
	}
	return scorers.Spec{}, false
}
