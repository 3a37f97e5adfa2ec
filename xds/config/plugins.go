package config

import (
	"strings"

	"github.com/zerohop/zerohop/scorers"
	"github.com/zerohop/zerohop/shared/plan"
	"github.com/zerohop/zerohop/xds/strictyaml"
)

// loader is one Load in progress. Each step goes on after a problem, so that later ones are found too.
type loader struct {
	types        []scorers.Spec
	problems     strictyaml.Problems
	warnings     []string
	instances    []instance
	producerRefs []strictyaml.Node // parameters that name the producer of the prefix index
	profileList  []plan.Profile
	handlerName  string
	prefixPlan   plan.Prefix
}

// instance is one plugin, declared or added by defaulting.
type instance struct {
	path   string        // where it is declared; the type's name if it was added
	name   string        // unique
	spec   *scorers.Spec // nil if the type is not registered
	params plan.Params
}

// is says whether the instance plays any of the roles in k.
func (i *instance) is(k scorers.Kind) bool { return i.spec != nil && i.spec.Kinds&k != 0 }

// warnf notes something that has no effect.
func (l *loader) warnf(n strictyaml.Node, what string) {
	l.warnings = append(l.warnings, n.Path()+": "+what)
}

// plugins reads the declared plugins.
func (l *loader) plugins(nodes []strictyaml.Node) {
	for _, n := range nodes {
		typ := n.Field("type").Required()
		name, nameNode := n.Field("name").Text(), n.Field("name")
		if name == "" {
			name, nameNode = typ, n.Field("type")
		}
		if first := l.find(name); first != nil && name != "" {
			nameNode.Problemf("duplicate plugin name %q, already used by %s; give one of them another name", name, first.path)
			continue
		}
		in := instance{path: n.Path(), name: name, spec: l.lookup(typ)}
		if in.spec == nil && typ != "" {
			n.Field("type").Problemf("plugin type %q is not registered; this version has %s", typ, l.typeNames())
		}
		if in.spec != nil {
			in.params = l.checkedParams(n.Field("parameters"), in.spec)
		}
		l.instances = append(l.instances, in)
	}
}

// add appends an instance of a type that defaulting needs, and returns its name, which is the type's.
func (l *loader) add(typ string) string {
	if in := l.find(typ); in != nil {
		l.problems.Addf(in.path, "has the name %q, which the %s that is added by default needs; give it another name", typ, typ)
		return typ
	}
	spec := l.lookup(typ)
	if spec == nil {
		l.problems.Addf("plugins", "plugin type %q is needed but not registered", typ)
		return typ
	}
	l.instances = append(l.instances, instance{path: typ, name: typ, spec: spec, params: defaults(spec)})
	return typ
}

// find returns the instance called name, or nil. The pointer is valid until the next instance is appended.
func (l *loader) find(name string) *instance {
	for i := range l.instances {
		if l.instances[i].name == name {
			return &l.instances[i]
		}
	}
	return nil
}

// lookup returns the Spec of a type, or nil.
func (l *loader) lookup(typ string) *scorers.Spec {
	for i := range l.types {
		if l.types[i].Type == typ {
			return &l.types[i]
		}
	}
	return nil
}

func (l *loader) typeNames() string {
	names := make([]string, len(l.types))
	for i := range l.types {
		names[i] = l.types[i].Type
	}
	return strings.Join(names, ", ")
}
