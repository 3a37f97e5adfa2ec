// Package registry lists the plugin types that exist. A new plugin is one folder under scorers and one line here.
package registry

import (
	"github.com/zerohop/zerohop/scorers"
	"github.com/zerohop/zerohop/scorers/approxprefixcacheproducer"
	"github.com/zerohop/zerohop/scorers/kvcacheutilizationscorer"
	"github.com/zerohop/zerohop/scorers/maxscorepicker"
	"github.com/zerohop/zerohop/scorers/prefixcachescorer"
	"github.com/zerohop/zerohop/scorers/queuescorer"
	"github.com/zerohop/zerohop/scorers/singleprofilehandler"
)

// Specs returns every plugin type, sorted by Type. The slice belongs to the caller.
func Specs() []scorers.Spec {
	return []scorers.Spec{
		approxprefixcacheproducer.Spec,
		kvcacheutilizationscorer.Spec,
		maxscorepicker.Spec,
		prefixcachescorer.Spec,
		queuescorer.Spec,
		singleprofilehandler.Spec,
	}
}

// Lookup returns the plugin type called typ, and whether it exists.
func Lookup(typ string) (scorers.Spec, bool) {
	for _, s := range Specs() {
		if s.Type == typ {
			return s, true
		}
	}
	return scorers.Spec{}, false
}
