package config

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/zerohop/zerohop/scorers"
	"github.com/zerohop/zerohop/shared/plan"
	"github.com/zerohop/zerohop/xds/config/known"
	"github.com/zerohop/zerohop/xds/strictyaml"
)

// loader is one Load in progress. Each step goes on after a problem, so that later ones are found too.
type loader struct {
	types        types
	failInactive bool // see FailOnInactive
	problems     strictyaml.Problems
	warnings     []strictyaml.Problem
	inactive     []Inactive
	raw          []string // see Config
	defaults     []Default
	absent       bool // the EndpointPickerConfig is the default one
	parsed       bool // parsers are declared
	instances    []instance
	byName       map[string]int    // index in instances
	byType       map[string]int    // index in types
	producerRefs []strictyaml.Node // parameters that name the producer of the prefix index
	profileList  []plan.Profile
	firstProfile int     // place of the first in the document
	refs         [][]int // see Config
	handlerName  string
	prefixPlan   plan.Prefix
	discovery    *FileDiscovery
	zerohopPlan  Zerohop
	wants        scorers.Wants
	metricsPlan  Metrics
	lines        map[string]int // see Config
}

// instance is one plugin, declared or added by defaulting.
type instance struct {
	node   strictyaml.Node // where it is declared; does not exist if it was added
	name   string          // unique
	spec   *scorers.Spec   // nil if the type is not registered
	known  *known.Type     // nil if the type is one of the filter
	params plan.Params
	usable bool // params are without problem
}

// is says whether the instance plays any of the roles in k in the filter.
func (in *instance) is(k scorers.Kind) bool {
	return in.spec != nil && in.known == nil && in.spec.Kinds&k != 0
}

// at returns where a parameter stands; for "", the instance.
func (in *instance) at(param string) strictyaml.Node {
	if param == "" {
		return in.node
	}
	return descend(in.node.Field("parameters"), param)
}

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
		l.append(l.declared(n, name, typ))
	}
}

// declared reads the plugin of a type that n declares.
func (l *loader) declared(n strictyaml.Node, name, typ string) instance {
	in := instance{node: n, name: name}
	in.spec, in.known = l.types.lookup(typ)
	switch {
	case in.spec == nil && typ != "":
		n.Field("type").Problemf("plugin type %q is not registered; %s", typ, l.types.suggest(typ))
		return in
	case in.spec == nil:
		return in
	case in.spec.Type != typ:
		l.warnf(n.Field("type"), "is an older name of %s; write that", in.spec.Type)
	case in.spec.DeprecatedBy != "":
		l.warnf(n.Field("type"), "is deprecated; use %s", in.spec.DeprecatedBy)
	}
	var given plan.Params
	in.params, given, in.usable = l.params(n.Field("parameters"), in.spec, in.known)
	if in.known != nil {
		for _, name := range sortedKeys(in.known.Idle) {
			if !given.Has(name) {
				l.unsaid(&in, name)
			}
		}
		l.knownPlugin(&in, given)
	}
	return in
}

// add appends an instance of a type that defaulting needs, and returns its name, which is the type's.
func (l *loader) add(typ, why string) string {
	if in := l.find(typ); in != nil {
		in.node.Problemf("has the name %q, which the %s that is added by default needs; give it another name", typ, typ)
		return typ
	}
	spec, k := l.types.lookup(typ)
	if spec == nil {
		l.problems.Addf("plugins", "plugin type %q is needed but not registered", typ)
		return typ
	}
	path := fmt.Sprintf("plugins[%d]", len(l.instances))
	l.defaulted(path, typ, why)
	in := instance{name: typ, spec: spec, known: k, params: spec.Defaults(), usable: true}
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
