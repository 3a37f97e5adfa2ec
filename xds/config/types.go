package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/zerohop/zerohop/scorers"
	"github.com/zerohop/zerohop/xds/config/known"
	"github.com/zerohop/zerohop/xds/strictyaml"
)

// types are the plugin types that a document can name.
type types struct {
	active []scorers.Spec
	byName map[string]*scorers.Spec // active ones, by type and by older name
	known  map[string]*known.Type   // those that are no part of the filter, likewise
}

func newTypes(active []scorers.Spec) types {
	t := types{active: active, byName: make(map[string]*scorers.Spec, 2*len(active)), known: knownTypes(active)}
	for i := range active {
		s := &active[i]
		for _, alias := range s.Aliases {
			t.byName[alias] = s
		}
	}
	for i := range active {
		t.byName[active[i].Type] = &active[i]
	}
	return t
}

// knownTypes are the types that are no part of the filter, by type and by older name.
func knownTypes(active []scorers.Spec) map[string]*known.Type {
	types := known.Types()
	out := make(map[string]*known.Type, len(types))
	for i := range types {
		t := &types[i]
		if slices.ContainsFunc(active, func(s scorers.Spec) bool { return s.Type == t.Type }) {
			continue
		}
		out[t.Type] = t
		for _, alias := range t.Aliases {
			out[alias] = t
		}
	}
	return out
}

// lookup returns what a type's name, or an older one, stands for; nil if it is not registered. k is nil for a type of the
// filter.
func (t *types) lookup(typ string) (spec *scorers.Spec, k *known.Type) {
	if s, ok := t.byName[typ]; ok {
		return s, nil
	}
	if k, ok := t.known[typ]; ok {
		return &k.Spec, k
	}
	return nil, nil
}

// suggest says what to write instead of an unknown type.
func (t *types) suggest(typ string) string {
	names := make([]string, 0, len(t.active)+len(t.known))
	for i := range t.active {
		names = append(names, t.active[i].Type)
	}
	if near := strictyaml.Nearest(typ, append(names, sortedKeys(t.known)...)); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return "this version has " + strings.Join(names, ", ")
}
