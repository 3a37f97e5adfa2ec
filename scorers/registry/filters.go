package registry

import (
	"github.com/zerohop/zerohop/scorers"
	"github.com/zerohop/zerohop/scorers/agentidentity"
	"github.com/zerohop/zerohop/scorers/sessionidproducer"
	"github.com/zerohop/zerohop/scorers/topologyextractor"
)

// filters returns the filters, admitters, detectors, pickers, profile handlers and the producers that name what others read.
func filters() []scorers.Spec {
	return []scorers.Spec{
		agentidentity.Spec,
		sessionidproducer.Spec,
		topologyextractor.Spec,
	}
}
