package strictyaml

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
)

// Node is one value of a document together with its path. Reading methods report a value of the wrong type as a problem
// and return the zero value, so that a walk goes on and finds the other problems too. Null counts as absent everywhere.
type Node struct {
	value    value
	path     string
	problems *Problems
}

// Exists says whether the value is present and not null.
func (n Node) Exists() bool { return n.value.v != nil }

// Path returns the path from the root, such as "plugins[2].type"; the root's is "document".
func (n Node) Path() string { return rootName(n.path) }

// Line returns the line of the value's key, or of the value if it has none; of the enclosing object if it is absent; 0 if
// that is unknown.
func (n Node) Line() int { return n.value.line }

// Problemf reports a problem of this value.
func (n Node) Problemf(format string, args ...any) {
	n.problems.add(Problem{Line: n.Line(), Path: n.Path(), Text: fmt.Sprintf(format, args...)})
}

// Fields reports every field of the object that is not in known, and a value that is not an object. It returns whether
// the value is an object.
func (n Node) Fields(known ...string) bool {
	for _, k := range n.Keys() {
		if !slices.Contains(known, k) {
			n.Field(k).Problemf("unknown field %q; %s", k, Suggest(k, known))
		}
	}
	return n.IsObject()
}

// Keys returns the object's keys in alphabetical order.
func (n Node) Keys() []string {
	m, ok := n.value.v.(map[string]value)
	if !ok {
		n.mismatch("an object")
		return nil
	}
	return slices.Sorted(maps.Keys(m))
}

// Field returns the object's field called name; it does not exist if the object has none. A value that is not an object
// has no fields; Fields or Keys report it.
func (n Node) Field(name string) Node {
	m, _ := n.value.v.(map[string]value)
	v, ok := m[name]
	if !ok {
		v.line = n.value.line
	}
	return Node{value: v, path: join(n.path, name), problems: n.problems}
}

// List returns the elements of a list.
func (n Node) List() []Node {
	l, ok := n.value.v.([]value)
	if !ok {
		n.mismatch("a list")
		return nil
	}
	out := make([]Node, len(l))
	for i := range l {
		out[i] = Node{value: l[i], path: index(n.path, i), problems: n.problems}
	}
	return out
}

// Text returns a string.
func (n Node) Text() string {
	s, ok := n.value.v.(string)
	if !ok {
		n.mismatch("a string")
	}
	return s
}

// IsNumber says whether the value is a number.
func (n Node) IsNumber() bool {
	_, ok := n.value.v.(float64)
	return ok
}

// IsBool says whether the value is true or false.
func (n Node) IsBool() bool {
	_, ok := n.value.v.(bool)
	return ok
}

// IsText says whether the value is a string.
func (n Node) IsText() bool {
	_, ok := n.value.v.(string)
	return ok
}

// IsObject says whether the value is an object.
func (n Node) IsObject() bool {
	_, ok := n.value.v.(map[string]value)
	return ok
}

// IsList says whether the value is a list.
func (n Node) IsList() bool {
	_, ok := n.value.v.([]value)
	return ok
}

// Required returns a string and reports one that is absent or empty.
func (n Node) Required() string {
	if n.value.v == nil || n.value.v == "" {
		n.Problemf("is missing")
	}
	return n.Text()
}

// Choice returns one of the words in known and reports any other.
func (n Node) Choice(known ...string) string {
	s := n.Text()
	if n.Exists() && !slices.Contains(known, s) && s != "" {
		n.Problemf("%q is not known; %s", s, Suggest(s, known))
	}
	return s
}

// Number returns a finite number.
func (n Node) Number() float64 {
	f, ok := n.value.v.(float64)
	if !ok || math.IsInf(f, 0) || math.IsNaN(f) {
		n.mismatch("a number")
		return 0
	}
	return f
}

// Bool returns a boolean.
func (n Node) Bool() bool {
	b, ok := n.value.v.(bool)
	if !ok {
		n.mismatch("true or false")
	}
	return b
}

// mismatch reports that something other than want stands here.
func (n Node) mismatch(want string) {
	switch v := n.value.v.(type) {
	case nil:
	case string:
		n.Problemf("must be %s, not the string %q", want, v)
	case float64:
		s := strconv.FormatFloat(v, 'g', -1, 64)
		n.Problemf("must be %s, not the number %s%s", want, s, quoteHint(want))
	case bool:
		n.Problemf("must be %s, not %t%s", want, v, quoteHint(want))
	case []value:
		n.Problemf("must be %s, not a list", want)
	default:
		n.Problemf("must be %s, not an object", want)
	}
}

// quoteHint says how to write a string that YAML takes for something else, such as 8000 or y.
func quoteHint(want string) string {
	if want == "a string" {
		return "; put it in quotes"
	}
	return ""
}

func join(path, field string) string {
	if path == "" {
		return field
	}
	return path + "." + field
}

func index(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }

func rootName(path string) string {
	if path == "" {
		return "document"
	}
	return path
}
