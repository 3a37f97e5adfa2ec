package config

import (
	"errors"

	"github.com/zerohop/zerohop/scorers"
	"github.com/zerohop/zerohop/shared/plan"
	"github.com/zerohop/zerohop/xds/strictyaml"
)

const fileDiscoveryType = "file-discovery"

// pathFileDiscovery stands for the path of the plugin in messages.
const pathFileDiscovery = "dataLayer.discovery"

// fileDiscoverySpec is the one plugin type that the agent acts on and the filter does not know.
var fileDiscoverySpec = scorers.Spec{
	Type:  fileDiscoveryType,
	Kinds: scorers.KindAgent,
	Params: []scorers.Param{
		{Name: "path", Kind: plan.String, Default: "", Doc: "the endpoint file"},
		{Name: "watchFile", Kind: plan.Bool, Default: false, Doc: "whether the file is read again when it changes"},
	},
	New: func(u *scorers.Setup) (any, error) {
		p := u.Params
		if p.String("path", "") == "" {
			return nil, errors.New("path: is missing; write the name of the endpoint file")
		}
		if what := file(p.String("path", "")); what != "" {
			return nil, errors.New("path: " + what)
		}
		return nil, nil
	},
}

// fileDiscovery resolves dataLayer.discovery, which is n, to the declared plugin that it names.
func (l *loader) fileDiscovery(n strictyaml.Node) {
	var used *instance
	if n.Exists() {
		ref := n.Field("pluginRef")
		switch used = l.find(ref.Required()); {
		case ref.Text() == "":
		case used == nil:
			ref.Problemf("references undefined plugin %q; %s", ref.Text(), l.suggestName(ref.Text()))
		case used.spec != nil && used.spec.Type != fileDiscoveryType:
			ref.Problemf("%q is of type %s, which finds no endpoints; name a plugin of type %s", used.name, used.spec.Type, fileDiscoveryType)
		}
	}
	for i := range l.instances {
		in := &l.instances[i]
		if in.spec == nil || in.spec.Type != fileDiscoveryType {
			continue
		}
		if in != used {
			l.warnf(in.node, "has no effect; dataLayer.discovery.pluginRef does not name it")
			continue
		}
		l.discovery = &FileDiscovery{Name: in.name, Path: in.params.String("path", ""), Watch: in.params.Bool("watchFile", false)}
		l.lines = map[string]int{pathFileDiscovery: in.node.Line()}
	}
}
