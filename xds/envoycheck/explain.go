package envoycheck

import (
	"slices"
	"strings"

	"github.com/zerohop/zerohop/shared/names"
)

// explains reports whether picks are explained to anybody.
func (c *checker) explains() bool {
	p := c.plan()
	return p != nil && len(p.Explain.Networks) > 0
}

// askers checks that the address by which clients are trusted is not one that they can choose.
func (c *checker) askers(hcm node) {
	if !c.explains() {
		return
	}
	const why = "Picks are explained to trusted networks, and a client could claim an address of theirs in x-forwarded-for."
	if !hcm.get("use_remote_address").is() {
		c.lack("explain-address", hcm, "use_remote_address is not set", why, "use_remote_address: true\n").Replace = true
	}
	if hops, ok := hcm.get("xff_num_trusted_hops").number(); ok && hops > 0 {
		c.note("explain-address", hcm.get("xff_num_trusted_hops"), "picks are explained by the address in x-forwarded-for: every proxy in front has to write it, or clients choose their address")
	}
	if d := hcm.get("original_ip_detection_extensions"); len(d.list()) > 0 {
		c.note("explain-address", d, "picks are explained by the address that these extensions find: no client may be able to choose it")
	}
}

// dryRuns checks that a dry run which the filter does not answer is answered by Envoy, and not by a model server.
func (c *checker) dryRuns(host node) {
	if !c.explains() {
		return
	}
	routes := host.get("routes").list()
	first := slices.IndexFunc(routes, func(r node) bool {
		match := r.get("match")
		if prefix := match.get("prefix"); prefix.Exists() {
			return strings.HasPrefix(names.PathExplain, prefix.str())
		}
		return match.get("path").str() == names.PathExplain || match.get("path_separated_prefix").str() == names.PathExplain || match.get("safe_regex").Exists()
	})
	if first < 0 || routes[first].get("direct_response").Exists() && len(routes[first].get("match", "headers").list()) == 0 {
		return
	}
	c.lack("explain-route", host, "the first route that "+names.PathExplain+" fits to is no direct response",
		"A dry run that the filter does not answer would reach a model server.", explainRoute)
}

const explainRoute = "routes:\n- name: explain\n  match: {prefix: \"" + names.PathExplain + "\"}\n  direct_response: {status: 404}\n"
