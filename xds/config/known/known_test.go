package known

import (
	"slices"
	"strings"
	"testing"

	"github.com/zerohop/zerohop/scorers"
	"github.com/zerohop/zerohop/scorers/registry"
	"github.com/zerohop/zerohop/shared/plan"
)

// TestTypesAreDisjoint checks that no name stands for two types, here or in the filter.
func TestTypesAreDisjoint(t *testing.T) {
	seen := make(map[string]string)
	add := func(where string, s *scorers.Spec) {
		for _, name := range append([]string{s.Type}, s.Aliases...) {
			if other, twice := seen[name]; twice {
				t.Errorf("%s is a type of %s and of %s", name, other, where)
			}
			seen[name] = where
		}
	}
	for _, s := range registry.Specs() {
		add("the filter", &s)
	}
	types := Types()
	for i := range types {
		add("this package", &types[i].Spec)
	}
	if !slices.IsSortedFunc(types, func(a, b Type) int { return strings.Compare(a.Type, b.Type) }) {
		t.Error("the list is not sorted")
	}
}

func TestTypesAreComplete(t *testing.T) {
	types := Types()
	for i := range types {
		k := &types[i]
		if k.New != nil || k.Kinds&scorers.KindAgent == 0 {
			t.Errorf("%s is made by the filter", k.Type)
		}
		if !k.Active() && len(k.Idle) > 0 {
			t.Errorf("%s is not active, and has parameters that are not", k.Type)
		}
		for name := range k.Idle {
			if !declares(k.Params, name) {
				t.Errorf("%s has no parameter %s", k.Type, name)
			}
		}
		for _, name := range k.Open {
			if !declares(k.Params, name) {
				t.Errorf("%s has no parameter %s", k.Type, name)
			}
		}
		defaultsFit(t, k.Type, k.Params)
	}
}

// declares says whether there is a parameter at a path.
func declares(fields []scorers.Param, path string) bool {
	first, rest, deeper := strings.Cut(path, ".")
	for i := range fields {
		if fields[i].Name == first {
			return !deeper || declares(fields[i].Fields, rest)
		}
	}
	return false
}

// defaultsFit checks that defaults are what their own declarations accept, and that nothing is declared without a word.
func defaultsFit(t *testing.T, typ string, fields []scorers.Param) {
	t.Helper()
	for i := range fields {
		p := &fields[i]
		v := plan.Param{Kind: p.Kind}
		switch d := p.Default.(type) {
		case nil:
			v.Kind = 255
		case float64:
			v.Num = d
		case string:
			v.Str = d
		case bool:
			if p.Kind != plan.Bool {
				t.Errorf("%s.%s: default %v", typ, p.Name, d)
			}
		default:
			t.Errorf("%s.%s: default of type %T", typ, p.Name, d)
		}
		if what := p.Check(v); v.Kind != 255 && what != "" {
			t.Errorf("%s.%s: default %v: %s", typ, p.Name, p.Default, what)
		}
		if p.Doc == "" && p.Deprecated == "" {
			t.Errorf("%s.%s has no doc", typ, p.Name)
		}
		defaultsFit(t, typ, p.Fields)
	}
}
