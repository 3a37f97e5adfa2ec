package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/zerohop/zerohop/scorers"
	"github.com/zerohop/zerohop/shared/plan"
	"github.com/zerohop/zerohop/xds/strictyaml"
)

// loader is one Load in progress. Each step goes on after a problem, so that later ones are found too.
type loader struct {
	types        []scorers.Spec
	problems     strictyaml.Problems
	warnings     []strictyaml.Problem
	defaults     []Default
	absent       bool // the EndpointPickerConfig is the default one
	instances    []instance
	byName       map[string]int    // index in instances
	byType       map[string]int    // index in types
	producerRefs []strictyaml.Node // parameters that name the producer of the prefix index
	profileList  []plan.Profile
	refs         [][]int // see Config
	handlerName  string
	prefixPlan   plan.Prefix
	discovery    *FileDiscovery
	zerohopPlan  Zerohop
	wants        scorers.Wants
	lines        map[string]int // see Config
}

// instance is one plugin, declared or added by defaulting.
type instance struct {
	node   strictyaml.Node // where it is declared; does not exist if it was added
	name   string          // unique
	spec   *scorers.Spec   // nil if the type is not registered
	params plan.Params
	usable bool // params are without problem
}

// is says whether the instance plays any of the roles in k.
func (i *instance) is(k scorers.Kind) bool { return i.spec != nil && i.spec.Kinds&k != 0 }

// warnf notes something that is accepted but will surprise.
func (l *loader) warnf(n strictyaml.Node, format string, args ...any) {
	l.warnings = append(l.warnings, strictyaml.Problem{Line: n.Line(), Path: n.Path(), Text: fmt.Sprintf(format, args...)})
}

// defaulted notes a value that the documents left open.
func (l *loader) defaulted(path, value, why string) {
	l.defaults = append(l.defaults, Default{Path: path, Value: value, Why: why})
}

// warned returns the warnings in the order of lines.
func (l *loader) warned() []strictyaml.Problem {
	slices.SortStableFunc(l.warnings, func(a, b strictyaml.Problem) int { return cmp.Compare(a.Line, b.Line) })
	return l.warnings
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
			nameNode.Problemf("duplicate plugin name %q, already used by %s; give one of them another name", name, first.node.Path())
			continue
		}
		if !n.Field("name").Exists() && typ != "" && !l.absent {
			l.defaulted(n.Path()+".name", scalar(typ), "a plugin without name has its type's")
		}
		in := instance{node: n, name: name, spec: l.lookup(typ)}
		if in.spec == nil && typ != "" {
			n.Field("type").Problemf("plugin type %q is not registered; %s", typ, l.suggestType(typ))
		}
		if in.spec != nil {
			in.params, in.usable = l.params(n.Field("parameters"), in.spec)
		}
		l.append(in)
	}
}

// add appends an instance of a type that defaulting needs, and returns its name, which is the type's.
func (l *loader) add(typ, why string) string {
	if in := l.find(typ); in != nil {
		in.node.Problemf("has the name %q, which the %s that is added by default needs; give it another name", typ, typ)
		return typ
	}
	spec := l.lookup(typ)
	if spec == nil {
		l.problems.Addf("plugins", "plugin type %q is needed but not registered", typ)
		return typ
	}
	path := fmt.Sprintf("plugins[%d]", len(l.instances))
	l.defaulted(path, typ, why)
	in := instance{name: typ, spec: spec, params: spec.Defaults(), usable: true}
	for i := range in.params {
		l.defaultParam(path+".parameters", spec, in.params[i])
	}
	l.append(in)
	return typ
}

// append adds an instance. Pointers to others are not valid any more.
func (l *loader) append(in instance) {
	if l.byName == nil {
		l.byName = make(map[string]int)
	}
	if _, taken := l.byName[in.name]; !taken {
		l.byName[in.name] = len(l.instances)
	}
	l.instances = append(l.instances, in)
}

// find returns the instance called name, or nil. The pointer is valid until the next instance is appended.
func (l *loader) find(name string) *instance {
	if i, ok := l.byName[name]; ok {
		return &l.instances[i]
	}
	return nil
}

// lookup returns the Spec of a type, or nil.
func (l *loader) lookup(typ string) *scorers.Spec {
	if l.byType == nil {
		l.byType = make(map[string]int, len(l.types))
		for i := range l.types {
			l.byType[l.types[i].Type] = i
		}
	}
	if i, ok := l.byType[typ]; ok {
		return &l.types[i]
	}
	return nil
}

// suggestType says what to write instead of an unknown type.
func (l *loader) suggestType(typ string) string {
	names := make([]string, len(l.types))
	for i := range l.types {
		names[i] = l.types[i].Type
	}
	if near := strictyaml.Nearest(typ, names); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return "this version has " + strings.Join(names, ", ")
}

// suggestName says what to write instead of the name of a plugin that is not declared.
func (l *loader) suggestName(name string) string {
	names := make([]string, len(l.instances))
	for i := range l.instances {
		names[i] = l.instances[i].name
	}
	if near := strictyaml.Nearest(name, names); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return "declare it under plugins"
}
