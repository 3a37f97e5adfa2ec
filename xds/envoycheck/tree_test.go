package envoycheck

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.yaml.in/yaml/v2"

	"github.com/zerohop/zerohop/shared/plan"
)

// tree is a configuration as the YAML reader has it.
type tree = map[any]any

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

// apply does what a finding asks for: it merges the lines into the object at its path.
func apply(t *testing.T, root tree, f Finding) {
	t.Helper()
	var add tree
	if err := yaml.Unmarshal([]byte(f.Add), &add); err != nil {
		t.Fatalf("%s: the lines are no YAML: %v\n%s", f.ID, err, f.Add)
	}
	target := root
	if f.Path != "document" {
		target, _ = find(root, f.Path).(tree)
	}
	if target == nil {
		t.Fatalf("%s: there is no object at %s", f.ID, f.Path)
	}
	merge(target, add, f)
}

// find follows a path as findings have it; keys may contain dots.
func find(v any, path string) any {
	if path == "" {
		return v
	}
	switch x := v.(type) {
	case tree:
		for k, e := range x {
			rest, ok := strings.CutPrefix(path, k.(string))
			if !ok || rest != "" && rest[0] != '.' && rest[0] != '[' {
				continue
			}
			if found := find(e, strings.TrimPrefix(rest, ".")); found != nil {
				return found
			}
		}
	case []any:
		number, rest, ok := strings.Cut(strings.TrimPrefix(path, "["), "]")
		i, err := strconv.Atoi(number)
		if !ok || err != nil || i >= len(x) {
			return nil
		}
		return find(x[i], strings.TrimPrefix(rest, "."))
	}
	return nil
}

func merge(into, add tree, f Finding) {
	for k, v := range add {
		old, present := into[k]
		switch v := v.(type) {
		case tree:
			if m, ok := old.(tree); ok && !f.Replace {
				merge(m, v, f)
				continue
			}
		case []any:
			if l, ok := old.([]any); ok && !f.Replace {
				if f.Last {
					into[k] = append(slices.Clone(l), v...)
				} else {
					into[k] = append(slices.Clone(v), l...)
				}
				continue
			}
		}
		_ = present
		into[k] = v
	}
}

func ids(r Report) []string {
	var out []string
	for _, f := range r.Findings {
		out = append(out, f.ID)
	}
	slices.Sort(out)
	return out
}

func check(t *testing.T, v any, want *plan.Plan) Report {
	t.Helper()
	r, err := Check(marshal(t, v), want)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
