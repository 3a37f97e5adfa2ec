package bootstrap

import "github.com/zerohop/zerohop/shared/names"

// Names in the bootstrap that the agent's control plane uses too.
const (
	// AgentCluster is the cluster of the agent's HTTP, which the plan refers to.
	AgentCluster = "zerohop_agent"
	// ControlCluster is the cluster of the agent's ADS.
	ControlCluster = "zerohop_xds"
	// EndpointsCluster is the cluster of destination mode list. Its members come by EDS.
	EndpointsCluster = "zerohop_endpoints"
	// FilterName is the name of the downstream filter, and of the ECDS resource that configures it.
	FilterName = names.RootDownstream
	// MetadataKey and MetadataModule lead to the module's path in the node's metadata. Filters of one vm_config share a
	// VM, so that the control plane has to name the same path as the bootstrap does.
	MetadataKey    = "zerohop"
	MetadataModule = "wasm"
)

const (
	destinationCluster = "zerohop_destination"
	fallbackCluster    = "zerohop_fallback"
)
