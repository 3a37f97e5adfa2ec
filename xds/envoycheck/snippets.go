package envoycheck

import (
	"cmp"
	"slices"
	"strings"

	"github.com/zerohop/zerohop/shared/names"
	"github.com/zerohop/zerohop/shared/plan"
)

const wasmType = "type.googleapis.com/envoy.extensions.filters.http.wasm.v3.Wasm"

// indent moves the lines of text to the right.
func indent(text, by string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(by + line)
	}
	return b.String()
}

// vm returns the vm_config of the document's filter, or an example.
func (c *checker) vm() string {
	if c.down != nil {
		if vm := c.down.config.get("vm_config"); vm.get("code").Exists() {
			return flow(vm)
		}
	}
	return `{vm_id: zerohop, runtime: envoy.wasm.runtime.v8, code: {local: {filename: build/out/zerohop.wasm}}}`
}

// pluginConfig returns the configuration of one of our filters.
func (c *checker) pluginConfig(root string) string {
	s := "config:\n  name: " + root + "\n  root_id: " + root + "\n  failure_policy: FAIL_RELOAD\n  reload_config: {backoff: {base_interval: 0.02s}}\n"
	if root == names.RootDownstream {
		s += "  allow_on_headers_stop_iteration: true\n" + indent(c.wantedPlan(), "  ")
	}
	return s + "  vm_config: " + c.vm() + "\n"
}

func (c *checker) wasmFilter(root string) string {
	return "- name: envoy.filters.http.wasm\n  typed_config:\n    \"@type\": " + wasmType + "\n" + indent(c.pluginConfig(root), "    ")
}

func (c *checker) downstreamFilter() string {
	return "http_filters:\n" + c.wasmFilter(names.RootDownstream)
}

func (c *checker) attempt(by string) string { return indent(c.wasmFilter(names.RootAttempt), by) }

func (c *checker) defaultConfig() string {
	return "default_config:\n  \"@type\": " + wasmType + "\n" + indent(c.pluginConfig(names.RootDownstream), "  ")
}

const routerFilter = `http_filters:
- name: envoy.filters.http.router
  typed_config:
    "@type": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router
`

func upstreamCodec(by string) string {
	return indent(`- name: envoy.filters.http.upstream_codec
  typed_config:
    "@type": type.googleapis.com/envoy.extensions.filters.http.upstream_codec.v3.UpstreamCodec
`, by)
}

// protocolOptions returns the options of a cluster that has none.
func (c *checker) protocolOptions() string {
	return "typed_extension_protocol_options:\n  " + protocolOptions + ":\n    \"@type\": type.googleapis.com/" + protocolOptions +
		"\n    explicit_http_config: {http_protocol_options: {}}\n    http_filters:\n" + c.attempt("    ") + upstreamCodec("    ")
}

// adsConnection returns the connection to the agent's ADS, and its cluster unless that is there.
func (c *checker) adsConnection() string {
	if slices.ContainsFunc(c.clusters, func(d node) bool { return d.get("name").str() == xdsCluster }) {
		return adsConfig
	}
	return adsConfig + adsCluster
}

const (
	xdsCluster = "zerohop_xds"
	adsConfig  = `dynamic_resources:
  ads_config:
    api_type: GRPC
    transport_api_version: V3
    grpc_services: [{envoy_grpc: {cluster_name: zerohop_xds, retry_policy: {retry_back_off: {base_interval: 0.25s, max_interval: 1s}}}}]
`
	adsCluster = `static_resources:
  clusters:
  - name: zerohop_xds
    type: STATIC
    connect_timeout: 1s
    typed_extension_protocol_options:
      envoy.extensions.upstreams.http.v3.HttpProtocolOptions:
        "@type": type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions
        explicit_http_config: {http2_protocol_options: {}}
    load_assignment:
      cluster_name: zerohop_xds
      endpoints: [{lb_endpoints: [{endpoint: {address: {socket_address: {address: 127.0.0.1, port_value: 18000}}}}]}]
`
)

func mutations(headers []string, by string) string {
	s := by + "mutations:\n"
	for _, h := range headers {
		s += by + "- remove: " + h + "\n"
	}
	return s
}

func earlyMutation(headers []string) string {
	return `early_header_mutation_extensions:
- name: envoy.http.early_header_mutation.header_mutation
  typed_config:
    "@type": type.googleapis.com/envoy.extensions.http.early_header_mutation.header_mutation.v3.HeaderMutation
` + mutations(headers, "    ")
}

// pickedRoute returns the route to the picked endpoint.
func (c *checker) pickedRoute(mode string) string {
	match := `{prefix: "/"}`
	switch mode {
	case plan.DestinationHeader:
		match = `{prefix: "/", headers: [{name: ` + names.HeaderDestination + `, present_match: true}]}`
	case plan.DestinationList:
		match = `{prefix: "/", headers: [{name: ` + names.HeaderDestination + `, string_match: {contains: ","}}]}`
	}
	name := map[string]string{plan.DestinationList: "listed"}[mode]
	return "routes:\n- name: " + cmp.Or(name, "picked") + "\n  match: " + match + "\n" + routeAction(c.destinationName(mode))
}

func fallbackRoute(cluster string) string {
	return "routes:\n- name: fallback\n  match: {prefix: \"/\", headers: [{name: " + names.HeaderFallback + ", present_match: true}]}\n" +
		"  request_headers_to_remove: [" + names.HeaderFallback + "]\n" + routeAction(cluster)
}

func routeAction(cluster string) string {
	return "  route:\n    cluster: " + scalar(cluster) + "\n    timeout: 0s\n    retry_policy:\n      retry_on: " + retryOn +
		"\n      retriable_status_codes: [503]\n      num_retries: 3\n      retry_back_off: {base_interval: 0.005s, max_interval: 0.1s}\n      per_try_timeout: 540s\n"
}

// destinationName returns the name of the cluster for a mode: the document's, or the one that is suggested.
func (c *checker) destinationName(mode string) string {
	for _, d := range c.clusters {
		if mode == plan.DestinationList && overrideHost(d).Exists() || mode != plan.DestinationList && originalDst(d) {
			return d.get("name").str()
		}
	}
	if mode == plan.DestinationList {
		return "zerohop_endpoints"
	}
	return "zerohop_destination"
}

// fallbackCluster returns the name of a cluster that is no destination and not the agent's.
func (c *checker) fallbackCluster() string {
	agent := ""
	if p := c.plan(); p != nil {
		agent = p.Agent.Cluster
	}
	for _, d := range c.clusters {
		if name := d.get("name").str(); !originalDst(d) && !overrideHost(d).Exists() && name != agent && name != xdsCluster {
			return name
		}
	}
	return "zerohop_fallback"
}

// destinationCluster returns the cluster for a mode.
func (c *checker) destinationCluster(mode string) string {
	s := "- name: " + c.destinationName(mode) + "\n"
	if mode == plan.DestinationList {
		s += `  type: EDS
  eds_cluster_config: {eds_config: {ads: {}, resource_api_version: V3, initial_fetch_timeout: 0.25s}}
  load_balancing_policy:
    policies:
    - typed_extension_config:
        name: envoy.load_balancing_policies.override_host
        typed_config:
          "@type": type.googleapis.com/envoy.extensions.load_balancing_policies.override_host.v3.OverrideHost
          override_host_sources: [{header: ` + names.HeaderDestination + `}]
          fallback_policy:
            policies:
            - typed_extension_config:
                name: envoy.load_balancing_policies.round_robin
                typed_config: {"@type": type.googleapis.com/envoy.extensions.load_balancing_policies.round_robin.v3.RoundRobin}
`
	} else {
		s += "  type: ORIGINAL_DST\n  lb_policy: CLUSTER_PROVIDED\n  original_dst_lb_config: {use_http_header: true, http_header_name: " + names.HeaderDestination + "}\n"
	}
	return "clusters:\n" + s + "  connect_timeout: 1s\n" + indent(circuitBreakers+c.protocolOptions(), "  ")
}

const circuitBreakers = `circuit_breakers:
  thresholds:
  - {priority: DEFAULT, max_connections: 65536, max_pending_requests: 65536, max_requests: 65536, retry_budget: {budget_percent: {value: 30}, min_retry_concurrency: 64}}
`

func agentCluster(name string) string {
	return "clusters:\n- name: " + scalar(name) + `
  type: STATIC
  connect_timeout: 1s
  load_assignment:
    cluster_name: ` + scalar(name) + `
    endpoints: [{lb_endpoints: [{endpoint: {address: {socket_address: {address: 127.0.0.1, port_value: 18001}}}}]}]
`
}

// report returns what was found, in the order of lines.
func (c *checker) report() Report {
	byLine := func(a, b Finding) int { return cmp.Compare(a.Line, b.Line) }
	slices.SortStableFunc(c.findings, byLine)
	slices.SortStableFunc(c.notes, byLine)
	return Report{Findings: c.findings, Notes: c.notes}
}
