package registry

import (
	"github.com/zerohop/zerohop/scorers"
	"github.com/zerohop/zerohop/scorers/agentidentity"
	"github.com/zerohop/zerohop/scorers/bylabel"
	"github.com/zerohop/zerohop/scorers/concurrencydetector"
	"github.com/zerohop/zerohop/scorers/contextlengthaware"
	"github.com/zerohop/zerohop/scorers/decodefilter"
	"github.com/zerohop/zerohop/scorers/encodefilter"
	"github.com/zerohop/zerohop/scorers/endpointattributefilter"
	"github.com/zerohop/zerohop/scorers/headerbasedtestingfilter"
	"github.com/zerohop/zerohop/scorers/headerprofilehandler"
	"github.com/zerohop/zerohop/scorers/labelselectorfilter"
	"github.com/zerohop/zerohop/scorers/latencysloadmitter"
	"github.com/zerohop/zerohop/scorers/prefillfilter"
	"github.com/zerohop/zerohop/scorers/prefixcacheaffinityfilter"
	"github.com/zerohop/zerohop/scorers/probabilisticadmitter"
	"github.com/zerohop/zerohop/scorers/randompicker"
	"github.com/zerohop/zerohop/scorers/servedmodelfilter"
	"github.com/zerohop/zerohop/scorers/sessionidproducer"
	"github.com/zerohop/zerohop/scorers/sloheadroomtierfilter"
	"github.com/zerohop/zerohop/scorers/topologyaffinityfilter"
	"github.com/zerohop/zerohop/scorers/topologyextractor"
	"github.com/zerohop/zerohop/scorers/utilizationdetector"
	"github.com/zerohop/zerohop/scorers/utilizationfilter"
	"github.com/zerohop/zerohop/scorers/weightedrandompicker"
)

// filters returns the filters, admitters, detectors, pickers, profile handlers and the producers that name what others read.
func filters() []scorers.Spec {
	return []scorers.Spec{
		agentidentity.Spec,
		bylabel.Spec,
		concurrencydetector.Spec,
		contextlengthaware.Spec,
		decodefilter.Spec,
		encodefilter.Spec,
		endpointattributefilter.Spec,
		headerbasedtestingfilter.Spec,
		headerprofilehandler.Spec,
		labelselectorfilter.Spec,
		latencysloadmitter.Spec,
		prefillfilter.Spec,
		prefixcacheaffinityfilter.Spec,
		probabilisticadmitter.Spec,
		randompicker.Spec,
		servedmodelfilter.Spec,
		sessionidproducer.Spec,
		sloheadroomtierfilter.Spec,
		topologyaffinityfilter.Spec,
		topologyextractor.Spec,
		utilizationdetector.Spec,
		utilizationfilter.Spec,
		weightedrandompicker.Spec,
	}
}
