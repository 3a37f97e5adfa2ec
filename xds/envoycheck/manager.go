package envoycheck

import (
	"fmt"
	"slices"
	"strings"

	"github.com/zerohop/zerohop/shared/names"
)

// managers checks the HttpConnectionManagers that have the filter; if none has, the first, which then lacks it.
func (c *checker) managers() {
	if len(c.hcms) == 0 {
		if c.down != nil {
			c.note("fragment", c.down.config, "there is no HttpConnectionManager here: early header mutation, buffer limit, routes and order of filters are not checked")
		}
		return
	}
	var with []node
	for _, hcm := range c.hcms {
		if c.downstream(hcm) >= 0 {
			with = append(with, hcm)
		}
	}
	if len(with) == 0 {
		with = c.hcms[:1]
		f := c.lack("filter", with[0], "the filter zerohop is not among http_filters", "Without it nothing picks an endpoint.", c.downstreamFilter())
		f.Last = false
	}
	for _, hcm := range with {
		c.order(hcm)
		c.discovered(hcm)
		c.earlyMutation(hcm)
		c.askers(hcm)
		c.routing(hcm)
	}
}

// downstream returns the position of the filter among an HCM's http_filters, or -1.
func (c *checker) downstream(hcm node) int {
	return slices.IndexFunc(hcm.get("http_filters").list(), func(f node) bool {
		w, ok := wasmOf(f)
		return ok && w.ours() || f.get("config_discovery").Exists() && f.get("name").str() == names.RootDownstream
	})
}

// order checks that the filter runs before the router, which ends the chain.
func (c *checker) order(hcm node) {
	filters := hcm.get("http_filters")
	list := filters.list()
	router := slices.IndexFunc(list, func(f node) bool {
		_, typ := f.get("typed_config").message()
		return typ == "Router" || f.get("name").str() == "envoy.filters.http.router"
	})
	const why = "What stands behind the router never runs."
	switch ours := c.downstream(hcm); {
	case router < 0 && len(list) > 0:
		c.lack("router", hcm, "there is no router among http_filters", "Without it no request is forwarded.", routerFilter).Last = true
	case router >= 0 && router < len(list)-1:
		c.lack("filter-order", filters, fmt.Sprintf("the router is not the last filter; move %s before it", nameOf(list[router+1])), why, "")
	case ours >= 0:
		c.readers(list[ours+1:])
	}
}

// readers notes filters that look at bodies behind ours.
func (c *checker) readers(behind []node) {
	for _, f := range behind {
		switch _, typ := f.get("typed_config").message(); typ {
		case "Decompressor":
			c.lack("filter-order", f, "a decompressor stands behind the filter; move it before the filter", "The filter reads plain JSON; a compressed body is routed by load only.", "")
		case "JwtAuthentication", "ExtAuthz", "RBAC", "ApiKeyAuth", "BasicAuth", "OAuth2":
			c.note("auth-order", f, "%s stands behind the filter; before it, requests that are refused would cost no scheduling and hold no buffer", nameOf(f))
		}
	}
}

func nameOf(f node) string {
	if s := f.get("name").str(); s != "" {
		return s
	}
	return f.Path()
}

// discovered checks a filter that comes by ECDS.
func (c *checker) discovered(hcm node) {
	i := c.downstream(hcm)
	if i < 0 {
		return
	}
	d := hcm.get("http_filters").list()[i].get("config_discovery")
	if !d.Exists() {
		return
	}
	const why = "Envoy would wait for the agent, 15 s, and without one answer 500 to everything."
	if !d.get("default_config").Exists() {
		c.lack("ecds-default", d, "default_config is missing", why, c.defaultConfig())
	}
	if !d.get("apply_default_config_without_warming").is() {
		c.lack("ecds-warming", d, "apply_default_config_without_warming is not set", why, "apply_default_config_without_warming: true\n").Replace = true
	}
}

// earlyMutation checks that clients cannot set the headers by which the filter steers.
func (c *checker) earlyMutation(hcm node) {
	var removed []string
	at := node{}
	for _, e := range hcm.get("early_header_mutation_extensions").list() {
		body, typ := e.get("typed_config").message()
		if typ != "HeaderMutation" {
			continue
		}
		if !at.Exists() {
			at = body
		}
		for _, m := range body.get("mutations").list() {
			removed = append(removed, m.get("remove").str(), m.get("remove_on_match", "key_matcher", "exact").str())
		}
	}
	var missing []string
	for _, h := range names.Stripped {
		if !slices.Contains(removed, h) {
			missing = append(missing, h)
		}
	}
	if len(missing) == 0 {
		return
	}
	what := "requests keep what clients send as " + strings.Join(missing, ", ")
	const why = "A client could steer by these headers while the filter is being reloaded; they are to be removed before any route is matched."
	if at.Exists() {
		c.lack("early-mutation", at, what, why, mutations(missing, ""))
		return
	}
	c.lack("early-mutation", hcm, what, why, earlyMutation(missing))
}
