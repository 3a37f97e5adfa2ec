package sched

import (
	"errors"
	"strconv"

	"github.com/zerohop/zerohop/scorers"
	"github.com/zerohop/zerohop/scorers/registry"
	"github.com/zerohop/zerohop/shared/plan"
)

// profiles are a plan's plugins, instantiated.
type profiles struct {
	list    []profile
	handler scorers.ProfileHandler
}

type profile struct {
	filters []scorers.Filter
	scorers []weighted
	picker  scorers.Picker
}

type weighted struct {
	scorers.Scorer
	weight float64
}

// compile instantiates the plugins of a plan. The error lists every problem with the path of the field.
func compile(p *plan.Plan) (*profiles, error) {
	c := compiler{instances: make(map[string]any, len(p.Plugins))}
	for i := range p.Profiles {
		c.builder.Profiles = append(c.builder.Profiles, p.Profiles[i].Name)
	}
	for i := range p.Plugins {
		c.plugin("plugins["+strconv.Itoa(i)+"]", &p.Plugins[i])
	}
	set := &profiles{handler: lookup[scorers.ProfileHandler](&c, "profileHandler", p.ProfileHandler, "profile handler")}
	for i := range p.Profiles {
		set.list = append(set.list, c.profile("profiles["+strconv.Itoa(i)+"]", &p.Profiles[i]))
	}
	if len(set.list) == 0 {
		c.problem("profiles", "empty; declare one")
	}
	if err := errors.Join(c.problems...); err != nil {
		return nil, err
	}
	return set, nil
}

// compiler collects instances by name, and problems.
type compiler struct {
	builder   scorers.Builder
	instances map[string]any
	problems  []error
}

func (c *compiler) problem(path, text string) {
	c.problems = append(c.problems, errors.New(path+": "+text))
}

func (c *compiler) plugin(path string, p *plan.Plugin) {
	spec, ok := registry.Lookup(p.Type)
	if !ok {
		c.problem(path+".type", "plugin type "+strconv.Quote(p.Type)+" is not registered")
		return
	}
	params, err := spec.Complete(p.Parameters)
	if err != nil {
		c.problem(path+".parameters", err.Error())
		return
	}
	instance, err := c.builder.Build(&spec, p.Name, params)
	if err != nil {
		c.problem(path+".parameters", err.Error())
		return
	}
	c.instances[p.Name] = instance
}

func (c *compiler) profile(path string, p *plan.Profile) profile {
	var out profile
	for i, name := range p.Filters {
		out.filters = append(out.filters, lookup[scorers.Filter](c, path+".filters["+strconv.Itoa(i)+"]", name, "filter"))
	}
	for i, ref := range p.Scorers {
		scorer := lookup[scorers.Scorer](c, path+".scorers["+strconv.Itoa(i)+"].plugin", ref.Plugin, "scorer")
		out.scorers = append(out.scorers, weighted{scorer, ref.Weight})
	}
	out.picker = lookup[scorers.Picker](c, path+".picker", p.Picker, "picker")
	return out
}

// lookup returns the instance called name as role T.
func lookup[T any](c *compiler, path, name, role string) T {
	instance, ok := c.instances[name]
	if !ok {
		c.problem(path, "plugin "+strconv.Quote(name)+" does not exist, or its own declaration is wrong")
	}
	plugin, plays := instance.(T)
	if ok && !plays {
		c.problem(path, "plugin "+strconv.Quote(name)+" is no "+role)
	}
	return plugin
}
