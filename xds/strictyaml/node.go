package strictyaml

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"
)

// Node is one value of a document together with its path. Reading methods report a value of the wrong type as a problem
// and return the zero value, so that a walk goes on and finds the other problems too. Null counts as absent everywhere.
type Node struct {
	value    any
	path     string
	problems *Problems
}

// Exists says whether the value is present and not null.
func (n Node) Exists() bool { return n.value != nil }

// Path returns the path from the root, such as "plugins[2].type"; the root's is "document".
func (n Node) Path() string { return rootName(n.path) }

// Problemf reports a problem of this value.
func (n Node) Problemf(format string, args ...any) {
	n.problems.Addf(n.Path(), format, args...)
}

// Fields reports every field of the object that is not in known, and a value that is not an object. It returns whether
// the value is an object.
func (n Node) Fields(known ...string) bool {
	for _, k := range n.Keys() {
		if !slices.Contains(known, k) {
			n.problems.Addf(join(n.path, k), "unknown field %q; known here: %s", k, strings.Join(known, ", "))
		}
	}
	_, ok := n.value.(map[string]any)
	return ok
}

// Keys returns the object's keys in alphabetical order.
func (n Node) Keys() []string {
	m, ok := n.value.(map[string]any)
	if !ok {
		n.mismatch("an object")
		return nil
	}
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}

// Field returns the object's field called name; it does not exist if the object has none. A value that is not an object
// has no fields; Fields or Keys report it.
func (n Node) Field(name string) Node {
	m, _ := n.value.(map[string]any)
	return Node{value: m[name], path: join(n.path, name), problems: n.problems}
}

// List returns the elements of a list.
func (n Node) List() []Node {
	l, ok := n.value.([]any)
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
	s, ok := n.value.(string)
	if !ok {
		n.mismatch("a string")
	}
	return s
}

// IsNumber says whether the value is a number.
func (n Node) IsNumber() bool {
	_, ok := n.value.(float64)
	return ok
}

// Required returns a string and reports one that is absent or empty.
func (n Node) Required() string {
	if n.value == nil || n.value == "" {
		n.Problemf("is missing")
	}
	return n.Text()
}

// Number returns a finite number.
func (n Node) Number() float64 {
	f, ok := n.value.(float64)
	if !ok || math.IsInf(f, 0) || math.IsNaN(f) {
		n.mismatch("a number")
		return 0
	}
	return f
}

// Bool returns a boolean.
func (n Node) Bool() bool {
	b, ok := n.value.(bool)
	if !ok {
		n.mismatch("true or false")
	}
	return b
}

// mismatch reports that something other than want stands here.
func (n Node) mismatch(want string) {
	switch v := n.value.(type) {
	case nil:
	case string:
		n.Problemf("must be %s, not the string %q", want, v)
	case float64:
		s := strconv.FormatFloat(v, 'g', -1, 64)
		n.Problemf("must be %s, not the number %s%s", want, s, quoteHint(want))
	case bool:
		n.Problemf("must be %s, not %t%s", want, v, quoteHint(want))
	case []any:
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

// maxListed bounds the length of an error message.
const maxListed = 50

// Problems collects what is wrong with a document. The zero value is ready to use.
type Problems struct{ list []string }

// Addf adds a problem of the field at path. A problem that is already known is not repeated, so that a value may be read
// twice.
func (p *Problems) Addf(path, format string, args ...any) {
	s := path + ": " + fmt.Sprintf(format, args...)
	if !slices.Contains(p.list, s) {
		p.list = append(p.list, s)
	}
}

// Len returns the number of problems found so far.
func (p *Problems) Len() int { return len(p.list) }

// Err returns one error that lists all problems, one a line, or nil if there are none.
func (p *Problems) Err() error {
	if len(p.list) == 0 {
		return nil
	}
	list, rest := p.list, 0
	if len(list) > maxListed {
		list, rest = list[:maxListed], len(list)-maxListed
	}
	s := strings.Join(list, "\n")
	if rest > 0 {
		s += fmt.Sprintf("\nand %d more", rest)
	}
	return errors.New(s)
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
