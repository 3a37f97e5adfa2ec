package envoycheck_test

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.yaml.in/yaml/v2"

	"github.com/zerohop/zerohop/shared/plan"
	"github.com/zerohop/zerohop/xds/envoycheck"
	"github.com/zerohop/zerohop/xds/envoycheck/envoychecktest"
)

// tree is a configuration as the YAML reader has it.
type tree = envoychecktest.Tree

func parse(t *testing.T, doc []byte) tree {
	t.Helper()
	var v tree
	if err := yaml.Unmarshal(doc, &v); err != nil {
		t.Fatalf("%v\n%s", err, doc)
	}
	return v
}

func marshal(t *testing.T, v any) []byte {
	t.Helper()
	b, err := yaml.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// committed returns the bootstrap in the repository.
func committed(t *testing.T) tree {
	t.Helper()
	b, err := os.ReadFile("../../envoy.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return parse(t, b)
}

// at walks down a path of keys, indices and values of "name" fields, separated by slashes.
func at(t *testing.T, v any, path string) any {
	t.Helper()
	for _, step := range strings.Split(path, "/") {
		switch x := v.(type) {
		case tree:
			v = x[step]
		case []any:
			i := slices.IndexFunc(x, func(e any) bool {
				m, _ := e.(tree)
				return m != nil && m["name"] == step
			})
			if n, err := strconv.Atoi(step); err == nil && i < 0 {
				i = n
			}
			if i < 0 || i >= len(x) {
				t.Fatalf("%s: no element %q", path, step)
			}
			v = x[i]
		default:
			v = nil
		}
		if v == nil {
			t.Fatalf("%s: nothing at %q", path, step)
		}
	}
	return v
}

func cut(path string) (parent, last string) {
	i := strings.LastIndexByte(path, '/')
	return path[:i], path[i+1:]
}

// del removes a field or an element.
func del(t *testing.T, root tree, path string) {
	t.Helper()
	at(t, root, path)
	up, last := cut(path)
	switch x := at(t, root, up).(type) {
	case tree:
		delete(x, last)
	case []any:
		set(t, root, up, slices.DeleteFunc(x, func(e any) bool {
			m, _ := e.(tree)
			return m != nil && m["name"] == last || fmt.Sprint(e) == last
		}))
	}
}

// set gives a field another value.
func set(t *testing.T, root tree, path string, v any) {
	t.Helper()
	up, last := cut(path)
	at(t, root, up).(tree)[last] = v
}

// mend does what the check asks for.
func mend(t *testing.T, v tree, want *plan.Plan) {
	t.Helper()
	if _, err := envoychecktest.Mend(marshal(t, v), want); err != nil {
		t.Error(err)
	}
}

func ids(r envoycheck.Report) []string {
	var out []string
	for _, f := range r.Findings {
		out = append(out, f.ID)
	}
	slices.Sort(out)
	return out
}

func check(t *testing.T, v any, want *plan.Plan) envoycheck.Report {
	t.Helper()
	r, err := envoycheck.Check(marshal(t, v), want)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
