package sched

import (
	"errors"
	"strconv"

	"github.com/zerohop/zerohop/scorers"
	"github.com/zerohop/zerohop/scorers/registry"
	"github.com/zerohop/zerohop/shared/plan"
)

// profiles are a plan's plugins, instantiated, with the hooks that they implement. What each request reads comes first.
type profiles struct {
	reads     bool // a plugin reads headers or the model
	admitters []admitter
	handler   scorers.ProfileHandler
	constant  bool // the handler chooses always
	always    int
	list      []profile
	estimator scorers.LoadEstimator // nil unless there is one
	picked    []scorers.PickWatcher
	servers   []scorers.Server

	detectors []detector
	watchers  []scorers.SlotWatcher
	sharers   []sharer
	sweepers  []scorers.Sweeper
	binders   []binder
	tellers   []scorers.SessionTeller

	handlerRef string // name of the handler
	wants      scorers.Wants
	objectives map[string]int32 // priority by name
	instances  []instance
}

// binder remembers sessions; see sessionaffinity.Bindings.
type binder interface {
	Sessions() (bound int, replaced uint64)
	Bytes() int
}

// maxProfiles is what Decision.Profile can number.
const maxProfiles = 256

// instance is one plugin of a plan.
type instance struct {
	_ [0]func() // not comparable, for the size of the module

	name, typ string
	plugin    any
}

// sharer is an instance whose state the workers share.
type sharer struct {
	_ [0]func() // not comparable, for the size of the module

	scorers.Sharer
	id uint64 // instanceID
}

type admitter struct {
	_ [0]func() // not comparable, for the size of the module

	scorers.Admitter
	name, typ string
}

type detector struct {
	_ [0]func() // not comparable, for the size of the module

	scorers.Detector
	name string
}

type profile struct {
	filters []filter
	scorers []weighted
	picker  scorers.Picker
	rules   []scorers.Filter // those of filters that bind every attempt
	name    string
}

type filter struct {
	_ [0]func() // not comparable, for the size of the module

	scorers.Filter
	name, typ string
}

type weighted struct {
	_ [0]func() // not comparable, for the size of the module

	scorers.Scorer
	weight    float64
	name, typ string
}

// Wants returns what the plugins of a plan ask for. The error lists every problem with the path of the field.
func Wants(p *plan.Plan) (*scorers.Wants, error) {
	set, err := compile(p, registry.All())
	if err != nil {
		return nil, err
	}
	return &set.wants, nil
}

// compile instantiates the plugins of a plan, which are of the given types. The error lists every problem with the path of the field.
func compile(p *plan.Plan, specs []scorers.Spec) (*profiles, error) {
	c := newCompiler(p, specs)
	for i := range p.Plugins {
		c.plugin("plugins["+strconv.Itoa(i)+"]", &p.Plugins[i])
	}
	set := c.set
	set.handler, set.handlerRef = lookup[scorers.ProfileHandler](c, "profileHandler", p.ProfileHandler, "profile handler"), p.ProfileHandler
	if h, ok := set.handler.(scorers.Constant); ok {
		set.constant, set.always = true, h.Profile(nil)
	}
	for i := range p.Profiles {
		set.list = append(set.list, c.profile("profiles["+strconv.Itoa(i)+"]", &p.Profiles[i]))
	}
	if len(set.list) == 0 {
		c.problem("profiles", "empty; declare one")
	}
	if len(set.list) > maxProfiles {
		c.problem("profiles", "want at most "+strconv.Itoa(maxProfiles))
	}
	if err := errors.Join(c.problems...); err != nil {
		return nil, err
	}
	w := &c.builder.Wants
	set.wants, set.reads = *w, w.Models || w.LoRA || len(w.Headers) > 0
	return set, nil
}

// compiler collects instances by name, and problems.
type compiler struct {
	set      *profiles
	specs    map[string]scorers.Spec
	builder  scorers.Builder
	byName   map[string]int // index in set.instances
	problems []error
}

func newCompiler(p *plan.Plan, specs []scorers.Spec) *compiler {
	c := &compiler{
		set:    &profiles{objectives: make(map[string]int32, len(p.Objectives))},
		specs:  make(map[string]scorers.Spec, len(specs)),
		byName: make(map[string]int, len(p.Plugins)),
		builder: scorers.Builder{
			Parity: p.Parity == plan.ParityEPP, MaxSlots: p.Bounds.Endpoints, MaxSessions: p.Bounds.MaxSessions(),
			ScrapeNs: 3 * uint64(max(p.Agent.ScrapeMs, 0)) * 1e6,
		},
	}
	for i := range specs {
		c.specs[specs[i].Type] = specs[i]
	}
	for i := range p.Profiles {
		c.builder.Profiles = append(c.builder.Profiles, p.Profiles[i].Name)
	}
	for _, o := range p.Objectives {
		c.set.objectives[o.Name] = int32(o.Priority)
	}
	return c
}

//go:noinline
func (c *compiler) problem(path, text string) {
	c.problems = append(c.problems, errors.New(path+": "+text))
}

func (c *compiler) plugin(path string, p *plan.Plugin) {
	spec, ok := c.specs[p.Type]
	if !ok {
		c.problem(path+".type", "plugin type "+strconv.Quote(p.Type)+" is not registered")
		return
	}
	params, err := spec.Complete(p.Parameters)
	if err != nil {
		c.problem(path+".parameters", err.Error())
		return
	}
	plugin, err := c.builder.Build(&spec, p.Name, params)
	if err != nil {
		c.problem(path+".parameters", err.Error())
		return
	}
	c.byName[p.Name] = len(c.set.instances)
	c.set.instances = append(c.set.instances, instance{name: p.Name, typ: p.Type, plugin: plugin})
	c.hooks(path, p.Type, p.Name, plugin)
}

// hooks notes what an instance does outside of profiles.
func (c *compiler) hooks(path, typ, name string, plugin any) {
	set := c.set
	if h, ok := plugin.(scorers.Admitter); ok {
		set.admitters = append(set.admitters, admitter{Admitter: h, name: name, typ: typ})
	}
	if h, ok := plugin.(scorers.Detector); ok {
		set.detectors = append(set.detectors, detector{Detector: h, name: name})
	}
	if h, ok := plugin.(scorers.LoadEstimator); ok {
		if set.estimator != nil {
			c.problem(path, "is a second plugin that estimates the load of requests; remove one")
		}
		set.estimator = h
	}
	if h, ok := plugin.(scorers.SlotWatcher); ok {
		set.watchers = append(set.watchers, h)
	}
	if h, ok := plugin.(scorers.PickWatcher); ok {
		set.picked = append(set.picked, h)
	}
	if h, ok := plugin.(scorers.Sharer); ok {
		set.sharers = append(set.sharers, sharer{Sharer: h, id: instanceID(typ, name)})
	}
	if h, ok := plugin.(scorers.Server); ok {
		set.servers = append(set.servers, h)
	}
	if h, ok := plugin.(scorers.Sweeper); ok {
		set.sweepers = append(set.sweepers, h)
	}
	if h, ok := plugin.(binder); ok {
		set.binders = append(set.binders, h)
	}
	if h, ok := plugin.(scorers.SessionTeller); ok {
		set.tellers = append(set.tellers, h)
	}
}

func (c *compiler) profile(path string, p *plan.Profile) profile {
	out := profile{name: p.Name}
	for i, name := range p.Filters {
		f := lookup[scorers.Filter](c, path+".filters["+strconv.Itoa(i)+"]", name, "filter")
		out.filters = append(out.filters, filter{Filter: f, name: name, typ: c.typeOf(name)})
	}
	out.rules = rules(out.filters)
	for i, ref := range p.Scorers {
		s := lookup[scorers.Scorer](c, path+".scorers["+strconv.Itoa(i)+"].plugin", ref.Plugin, "scorer")
		out.scorers = append(out.scorers, weighted{Scorer: s, weight: ref.Weight, name: ref.Plugin, typ: c.typeOf(ref.Plugin)})
	}
	out.picker = lookup[scorers.Picker](c, path+".picker", p.Picker, "picker")
	return out
}

// typeOf returns the type of the instance called name; empty if there is none.
func (c *compiler) typeOf(name string) string {
	if i, ok := c.byName[name]; ok {
		return c.set.instances[i].typ
	}
	return ""
}

// lookup returns the instance called name as role T.
func lookup[T any](c *compiler, path, name, role string) T {
	instance, ok := c.instance(path, name)
	plugin, plays := instance.(T)
	if ok && !plays {
		c.problem(path, "plugin "+strconv.Quote(name)+" is no "+role)
	}
	return plugin
}

// instance returns the instance called name.
func (c *compiler) instance(path, name string) (any, bool) {
	i, ok := c.byName[name]
	if !ok {
		c.problem(path, "plugin "+strconv.Quote(name)+" does not exist, or its own declaration is wrong")
		return nil, false
	}
	return c.set.instances[i].plugin, true
}

// adopt hands each instance the one of the same name and type in old.
func (set *profiles) adopt(old *profiles) {
	byName := make(map[string]int, len(old.instances))
	for i := range old.instances {
		byName[old.instances[i].name] = i
	}
	for i := range set.instances {
		in := &set.instances[i]
		keeper, ok := in.plugin.(scorers.Keeper)
		if !ok {
			continue
		}
		if j, ok := byName[in.name]; ok && old.instances[j].typ == in.typ {
			keeper.Adopt(old.instances[j].plugin)
		}
	}
}
