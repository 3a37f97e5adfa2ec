package registry

import (
	"github.com/zerohop/zerohop/scorers"
	"github.com/zerohop/zerohop/scorers/activerequestscorer"
	"github.com/zerohop/zerohop/scorers/endpointattributescorer"
	"github.com/zerohop/zerohop/scorers/headerlabelaffinityscorer"
	"github.com/zerohop/zerohop/scorers/latencyscorer"
	"github.com/zerohop/zerohop/scorers/loadawarescorer"
	"github.com/zerohop/zerohop/scorers/loraaffinityscorer"
	"github.com/zerohop/zerohop/scorers/runningrequestssizescorer"
	"github.com/zerohop/zerohop/scorers/tokenloadscorer"
	"github.com/zerohop/zerohop/scorers/topologyaffinityscorer"
)

// ratings returns the scorers without state of their own.
func ratings() []scorers.Spec {
	return []scorers.Spec{
		activerequestscorer.Spec,
		endpointattributescorer.Spec,
		headerlabelaffinityscorer.Spec,
		latencyscorer.Spec,
		loadawarescorer.Spec,
		loraaffinityscorer.Spec,
		runningrequestssizescorer.Spec,
		tokenloadscorer.Spec,
		topologyaffinityscorer.Spec,
	}
}
