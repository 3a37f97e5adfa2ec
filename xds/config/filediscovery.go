package config

import (
	"github.com/zerohop/zerohop/xds/config/known"
	"github.com/zerohop/zerohop/xds/strictyaml"
)

// pathFileDiscovery stands for the path of the plugin in messages.
const pathFileDiscovery = "dataLayer.discovery"

// fileDiscovery resolves dataLayer.discovery, which is n, to the declared plugin that it names.
func (l *loader) fileDiscovery(n strictyaml.Node) {
	var used *instance
	if n.Exists() {
		ref := n.Field("pluginRef")
		switch used = l.find(ref.Required()); {
		case ref.Text() == "":
		case used == nil:
			ref.Problemf("references undefined plugin %q; %s", ref.Text(), l.suggestName(ref.Text()))
		case used.known != nil && !used.known.Active() && used.known.Role&known.Discovery != 0:
			// It is reported where it is declared.
		case used.spec != nil && used.spec.Type != known.FileDiscovery:
			ref.Problemf("%q is of type %s, which finds no endpoints; name a plugin of type %s", used.name, used.spec.Type, known.FileDiscovery)
		}
	}
	for i := range l.instances {
		in := &l.instances[i]
		if in.spec == nil || in.spec.Type != known.FileDiscovery {
			continue
		}
		if in != used {
			l.warnf(in.node, "has no effect; dataLayer.discovery.pluginRef does not name it")
			continue
		}
		if what := file(in.params.String("path", "")); what != "" {
			in.at("path").Problemf("%s", what)
		}
		l.discovery = &FileDiscovery{Name: in.name, Path: in.params.String("path", ""), Watch: in.params.Bool("watchFile", false)}
		l.lines = map[string]int{pathFileDiscovery: in.node.Line()}
	}
}
