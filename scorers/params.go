package scorers

import (
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/zerohop/zerohop/shared/plan"
)

// Defaults returns the parameters that an empty declaration has: every scalar with a default, those of objects included.
// The result belongs to the caller.
func (s *Spec) Defaults() plan.Params {
	var c completer
	c.fields("", s.Params, false)
	return c.out
}

// Complete returns every declared parameter that is given or has a default, in the order of declaration. The error lists
// each parameter that the type does not declare, that is missing, or that has the wrong kind or is out of range. Fields of
// an absent object have their defaults, and none is missing.
func (s *Spec) Complete(given plan.Params) (plan.Params, error) {
	c := completer{given: given, used: make([]bool, len(given)), index: make(map[string]int, len(given))}
	for i := range given {
		c.index[given[i].Name] = i
	}
	c.fields("", s.Params, true)
	for i := range given {
		if !c.used[i] && !s.LooseParams {
			c.problem(given[i].Name, "unknown; remove it")
		}
	}
	return c.out, errors.Join(c.problems...)
}

// completer walks a declaration along the parameters that are given.
type completer struct {
	given    plan.Params
	used     []bool         // given[i] is declared
	index    map[string]int // by name
	out      plan.Params
	problems []error
}

// problem is not inlined: it has many callers, and they run once for a configuration.
//
//go:noinline
func (c *completer) problem(path, text string) {
	c.problems = append(c.problems, errors.New(path+": "+text))
}

// fields walks the fields of one object. required says whether their absence matters.
func (c *completer) fields(prefix string, fields []Param, required bool) {
	for i := range fields {
		p := &fields[i]
		path := prefix + p.Name
		switch {
		case p.Shape == List:
			c.list(path, p, required, func(at string) {
				if len(p.Fields) == 0 {
					c.scalar(at, p, true)
				} else {
					c.fields(at+".", p.Fields, true)
				}
			})
		case p.Shape == Map:
			c.list(path, p, required, func(at string) {
				c.scalar(at+".key", &mapKey, true)
				c.scalar(at+".value", p, true)
			})
		case p.Shape == Object && len(p.Fields) > 0:
			there := c.given.Has(path)
			if !there && p.Required && required {
				c.problem(path, "missing")
			}
			c.fields(path+".", p.Fields, there && required)
		default:
			c.scalar(path, p, p.Required && required)
		}
	}
}

// mapKey declares the key of a map's element.
var mapKey = Param{Kind: plan.String}

// list walks the elements of a list or map.
func (c *completer) list(path string, p *Param, required bool, element func(at string)) {
	n, limit := c.given.Len(path), p.limit()
	switch {
	case n > limit:
		c.problem(path, "want at most "+strconv.Itoa(limit)+" elements")
		c.use(path + "[")
		return
	case n == 0 && p.Required && required:
		c.problem(path, "missing; want at least one element")
	}
	for i := range n {
		element(plan.Element(path, i))
	}
}

// use marks every given parameter that begins with prefix as declared.
func (c *completer) use(prefix string) {
	for i := range c.given {
		if strings.HasPrefix(c.given[i].Name, prefix) {
			c.used[i] = true
		}
	}
}

func (p *Param) limit() int {
	if p.Limit > 0 {
		return p.Limit
	}
	return DefaultLimit
}

// scalar takes over one value, or its default.
func (c *completer) scalar(path string, p *Param, required bool) {
	i, ok := c.index[path]
	if !ok {
		if v, ok := p.value(path); ok {
			c.out = append(c.out, v)
		} else if required {
			c.problem(path, "missing")
		}
		return
	}
	c.used[i] = true
	g := c.given[i]
	if what := p.Check(g); what != "" {
		c.problem(path, what)
		if v, ok := p.value(path); ok {
			g = v
		}
	}
	c.out = append(c.out, g)
}

// value returns the default under the given path, if there is one.
func (p *Param) value(path string) (plan.Param, bool) {
	v := plan.Param{Name: path, Kind: p.kind()}
	switch d := p.Default.(type) {
	case float64:
		v.Num = d
	case bool:
		if d {
			v.Num = 1
		}
	case string:
		v.Str = d
	default:
		return v, false
	}
	return v, true
}

// kind returns the kind of the scalar that p is in a plan.
func (p *Param) kind() plan.ParamKind {
	if p.Shape == Object {
		return plan.Bool
	}
	return p.Kind
}

var kindNames = [...]string{plan.Number: "number", plan.Bool: "boolean", plan.String: "string"}

// Check returns what is wrong with a value given for p or for one of its elements; empty if it can be used.
func (p *Param) Check(v plan.Param) string {
	switch {
	case v.Kind != p.kind():
		return "want a " + kindNames[p.kind()]
	case v.Kind == plan.Number && !p.contains(v.Num):
		return "want " + p.bounds()
	case v.Kind == plan.String && len(p.Choices) > 0 && !slices.Contains(p.Choices, v.Str):
		text := "want one of " + p.Choices[0]
		for _, c := range p.Choices[1:] {
			text += ", " + c
		}
		return text
	case v.Kind == plan.Bool && p.Shape == Object && v.Num == 0:
		return "want true, or leave it out"
	}
	return ""
}

func (p *Param) contains(v float64) bool {
	if p.Integer && v != math.Trunc(v) || v-v != 0 {
		return false
	}
	return p.Min == p.Max || (v > p.Min || v == p.Min && !p.MinOpen) && v <= p.Max
}

// bounds says in words what contains accepts.
func (p *Param) bounds() string {
	text := "a number"
	if p.Integer {
		text = "an integer"
	}
	switch {
	case p.Min == p.Max:
		return text
	case p.MinOpen:
		text += " above " + number(p.Min)
	case math.IsInf(p.Max, 1):
		return text + " of at least " + number(p.Min)
	default:
		return text + " from " + number(p.Min) + " to " + number(p.Max)
	}
	if !math.IsInf(p.Max, 1) {
		text += " up to " + number(p.Max)
	}
	return text
}

func number(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }
