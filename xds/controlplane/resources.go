package controlplane

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"

	"github.com/cespare/xxhash/v2"
	clusterpb "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointpb "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"sigs.k8s.io/yaml"

	// The types of the messages inside, so that they can be read from YAML.
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/upstream_codec/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/wasm/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/override_host/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/round_robin/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/upstreams/http/v3"

	"github.com/zerohop/zerohop/shared/plan"
	"github.com/zerohop/zerohop/xds/bootstrap"
)

// The types of resource that are served.
const (
	typePlan      = resource.ExtensionConfigType
	typeEndpoints = resource.EndpointType
	typeClusters  = resource.ClusterType
)

// typeName returns what people call a type.
func typeName(typeURL string) string {
	switch typeURL {
	case typePlan:
		return "plan (ECDS)"
	case typeEndpoints:
		return "endpoints (EDS)"
	case typeClusters:
		return "cluster (CDS)"
	}
	return typeURL
}

// planSource serves a plan as the configuration of the downstream filter.
func planSource(p *plan.Plan) source {
	version := p.Revision
	if version == "" {
		version = digest(plan.Append(nil, p))
	}
	return source{name: bootstrap.FilterName, version: version, make: func(module string) (*anypb.Any, error) {
		text, err := bootstrap.Filter(p, module)
		if err != nil {
			return nil, err
		}
		filter := &core.TypedExtensionConfig{Name: bootstrap.FilterName, TypedConfig: &anypb.Any{}}
		if err := fromYAML(text, filter.TypedConfig); err != nil {
			return nil, fmt.Errorf("filter configuration: %w", err)
		}
		return encode(filter)
	}}
}

// clusterSource serves the cluster of destination mode list.
func clusterSource() source {
	text, err := bootstrap.Cluster("")
	version := digest(text)
	if err != nil {
		version = "0"
	}
	return source{name: bootstrap.EndpointsCluster, version: version, make: func(module string) (*anypb.Any, error) {
		text, err := bootstrap.Cluster(module)
		if err != nil {
			return nil, err
		}
		cluster := &clusterpb.Cluster{}
		if err := fromYAML(text, cluster); err != nil {
			return nil, fmt.Errorf("cluster: %w", err)
		}
		return encode(cluster)
	}}
}

// endpointsSource serves the members of the cluster, ordered by address so that equal sets are equal resources.
func endpointsSource(endpoints []Endpoint) source {
	assignment := &endpointpb.ClusterLoadAssignment{
		ClusterName: bootstrap.EndpointsCluster,
		Endpoints:   []*endpointpb.LocalityLbEndpoints{{LbEndpoints: members(endpoints)}},
	}
	encoded, err := encode(assignment)
	version := "0"
	if err == nil {
		version = digest(encoded.GetValue())
	}
	return source{name: bootstrap.EndpointsCluster, version: version, make: func(string) (*anypb.Any, error) {
		return encoded, err
	}}
}

// members converts endpoints. One address is one member, whatever number of names it has: the healthiest counts.
func members(endpoints []Endpoint) []*endpointpb.LbEndpoint {
	type member struct {
		address netip.AddrPort
		health  Health
	}
	list := make([]member, 0, len(endpoints))
	for _, e := range endpoints {
		if a, err := netip.ParseAddrPort(e.Address); err == nil && a.Port() != 0 && a.Addr().Zone() == "" {
			list = append(list, member{a, e.Health})
		}
	}
	slices.SortFunc(list, func(a, b member) int { return cmp.Or(a.address.Compare(b.address), cmp.Compare(a.health, b.health)) })
	list = slices.CompactFunc(list, func(a, b member) bool { return a.address == b.address })
	out := make([]*endpointpb.LbEndpoint, len(list))
	for i, m := range list {
		out[i] = &endpointpb.LbEndpoint{
			HealthStatus: envoyHealth(m.health),
			HostIdentifier: &endpointpb.LbEndpoint_Endpoint{Endpoint: &endpointpb.Endpoint{Address: &core.Address{
				Address: &core.Address_SocketAddress{SocketAddress: &core.SocketAddress{
					Address:       m.address.Addr().String(),
					PortSpecifier: &core.SocketAddress_PortValue{PortValue: uint32(m.address.Port())},
				}},
			}}},
		}
	}
	return out
}

func envoyHealth(h Health) core.HealthStatus {
	switch h {
	case Healthy:
		return core.HealthStatus_HEALTHY
	case Draining:
		return core.HealthStatus_DRAINING
	}
	return core.HealthStatus_UNHEALTHY
}

// fromYAML reads a message as Envoy's bootstrap spells it.
func fromYAML(text []byte, into proto.Message) error {
	j, err := yaml.YAMLToJSON(text)
	if err != nil {
		return err
	}
	return protojson.Unmarshal(j, into)
}

// encode wraps a message. Equal messages are equal bytes, since versions are made from them.
func encode(m proto.Message) (*anypb.Any, error) {
	a := &anypb.Any{}
	if err := anypb.MarshalFrom(a, m, proto.MarshalOptions{Deterministic: true}); err != nil {
		return nil, err
	}
	return a, nil
}

// digest returns 16 hexadecimal digits that differ between texts.
func digest(b []byte) string { return fmt.Sprintf("%016x", xxhash.Sum64(b)) }
