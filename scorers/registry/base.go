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

// base returns the types that the default configuration uses.
func base() []scorers.Spec {
	return []scorers.Spec{
		approxprefixcacheproducer.Spec,
		kvcacheutilizationscorer.Spec,
		maxscorepicker.Spec,
		prefixcachescorer.Spec,
		queuescorer.Spec,
		singleprofilehandler.Spec,
	}
}
