package registry

import (
	"github.com/zerohop/zerohop/scorers"
	"github.com/zerohop/zerohop/scorers/inflightloadproducer"
	"github.com/zerohop/zerohop/scorers/nohitlruscorer"
	"github.com/zerohop/zerohop/scorers/sessionaffinityfilter"
	"github.com/zerohop/zerohop/scorers/sessionaffinityscorer"
)

// stateful returns the types with state of their own.
func stateful() []scorers.Spec {
	return []scorers.Spec{
		inflightloadproducer.Spec,
		nohitlruscorer.Spec,
		sessionaffinityfilter.Spec,
		sessionaffinityscorer.Spec,
	}
}
