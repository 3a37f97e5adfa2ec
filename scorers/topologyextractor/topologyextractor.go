// Package topologyextractor provides the plugin type topology-extractor: the names of the endpoint labels that say on which
// host and in which rack, zone and region an endpoint is.
package topologyextractor

import (
	"github.com/zerohop/zerohop/scorers"
	"github.com/zerohop/zerohop/shared/plan"
)

// Type is the plugin type.
const Type = "topology-extractor"

// ParamProducer is the parameter by which a plugin names the extractor that it reads.
const ParamProducer = "topologyProducerName"

// defaults are the labels that Kubernetes uses.
var defaults = scorers.TopologyKeys{
	Host: "kubernetes.io/hostname", Rack: "topology.kubernetes.io/rack",
	Zone: "topology.kubernetes.io/zone", Region: "topology.kubernetes.io/region",
}

// Spec describes the plugin type.
var Spec = scorers.Spec{
	Type:      Type,
	Kinds:     scorers.KindProducer,
	Stability: "alpha",
	Params: []scorers.Param{
		{Name: "hostname", Kind: plan.String, Default: defaults.Host, Doc: "label that names the host"},
		{Name: "rack", Kind: plan.String, Default: defaults.Rack, Doc: "label that names the rack"},
		{Name: "zone", Kind: plan.String, Default: defaults.Zone, Doc: "label that names the zone"},
		{Name: "region", Kind: plan.String, Default: defaults.Region, Doc: "label that names the region"},
	},
	Produces: []scorers.DataKey{scorers.DataTopology},
	New:      newExtractor,
}

type extractor struct{ keys scorers.TopologyKeys }

func newExtractor(u *scorers.Setup) (any, error) {
	key := func(name, def string) string {
		if v := u.Params.String(name, ""); v != "" {
			return v
		}
		return def
	}
	return &extractor{scorers.TopologyKeys{
		Host: key("hostname", defaults.Host), Rack: key("rack", defaults.Rack),
		Zone: key("zone", defaults.Zone), Region: key("region", defaults.Region),
	}}, nil
}

// Ask makes a plugin with the parameter ParamProducer read Endpoints.Topo by the labels of the extractor that it names. Where
// there is no extractor, the labels are the default ones.
func Ask(u *scorers.Setup) {
	keys := defaults
	if e, ok := u.Producer(ParamProducer, Type).(*extractor); ok {
		keys = e.keys
	}
	u.Topology(keys)
}

// Producer declares ParamProducer.
var Producer = scorers.Param{
	Name: ParamProducer, Kind: plan.String, Default: "", Ref: Type, Doc: "name of the topology-extractor to read",
}
