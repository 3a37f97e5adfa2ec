package controlplane

import (
	"net/netip"
	"testing"

	bootstrappb "github.com/envoyproxy/go-control-plane/envoy/config/bootstrap/v3"
	clusterpb "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	wasmpb "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/wasm/v3"
	hcm "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	// The types in a bootstrap.
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/access_loggers/stream/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/http/early_header_mutation/header_mutation/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/resource_monitors/downstream_connections/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/resource_monitors/fixed_heap/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/retry/host/previous_hosts/v3"

	"github.com/zerohop/zerohop/xds/bootstrap"
)

// TestServedIsTheBootstraps checks that Envoy gets by xDS what stands in its bootstrap: a filter with another vm_config
// would not share the attempt filter's VM.
func TestServedIsTheBootstraps(t *testing.T) {
	const module = "dir \"x\"/m.wasm"
	text, err := bootstrap.Render(bootstrap.Options{
		Plan: testPlan('1'), Node: bootstrap.Node{ID: "a", Cluster: "g"}, Wasm: module,
		Listen: netip.MustParseAddrPort("127.0.0.1:1"), Admin: netip.MustParseAddrPort("127.0.0.1:2"),
		Agent: &bootstrap.Agent{HTTP: netip.MustParseAddrPort("127.0.0.1:3"), XDS: netip.MustParseAddrPort("127.0.0.1:4")},
	})
	if err != nil {
		t.Fatal(err)
	}
	var b bootstrappb.Bootstrap
	if err := fromYAML(text, &b); err != nil {
		t.Fatal(err)
	}

	var connections hcm.HttpConnectionManager
	unwrap(t, b.GetStaticResources().GetListeners()[0].GetFilterChains()[0].GetFilters()[0].GetTypedConfig(), &connections)
	var standing, served wasmpb.Wasm
	filter := connections.GetHttpFilters()[0]
	unwrap(t, filter.GetConfigDiscovery().GetDefaultConfig(), &standing)
	resource := encoded[core.TypedExtensionConfig](t, planSource(testPlan('1')), module)
	unwrap(t, resource.GetTypedConfig(), &served)
	if d := cmp.Diff(&standing, &served, protocmp.Transform()); d != "" {
		t.Error(d)
	}
	if filter.GetName() != resource.GetName() {
		t.Errorf("the filter is called %s, the resource %s", filter.GetName(), resource.GetName())
	}

	for _, c := range b.GetStaticResources().GetClusters() {
		if c.GetName() != bootstrap.EndpointsCluster {
			continue
		}
		if d := cmp.Diff(c, encoded[clusterpb.Cluster](t, clusterSource(), module), protocmp.Transform()); d != "" {
			t.Error(d)
		}
		return
	}
	t.Error("the bootstrap lacks the cluster")
}

type anyMessage interface {
	UnmarshalTo(m proto.Message) error
}

func unwrap(t *testing.T, from anyMessage, into proto.Message) {
	t.Helper()
	if err := from.UnmarshalTo(into); err != nil {
		t.Fatal(err)
	}
}

func encoded[T any, P interface {
	*T
	proto.Message
}](t *testing.T, s source, module string) P {
	t.Helper()
	a, err := s.make(module)
	if err != nil {
		t.Fatal(err)
	}
	m := P(new(T))
	unwrap(t, a, m)
	return m
}

func TestMembers(t *testing.T) {
	type member struct {
		Address string
		Port    uint32
		Health  core.HealthStatus
	}
	tests := []struct {
		name string
		from []Endpoint
		want []member
	}{
		{"none", nil, nil},
		{"in order", []Endpoint{{Address: "10.0.0.2:80"}, {Address: "10.0.0.1:81"}, {Address: "[2001:db8::1]:80"}, {Address: "10.0.0.1:80"}}, []member{
			{"10.0.0.1", 80, core.HealthStatus_HEALTHY},
			{"10.0.0.1", 81, core.HealthStatus_HEALTHY},
			{"10.0.0.2", 80, core.HealthStatus_HEALTHY},
			{"2001:db8::1", 80, core.HealthStatus_HEALTHY},
		}},
		{"states", []Endpoint{{Address: "10.0.0.1:80", Health: Draining}, {Address: "10.0.0.2:80", Health: Unhealthy}}, []member{
			{"10.0.0.1", 80, core.HealthStatus_DRAINING},
			{"10.0.0.2", 80, core.HealthStatus_UNHEALTHY},
		}},
		{"one address under two names", []Endpoint{{Name: "old", Address: "10.0.0.1:80", Health: Draining}, {Name: "next", Address: "10.0.0.1:80"}}, []member{
			{"10.0.0.1", 80, core.HealthStatus_HEALTHY},
		}},
		{"not an address", []Endpoint{{Address: "host:80"}, {Address: "10.0.0.1"}, {Address: "10.0.0.1:0"}, {Address: "[fe80::1%eth0]:80"}}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []member
			for _, m := range members(tt.from) {
				a := m.GetEndpoint().GetAddress().GetSocketAddress()
				got = append(got, member{a.GetAddress(), a.GetPortValue(), m.GetHealthStatus()})
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}
