package plan

import (
	"strconv"
	"strings"
)

// Params are the parameters of a plugin, in the order in which they stand in the plan. In JSON they are an object. Lists,
// objects and maps are flattened: field b of element 3 of list a is called a[3].b. What reads them is not copied into its many
// callers, for the size of the module.
type Params []Param

// Param is one parameter.
type Param struct {
	_ [0]func() // not comparable, for the size of the module

	Name string
	Kind ParamKind
	Num  float64 // Kind Number; Bool as 0 or 1
	Str  string  // Kind String
}

// ParamKind is the JSON type of a parameter.
type ParamKind uint8

// The kinds of parameter that plugins may declare.
const (
	Number ParamKind = iota
	Bool
	String
)

// Float returns the number called name, or def if there is none.
//
//go:noinline
func (p Params) Float(name string, def float64) float64 {
	for i := range p {
		if p[i].Name == name && p[i].Kind == Number {
			return p[i].Num
		}
	}
	return def
}

// Int returns the number called name truncated to an int, or def if there is none.
func (p Params) Int(name string, def int) int { return int(p.Float(name, float64(def))) }

// Bool returns the boolean called name, or def if there is none.
//
//go:noinline
func (p Params) Bool(name string, def bool) bool {
	for i := range p {
		if p[i].Name == name && p[i].Kind == Bool {
			return p[i].Num != 0
		}
	}
	return def
}

// String returns the string called name, or def if there is none.
//
//go:noinline
func (p Params) String(name, def string) string {
	for i := range p {
		if p[i].Name == name && p[i].Kind == String {
			return p[i].Str
		}
	}
	return def
}

// Element returns the name of element i of a list parameter. Fields of it follow after a dot.
func Element(list string, i int) string { return list + "[" + strconv.Itoa(i) + "]" }

// Has reports whether there is a parameter called name, or an element or field of one.
//
//go:noinline
func (p Params) Has(name string) bool {
	for i := range p {
		if rest, ok := strings.CutPrefix(p[i].Name, name); ok && (rest == "" || rest[0] == '.' || rest[0] == '[') {
			return true
		}
	}
	return false
}

// Len returns the number of elements of the list called name: one more than the greatest index.
//
//go:noinline
func (p Params) Len(name string) int {
	n := 0
	for i := range p {
		rest, ok := strings.CutPrefix(p[i].Name, name)
		if !ok || rest == "" || rest[0] != '[' {
			continue
		}
		digits, _, ok := strings.Cut(rest[1:], "]")
		if index, err := strconv.ParseUint(digits, 10, 31); ok && err == nil {
			n = max(n, int(index)+1)
		}
	}
	return n
}
