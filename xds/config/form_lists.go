package config

import (
	"math"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/zerohop/zerohop/shared/plan"
	"github.com/zerohop/zerohop/xds/strictyaml"
)

// networks is a list of CIDR prefixes. A plain address stands for itself.
func networks(at func(*Zerohop) *[]string) form {
	return form{
		read: func(n strictyaml.Node, z *Zerohop) {
			for _, e := range n.List() {
				s := e.Required()
				p, err := netip.ParsePrefix(s)
				if a, isAddr := netip.ParseAddr(s); isAddr == nil && a.Zone() == "" {
					p, err = netip.PrefixFrom(a, a.BitLen()), nil
				}
				if err != nil {
					if s != "" {
						e.Problemf("%q is not a network; write for example 10.0.0.0/8", s)
					}
					continue
				}
				if text := p.Masked().String(); !slices.Contains(*at(z), text) {
					*at(z) = append(*at(z), text)
				}
			}
		},
		show: func(z *Zerohop) string {
			parts := make([]string, len(*at(z)))
			for i, s := range *at(z) {
				parts[i] = scalar(s)
			}
			return "[" + strings.Join(parts, ", ") + "]"
		},
		schema: schema{"type": "array", "items": schema{"type": "string", "minLength": 1}},
	}
}

// objectives is a list of names with priorities.
func objectives() form {
	return form{read: readObjectives, show: func(z *Zerohop) string {
		parts := make([]string, len(z.Objectives))
		for i, o := range z.Objectives {
			parts[i] = "{name: " + scalar(o.Name) + ", priority: " + strconv.Itoa(o.Priority) + "}"
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}, schema: schema{"type": "array", "items": objectSchema(schema{
		"name": schema{"type": "string", "minLength": 1}, "priority": schema{"type": "integer", "minimum": math.MinInt32, "maximum": math.MaxInt32},
	}, "name", "priority")}}
}

func readObjectives(n strictyaml.Node, z *Zerohop) {
	first := make(map[string]string)
	for _, e := range n.List() {
		if !e.Exists() {
			e.Problemf("is empty")
			continue
		}
		e.Fields("name", "priority")
		o := plan.Objective{Name: e.Field("name").Required()}
		if other, twice := first[o.Name]; twice && o.Name != "" {
			e.Field("name").Problemf("%q is the name of %s too; give it another", o.Name, other)
		}
		first[o.Name] = e.Path()
		if p := e.Field("priority"); !p.Exists() {
			p.Problemf("is missing; write a whole number, below 0 for requests that may be refused")
		} else {
			readWhole(p, &o.Priority, math.MinInt32, math.MaxInt32)
		}
		z.Objectives = append(z.Objectives, o)
	}
}
