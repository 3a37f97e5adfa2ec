package scorers

import (
	"errors"
	"strconv"

	"github.com/zerohop/zerohop/shared/plan"
)

// Defaults returns every declared parameter with its default. The result belongs to the caller.
func (s *Spec) Defaults() plan.Params {
	out := make(plan.Params, len(s.Params))
	for i := range s.Params {
		out[i] = s.Params[i].value()
	}
	return out
}

// value returns the parameter with its default.
func (p *Param) value() plan.Param {
	v := plan.Param{Name: p.Name, Kind: p.Kind}
	switch d := p.Default.(type) {
	case float64:
		v.Num = d
	case bool:
		if d {
			v.Num = 1
		}
	case string:
		v.Str = d
	}
	return v
}

// Complete returns every declared parameter in the order of declaration, from given or else the default. The error lists
// each parameter that the type does not declare, or that has the wrong kind or is out of range. Equal bounds mean that
// there are none.
func (s *Spec) Complete(given plan.Params) (plan.Params, error) {
	out := s.Defaults()
	var problems []error
	for _, g := range given {
		i := s.index(g.Name)
		switch {
		case i < 0:
			if !s.LooseParams {
				problems = append(problems, errors.New(g.Name+": unknown; remove it"))
			}
		case g.Kind != s.Params[i].Kind:
			problems = append(problems, errors.New(g.Name+": want a "+kindNames[s.Params[i].Kind]))
		case g.Kind == plan.Number && !s.Params[i].contains(g.Num):
			p := &s.Params[i]
			problems = append(problems, errors.New(g.Name+": want a number from "+number(p.Min)+" to "+number(p.Max)))
		default:
			out[i] = g
		}
	}
	return out, errors.Join(problems...)
}

var kindNames = [...]string{plan.Number: "number", plan.Bool: "boolean", plan.String: "string"}

func (s *Spec) index(name string) int {
	for i := range s.Params {
		if s.Params[i].Name == name {
			return i
		}
	}
	return -1
}

func (p *Param) contains(v float64) bool { return p.Min == p.Max || v >= p.Min && v <= p.Max }

func number(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }
