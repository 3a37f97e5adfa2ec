package registry

import (
	"github.com/zerohop/zerohop/scorers"
	"github.com/zerohop/zerohop/scorers/activerequestscorer"
	"github.com/zerohop/zerohop/scorers/loadawarescorer"
	"github.com/zerohop/zerohop/scorers/runningrequestssizescorer"
	"github.com/zerohop/zerohop/scorers/tokenloadscorer"
)

// ratings returns the scorers without state of their own.
func ratings() []scorers.Spec {
	return []scorers.Spec{
		activerequestscorer.Spec,
		loadawarescorer.Spec,
		runningrequestssizescorer.Spec,
		tokenloadscorer.Spec,
	}
}
