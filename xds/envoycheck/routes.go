package envoycheck

import (
	"fmt"
	"slices"
	"strings"

	"github.com/zerohop/zerohop/shared/names"
	"github.com/zerohop/zerohop/shared/plan"
)

// route is one route that forwards requests.
type route struct {
	node
	action   node
	clusters []string
}

// routing checks the routes of an HCM.
func (c *checker) routing(hcm node) {
	config := c.routeConfig(hcm)
	if !config.Exists() {
		c.note("routes", hcm, "the routes are not in this file (RDS); they are not checked")
		return
	}
	hosts := config.get("virtual_hosts").list()
	var forwarding []node // virtual hosts with a route to the model servers
	for _, host := range hosts {
		if slices.ContainsFunc(routesOf(host), c.leadsToModels) {
			forwarding = append(forwarding, host)
		}
	}
	if len(forwarding) == 0 && len(hosts) > 0 {
		forwarding = hosts[:1]
	}
	for _, host := range forwarding {
		c.destinations(host)
		for _, r := range routesOf(host) {
			if c.leadsToModels(r) {
				c.action(host, r)
			}
		}
		c.bodyLimit(hcm, host)
		c.dryRuns(host)
	}
	if s, ok := hcm.get("stream_idle_timeout").seconds(); ok && s > 0 && s < leastIdle {
		c.lack("idle-timeout", hcm, "stream_idle_timeout is less than 60 s", idleWhy, "stream_idle_timeout: 600s\n").Replace = true
	}
}

// routeConfig returns the HCM's route configuration, wherever in the document it stands.
func (c *checker) routeConfig(hcm node) node {
	if n := hcm.get("route_config"); n.Exists() {
		return n
	}
	want := hcm.get("rds", "route_config_name").str()
	for _, r := range c.routes {
		if want == "" || r.get("name").str() == want {
			return r
		}
	}
	return node{}
}

// routesOf returns the routes of a virtual host that forward requests.
func routesOf(host node) []route {
	var out []route
	for _, n := range host.get("routes").list() {
		r := route{node: n, action: n.get("route")}
		if !r.action.Exists() {
			continue
		}
		if name := r.action.get("cluster").str(); name != "" {
			r.clusters = []string{name}
		}
		for _, w := range r.action.get("weighted_clusters", "clusters").list() {
			r.clusters = append(r.clusters, w.get("name").str())
		}
		out = append(out, r)
	}
	return out
}

// onHeader says whether the presence of a request header is enough for the route to match.
func (r route) onHeader(name string) bool {
	return slices.ContainsFunc(r.get("match", "headers").list(), func(h node) bool {
		if h.get("name").str() != name || h.get("invert_match").is() {
			return false
		}
		keys := slices.DeleteFunc(h.fields(), func(k string) bool { return k == "name" || k == "invert_match" || k == "invertMatch" })
		return len(keys) == 0 || h.get("present_match").is()
	})
}

// leadsToModels says whether the route leads to a cluster of model servers, or to one that is to be added. If no such
// cluster is in the document, every route does that is not the fallback.
func (c *checker) leadsToModels(r route) bool {
	known := c.destinationClusters()
	if len(known) == 0 {
		return !r.onHeader(names.HeaderFallback)
	}
	return slices.ContainsFunc(r.clusters, func(name string) bool {
		return name == c.destinationName(c.mode()) || slices.ContainsFunc(known, func(d node) bool { return d.get("name").str() == name })
	})
}

// destinations checks that what the filter announces chooses the route.
func (c *checker) destinations(host node) {
	routes := routesOf(host)
	first := func(fits func(route) bool) int { return slices.IndexFunc(routes, fits) }
	byHeader := first(func(r route) bool { return c.leadsToModels(r) && r.onHeader(names.HeaderDestination) })
	open := first(func(r route) bool { return c.leadsToModels(r) && len(r.get("match", "headers").list()) == 0 })
	fallback := first(func(r route) bool { return r.onHeader(names.HeaderFallback) })
	mode := c.mode()
	if len(c.clusters) > 0 { // else clusters of model servers cannot be told from others
		switch {
		case mode == plan.DestinationList && !c.routesList(routes):
			c.lack("route", host, "no route leads lists of endpoints to a cluster with override_host", "In destination mode list they would go to no or to the wrong cluster.", c.pickedRoute(mode))
		case mode == plan.DestinationHeader && byHeader < 0 && open < 0:
			c.lack("route", host, "no route leads to the cluster of the picked endpoint", "The filter's pick would have no effect.", c.pickedRoute(mode))
		case mode == plan.DestinationFilterState && open < 0:
			f := c.lack("route", host, "no route without condition leads to the cluster of the picked endpoint", "In destination mode filter_state there is no header that a route could match.", c.pickedRoute(mode))
			f.Last = true
		}
	}
	switch {
	case fallback >= 0 && open >= 0 && open < fallback:
		c.lack("route-order", routes[fallback].node, "the fallback's route stands behind one that matches everything; move it to the front",
			"Requests without any endpoint would go to the destination cluster and get 503.", "")
	case fallback < 0 && open >= 0:
		c.lack("route-fallback", host, "no route matches the header "+names.HeaderFallback,
			"In failure mode FailOpen requests without any endpoint would go to the destination cluster and get 503.", fallbackRoute(c.fallbackCluster()))
	case fallback >= 0 && !removes(routes[fallback].node, host):
		c.lack("fallback-header", routes[fallback].node, names.HeaderFallback+" is not removed", "It would reach the model server.",
			"request_headers_to_remove: ["+names.HeaderFallback+"]\n")
	}
}

// routesList says whether a list of endpoints reaches a cluster that understands it.
func (c *checker) routesList(routes []route) bool {
	return slices.ContainsFunc(routes, func(r route) bool {
		return slices.Contains(r.clusters, c.destinationName(plan.DestinationList)) || slices.ContainsFunc(r.clusters, func(name string) bool {
			return slices.ContainsFunc(c.clusters, func(d node) bool { return d.get("name").str() == name && overrideHost(d).Exists() })
		})
	})
}

// removes says whether a route or its virtual host removes the fallback header.
func removes(levels ...node) bool {
	return slices.ContainsFunc(levels, func(n node) bool {
		return slices.ContainsFunc(n.get("request_headers_to_remove").list(), func(h node) bool { return h.str() == names.HeaderFallback })
	})
}

// Bounds of timeouts in seconds, below which streams are cut.
const (
	leastTimeout = 300
	leastIdle    = 60
)

const idleWhy = "A long prompt keeps a stream silent until its first token, and a busy endpoint for longer."

// action checks timeouts and retries of a route to the model servers.
func (c *checker) action(host node, r route) {
	a := r.action
	if s, ok := a.get("timeout").seconds(); !ok || s > 0 && s < leastTimeout {
		what := "timeout is not set, and Envoy's default is 15 s"
		if ok {
			what = "timeout is " + a.get("timeout").str()
		}
		c.lack("timeout", a, what, "It counts until the last token and would cut streams.", "timeout: 0s\n").Replace = true
	}
	if s, ok := a.get("idle_timeout").seconds(); ok && s > 0 && s < leastIdle {
		c.lack("idle-timeout", a, "idle_timeout is less than 60 s", idleWhy, "idle_timeout: 600s\n").Replace = true
	}
	p := a.get("retry_policy")
	if !p.Exists() {
		p = host.get("retry_policy")
	}
	const why = "A request to an endpoint that fails before it answers moves to the next best one only by a retry."
	if !p.Exists() {
		c.lack("retry", a, "retry_policy is missing", why, "retry_policy:\n  retry_on: "+retryOn+"\n  retriable_status_codes: [503]\n  num_retries: 3\n  retry_back_off: {base_interval: 0.005s, max_interval: 0.1s}\n")
		return
	}
	c.retry(p, why)
}

// retryOn is what a retry is good for where a server has not got the request. For what else the plan allows, the filter asks by
// a header.
const retryOn = "connect-failure,refused-stream,reset-before-request"

func (c *checker) retry(p node, why string) {
	var on []string
	for s := range strings.SplitSeq(p.get("retry_on").str(), ",") {
		if s = strings.TrimSpace(s); s != "" {
			on = append(on, s)
		}
	}
	var missing []string
	for s := range strings.SplitSeq(retryOn, ",") {
		if !slices.Contains(on, s) && !slices.Contains(on, "5xx") && (s != "reset-before-request" || !slices.Contains(on, "reset")) {
			missing = append(missing, s)
		}
	}
	c.twice(p, on)
	if len(missing) > 0 {
		c.lack("retry-on", p, "retry_on lacks "+strings.Join(missing, ", "), why, "retry_on: "+strings.Join(append(on, missing...), ",")+"\n").Replace = true
	}
	if n, _ := p.get("num_retries").number(); n < 2 {
		c.lack("num-retries", p, fmt.Sprintf("num_retries is %v", max(1, n)), "When several endpoints fail at once, one retry meets the next of them.", "num_retries: 3\n").Replace = true
	}
	if len(p.get("retriable_status_codes").list()) == 0 {
		c.lack("retriable-status-codes", p, "retriable_status_codes is missing", "Without it no 503 is retried, whatever the filter allows.", "retriable_status_codes: [503]\n").Replace = true
	}
	if s, ok := p.get("per_try_timeout").seconds(); ok && s > 0 && s < leastTimeout {
		c.lack("per-try-timeout", p, "per_try_timeout is "+p.get("per_try_timeout").str(), "It would end requests without streaming, whose first byte is the whole answer; attempts.firstByteTimeout is for those with.", "per_try_timeout: 540s\n").Replace = true
	}
}

// twice notes reasons to retry by which a server may get what another has got already, although the plan does not allow it.
func (c *checker) twice(p node, on []string) {
	if pl := c.plan(); pl == nil || pl.Attempts.Retries == plan.RetryUnanswered {
		return
	}
	for _, s := range on {
		switch s {
		case "5xx", "gateway-error", "reset", "retriable-status-codes":
			c.note("retry-twice", p, "retry_on has %s, by which a POST may reach two servers; without it attempts.retries decides", s)
			return
		}
	}
}

// leastBody is the least limit of a body: a prompt of 128 000 tokens has about 1 MiB of JSON, one with images more.
const leastBody = 4 << 20

// bodyLimit checks that Envoy holds what the filter waits for.
func (c *checker) bodyLimit(hcm, host node) {
	const field = "request_body_buffer_limit"
	const why = "The filter holds a request until it is complete; a larger one gets 413, by default from 1 MiB."
	for _, l := range c.listeners {
		if n, ok := l.get("per_connection_buffer_limit_bytes").number(); ok && n >= leastBody && within(hcm, l) {
			return
		}
	}
	if n, ok := host.get(field).number(); ok && n >= leastBody {
		return
	}
	all := true
	for _, r := range routesOf(host) {
		if n, ok := r.get(field).number(); c.leadsToModels(r) && (!ok || n < leastBody) {
			all = false
		}
	}
	if all {
		return
	}
	what := field + " is not set"
	if n, ok := host.get(field).number(); ok {
		what = fmt.Sprintf("%s is %.0f", field, n)
	}
	c.lack("body-limit", host, what, why, field+": 33554432\n").Replace = true
}

// within says whether n stands in outer.
func within(n, outer node) bool {
	rest, ok := strings.CutPrefix(n.Path(), outer.Path())
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}
