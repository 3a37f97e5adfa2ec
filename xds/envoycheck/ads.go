package envoycheck

import (
	"fmt"
	"slices"

	"github.com/zerohop/zerohop/xds/bootstrap"
)

// ads checks that a bootstrap which takes something of ours by ADS has a connection for it.
func (c *checker) ads() {
	if !c.bootstrap.Exists() {
		return
	}
	uses := slices.ContainsFunc(c.clusters, func(d node) bool {
		return overrideHost(d).Exists() && d.get("eds_cluster_config", "eds_config", "ads").Exists()
	})
	plan := slices.ContainsFunc(c.hcms, func(hcm node) bool {
		i := c.downstream(hcm)
		return i >= 0 && hcm.get("http_filters").list()[i].get("config_discovery", "config_source", "ads").Exists()
	})
	if plan {
		c.nodeMetadata()
	}
	if !uses && !plan {
		return
	}
	if !c.bootstrap.get("dynamic_resources", "ads_config").Exists() {
		c.lack("ads", c.bootstrap, "plan or endpoints come by ADS, but dynamic_resources.ads_config is missing",
			"Envoy would never get them from the agent.", c.adsConnection())
	}
	if c.bootstrap.get("node", "id").str() == "" || c.bootstrap.get("node", "cluster").str() == "" {
		c.note("node", c.bootstrap, "ADS needs a name of this Envoy: set node.id and node.cluster, or start it with --service-node and --service-cluster")
	}
}

// nodeMetadata checks that the bootstrap tells the agent where the module is.
func (c *checker) nodeMetadata() {
	want := c.module()
	if want == "" {
		return
	}
	const why = "The agent names this path in the plan that it sends. Without it it sends none; with another one the two filters would run in two VMs."
	at, add := c.bootstrap, "wasm: "+scalar(want)+"\n"
	path := []string{"node", "metadata", bootstrap.MetadataKey, bootstrap.MetadataModule}
	for len(path) > 1 && at.get(path[0]).IsObject() {
		at, path = at.get(path[0]), path[1:]
	}
	for i := len(path) - 2; i >= 0; i-- {
		add = path[i] + ":\n" + indent(add, "  ")
	}
	name := "node.metadata." + bootstrap.MetadataKey + "." + bootstrap.MetadataModule
	got := c.bootstrap.get("node", "metadata", bootstrap.MetadataKey, bootstrap.MetadataModule).str()
	switch got {
	case want:
	case "":
		c.lack("node-metadata", at, name+" is missing", why, add)
	default:
		c.lack("node-metadata", at, fmt.Sprintf("%s is %q, but the attempt filter's vm_config.code.local.filename %q", name, got, want), why, add).Replace = true
	}
}

// module returns where the attempt filter, which does not come by ADS, finds the module; without one, the downstream filter.
func (c *checker) module() string {
	path := func(w *wasm) string { return w.config.get("vm_config", "code", "local", "filename").str() }
	for i := range c.wasms {
		if w := &c.wasms[i]; w.ours() && w.attempt() && path(w) != "" {
			return path(w)
		}
	}
	if c.down != nil {
		return path(c.down)
	}
	return ""
}
