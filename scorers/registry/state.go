package registry

import (
	"github.com/zerohop/zerohop/scorers"
	"github.com/zerohop/zerohop/scorers/inflightloadproducer"
	"github.com/zerohop/zerohop/scorers/nohitlruscorer"
)

// stateful returns the types with state of their own.
func stateful() []scorers.Spec {
	return []scorers.Spec{
		inflightloadproducer.Spec,
		nohitlruscorer.Spec,
	}
}
