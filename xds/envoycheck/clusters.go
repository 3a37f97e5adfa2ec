package envoycheck

import (
	"fmt"
	"slices"

	"github.com/zerohop/zerohop/shared/names"
	"github.com/zerohop/zerohop/shared/plan"
)

// destinationClusters returns the clusters of model servers: those that connect to what the filter announces.
func (c *checker) destinationClusters() []node {
	var out []node
	for _, d := range c.clusters {
		if originalDst(d) || overrideHost(d).Exists() {
			out = append(out, d)
		}
	}
	return out
}

func originalDst(d node) bool { return d.get("type").str() == "ORIGINAL_DST" }

// overrideHost returns the policy of a cluster that reads a list of endpoints; it may not exist.
func overrideHost(d node) node {
	for _, p := range d.get("load_balancing_policy", "policies").list() {
		if body, typ := p.get("typed_extension_config", "typed_config").message(); typ == "OverrideHost" {
			return body
		}
	}
	return node{}
}

// checkClusters checks the clusters, if any are in the document.
func (c *checker) checkClusters() {
	if len(c.clusters) == 0 {
		if len(c.hcms) > 0 {
			c.note("fragment", c.hcms[0], "there is no cluster here: destination, attempt filter and the agent's cluster are not checked")
		}
		return
	}
	mode := c.mode()
	found := slices.ContainsFunc(c.clusters, originalDst)
	if mode == plan.DestinationList {
		found = slices.ContainsFunc(c.clusters, func(d node) bool { return overrideHost(d).Exists() })
	}
	if !found {
		what := "there is no cluster of type ORIGINAL_DST"
		if mode == plan.DestinationList {
			what = "there is no cluster with the policy override_host"
		}
		c.lack("destination-cluster", c.holder(), what, fmt.Sprintf("In destination mode %s it connects to what the filter picked.", mode), c.destinationCluster(mode)).Last = true
	}
	for _, d := range c.destinationClusters() {
		c.destination(d, mode)
		c.attemptFilter(d)
		c.limits(d)
	}
	c.agentCluster()
}

// holder returns the object that has the list of clusters.
func (c *checker) holder() node {
	if n := c.bootstrap.get("static_resources"); n.Exists() {
		return n
	}
	return node{}
}

// destination checks how a cluster learns the endpoint.
func (c *checker) destination(d node, mode string) {
	if policy := overrideHost(d); policy.Exists() {
		reads := slices.ContainsFunc(policy.get("override_host_sources").list(), func(s node) bool { return s.get("header").str() == names.HeaderDestination })
		if !reads {
			c.lack("override-header", policy, "override_host_sources does not name the header "+names.HeaderDestination,
				"The cluster would not read the filter's list.", "override_host_sources: [{header: "+names.HeaderDestination+"}]\n").Replace = true
		}
		return
	}
	if d.get("lb_policy").str() != "CLUSTER_PROVIDED" {
		c.lack("lb-policy", d, "lb_policy is not CLUSTER_PROVIDED", "ORIGINAL_DST works with no other.", "lb_policy: CLUSTER_PROVIDED\n").Replace = true
	}
	config := d.get("original_dst_lb_config")
	switch {
	case mode != plan.DestinationHeader:
	case !config.get("use_http_header").is():
		c.lack("use-http-header", d, "original_dst_lb_config.use_http_header is not set", "In destination mode header the cluster would not read the filter's header.",
			"original_dst_lb_config: {use_http_header: true, http_header_name: "+names.HeaderDestination+"}\n")
	case config.get("http_header_name").str() != names.HeaderDestination:
		c.lack("use-http-header", config, "http_header_name is not "+names.HeaderDestination, "The cluster would read a header that the filter does not set.",
			"http_header_name: "+names.HeaderDestination+"\n").Replace = true
	}
	if n := config.get("upstream_port_override"); n.Exists() {
		c.lack("port-override", config, "upstream_port_override is set; remove it", "The filter's pick has a port, and ranks of a host differ in nothing else.", "")
	}
}

const protocolOptions = "envoy.extensions.upstreams.http.v3.HttpProtocolOptions"

// attemptFilter checks that the attempt filter runs before each attempt at an endpoint.
func (c *checker) attemptFilter(d node) {
	const why = "Without it a retry goes to the endpoint that has just failed, and our headers reach the model server."
	options := d.get("typed_extension_protocol_options").get(protocolOptions)
	filters := options.get("http_filters")
	list := filters.list()
	codec := slices.IndexFunc(list, func(f node) bool {
		_, typ := f.get("typed_config").message()
		return typ == "UpstreamCodec" || f.get("name").str() == "envoy.filters.http.upstream_codec"
	})
	ours := slices.IndexFunc(list, func(f node) bool {
		w, ok := wasmOf(f)
		return ok && w.ours()
	})
	switch {
	case ours < 0 && !options.Exists():
		c.lack("attempt-filter", d, "the attempt filter is missing", why, c.protocolOptions())
	case ours < 0:
		c.lack("attempt-filter", options, "the attempt filter is missing", why, "http_filters:\n"+c.attempt(""))
	case codec >= 0 && codec < ours:
		c.lack("attempt-order", filters, "the attempt filter stands behind upstream_codec; move it to the front", "What stands behind the codec never runs.", "")
	}
	if options.Exists() && codec < 0 {
		c.lack("upstream-codec", options, "upstream_codec is not among http_filters", "A chain of upstream filters must end with it.", "http_filters:\n"+upstreamCodec("")).Last = true
	}
}

// Bounds of a cluster's limits.
const (
	mostConnect   = 5    // seconds; Envoy's default
	leastRequests = 1024 // Envoy's default
)

// limits checks what bounds the traffic to the model servers.
func (c *checker) limits(d node) {
	if s, ok := d.get("connect_timeout").seconds(); !ok || s >= mostConnect {
		c.lack("connect-timeout", d, "connect_timeout is not below 5 s, Envoy's default", "An endpoint whose host is gone would hold each request for as long before the next is tried.", "connect_timeout: 1s\n").Replace = true
	}
	for _, t := range d.get("circuit_breakers", "thresholds").list() {
		if p := t.get("priority").str(); p != "" && p != "DEFAULT" {
			continue
		}
		requests, _ := t.get("max_requests").number()
		retries, _ := t.get("max_retries").number()
		if requests > leastRequests && (retries > 3 || t.get("retry_budget").Exists()) {
			return
		}
	}
	c.lack("circuit-breakers", d, "circuit_breakers has no max_requests above 1024 with a retry_budget",
		"All endpoints are one cluster: Envoy's defaults allow 1024 requests and 3 retries at a time for all of them together.", circuitBreakers)
}

// agentCluster checks the cluster that the plan names.
func (c *checker) agentCluster() {
	p := c.plan()
	if p == nil || p.Agent.Cluster == "" {
		return
	}
	if slices.ContainsFunc(c.clusters, func(d node) bool { return d.get("name").str() == p.Agent.Cluster }) {
		return
	}
	c.lack("agent-cluster", c.holder(), fmt.Sprintf("there is no cluster %q, which the plan names as the agent's", p.Agent.Cluster),
		"The filter would get no snapshots and know no load.", agentCluster(p.Agent.Cluster)).Last = true
}
