package config

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/zerohop/zerohop/scorers"
	"github.com/zerohop/zerohop/shared/plan"
	"github.com/zerohop/zerohop/xds/strictyaml"
)

// Option changes how Load judges.
type Option uint8

// FailOnInactive makes a problem of everything that is accepted although nothing acts on it.
const FailOnInactive Option = 1

// Inactive is a part of a document that is accepted and checked, and that nothing acts on.
type Inactive struct {
	Line   int    `json:"line,omitempty"`
	Path   string `json:"path"`
	Name   string `json:"name,omitempty"` // of the plugin, or else of the feature gate or field
	Type   string `json:"type,omitempty"` // of the plugin; empty if it is about none
	Reason Reason `json:"reason"`
	What   string `json:"what"` // is not done, or has to be written elsewhere
}

// Reason says why nothing acts on a part of a document.
type Reason string

// The reasons.
const (
	ByVersion       Reason = "version"       // this version does not do such a thing
	ByConfiguration Reason = "configuration" // something else that it needs is not there
)

// Text says what is not active, without its place.
func (i *Inactive) Text() string {
	subject := i.Type
	if subject == "" {
		subject = i.Name
	}
	if i.Reason == ByConfiguration {
		return subject + " does not act as configured: " + i.What
	}
	return subject + " is known but not active in this version: " + i.What
}

// String returns "line 3: plugins[2]: precise-prefix-cache-producer is known but not active in this version: KV events are
// not read".
func (i *Inactive) String() string {
	return strictyaml.Problem{Line: i.Line, Path: i.Path, Text: i.Text()}.String()
}

// inactivef notes that nothing acts on a plugin, or on what n is of it.
func (l *loader) inactivef(n strictyaml.Node, in *instance, format string, args ...any) {
	l.idle(n, Inactive{Name: in.name, Type: in.spec.Type, What: fmt.Sprintf(format, args...)})
}

// idlef notes that a plugin of the filter cannot do what it is for, since something else is not there.
func (l *loader) idlef(n strictyaml.Node, in *instance, format string, args ...any) {
	l.idle(n, Inactive{Name: in.name, Type: in.spec.Type, Reason: ByConfiguration, What: fmt.Sprintf(format, args...)})
}

// idle notes a part of a document that nothing acts on, by default because this version does no such thing.
func (l *loader) idle(n strictyaml.Node, found Inactive) {
	found.Line, found.Path = n.Line(), n.Path()
	if found.Reason == "" {
		found.Reason = ByVersion
	}
	l.inactive = append(l.inactive, found)
	switch {
	case !l.failInactive:
	case found.Reason == ByConfiguration:
		n.Problemf("%s; mend or remove it, or drop --fail-on-inactive", found.Text())
	default:
		n.Problemf("%s; remove it or drop --fail-on-inactive", found.Text())
	}
}

// inactives returns what is not active in the order of lines.
func (l *loader) inactives() []Inactive {
	slices.SortStableFunc(l.inactive, func(a, b Inactive) int { return cmp.Compare(a.Line, b.Line) })
	return l.inactive
}

// knownPlugin judges a plugin of a type that is no part of the filter. given are its parameters without defaults.
func (l *loader) knownPlugin(in *instance, given plan.Params) {
	n, k := in.node, in.known
	if k.Check != nil && in.usable {
		if err := k.Check(given); err != nil {
			in.refused(err)
		}
	}
	if !k.Active() {
		l.inactivef(n, in, "%s", k.What)
		return
	}
	for _, name := range sortedKeys(k.Idle) {
		if !given.Has(name) || isDefault(given, name, paramAt(k.Params, name)) {
			continue
		}
		l.inactivef(descend(n.Field("parameters"), name), in, "%s", k.Idle[name])
	}
}

// isDefault says whether the scalar called name is given with its default.
func isDefault(given plan.Params, name string, p *scorers.Param) bool {
	for i := range given {
		g := &given[i]
		if g.Name != name || p == nil || p.Default == nil || p.Shape != scorers.Scalar {
			continue
		}
		switch d := p.Default.(type) {
		case float64:
			return g.Num == d
		case bool:
			return (g.Num != 0) == d
		case string:
			return g.Str == d
		}
	}
	return false
}
