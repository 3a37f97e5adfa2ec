package config

import (
	"strings"
	"time"

	"github.com/zerohop/zerohop/scorers"
	"github.com/zerohop/zerohop/shared/plan"
	"github.com/zerohop/zerohop/shared/snapshot"
	"github.com/zerohop/zerohop/xds/config/known"
	"github.com/zerohop/zerohop/xds/scrape"
	"github.com/zerohop/zerohop/xds/strictyaml"
)

// build makes every plugin as the filter does, in the order of the plan, so that each judges its own parameters and says
// which labels, headers and attributes it reads.
func (l *loader) build() {
	z := &l.zerohopPlan
	bounds := plan.Bounds{Endpoints: z.Bounds.Endpoints, IndexBlocks: z.Bounds.IndexBlocks, Sessions: z.Bounds.Sessions}
	b := scorers.Builder{
		Parity: z.Parity == plan.ParityEPP, MaxSlots: bounds.Endpoints, MaxSessions: bounds.MaxSessions(),
		ScrapeNs: staleIntervals * uint64(max(z.Scrape.Interval, 0)),
	}
	for i := range l.profileList {
		b.Profiles = append(b.Profiles, l.profileList[i].Name)
	}
	for _, i := range l.order() {
		in := &l.instances[i]
		if in.spec == nil || in.known != nil || !in.usable {
			continue
		}
		asked, labels := len(b.Wants.Attributes), len(b.Wants.Labels)
		if _, err := b.Build(in.spec, in.name, in.params); err != nil {
			in.refused(err)
		}
		l.attributes(in, b.Wants.Attributes[asked:])
		l.labels(in, b.Wants.Labels[labels:])
	}
	l.wants = b.Wants
}

// labels reports keys of labels that no endpoint can be published with. keys are what in asked for; the parameter that says
// so may be that of a producer.
func (l *loader) labels(in *instance, keys []string) {
	for _, key := range keys {
		if len(key) > 0 && len(key) <= snapshot.MaxKey {
			continue
		}
		n, found := in.node.Field("parameters"), false
		for i := range l.instances {
			from := &l.instances[i]
			for k := range from.params {
				if p := &from.params[k]; !found && p.Kind == plan.String && p.Str == key && from.is(^scorers.Kind(0)) {
					n, found = from.at(p.Name), true
				}
			}
		}
		n.Problemf("the key of a label has 1 to %d bytes, and this one %d; write the key that the endpoints carry", snapshot.MaxKey, len(key))
	}
}

// refused reports what a type says against the parameters of an instance.
func (in *instance) refused(err error) {
	n := in.node.Field("parameters")
	for text := range strings.SplitSeq(err.Error(), "\n") {
		path, what, ok := strings.Cut(text, ": ")
		if name, _, _ := strings.Cut(strings.ReplaceAll(path, "[", "."), "."); ok && declared(in.spec.Params, name) >= 0 {
			descend(n, path).Problemf("%s", what)
			continue
		}
		n.Problemf("%s", text)
	}
}

// inPlan says whether an instance is one that the filter makes.
func (in *instance) inPlan() bool {
	return in.spec != nil && in.known == nil && in.spec.Kinds&scorers.KindAgent == 0
}

// listed is one plugin as the effective configuration shows it.
type listed struct {
	name   string
	spec   *scorers.Spec
	params plan.Params
	raw    string // parameters in one line, for a type that is no part of the filter
}

// config returns the finished result.
func (l *loader) config() *Config {
	c := &Config{
		Profiles: l.profileList, Handler: l.handlerName, Prefix: l.prefixPlan, Zerohop: l.zerohopPlan, Wants: l.wants,
		Discovery: l.discovery, lines: l.lines, refs: l.refs, Warnings: l.warned(), Defaults: l.defaults,
		Inactive: l.inactives(), raw: l.raw, firstProfile: l.firstProfile,
	}
	c.Models, c.Metrics = l.models(), l.metricsPlan
	for i := range l.instances {
		in := &l.instances[i]
		as := listed{name: in.name, spec: in.spec, params: in.params}
		if in.known != nil && (!in.known.Active() || len(in.known.Open) > 0) {
			as.params = nil
			if n := in.node.Field("parameters"); n.Exists() {
				as.raw = flowOf(n)
			}
		}
		if in.known != nil && !in.known.Active() {
			c.idle = append(c.idle, plan.Inactive{Name: in.name, Type: in.spec.Type})
		}
		c.all = append(c.all, as)
	}
	for _, i := range l.order() {
		if in := &l.instances[i]; in.inPlan() {
			c.Plugins = append(c.Plugins, plan.Plugin{Name: in.name, Type: in.spec.Type, Parameters: in.params})
		}
	}
	return c
}

// models returns how the agent reads the served models. A plugin that says so has the last word.
func (l *loader) models() Models {
	m := Models{Wanted: l.wants.Models, Path: scrape.DefaultModelsPath, Interval: l.zerohopPlan.ModelsInterval}
	for i := range l.instances {
		if in := &l.instances[i]; in.spec != nil && in.spec.Type == known.ModelsSource {
			m.Wanted, m.Path = true, in.params.String("path", m.Path)
			m.Interval = time.Duration(in.params.Float("interval", float64(m.Interval)))
		}
	}
	return m
}

// accepted compiles the result and lets the plan's own rules judge it.
func (l *loader) accepted(zerohop strictyaml.Node) {
	_, err := plan.Parse(plan.Append(nil, l.config().Plan(Settings{})))
	if err == nil {
		return
	}
	for text := range strings.SplitSeq(err.Error(), "\n") {
		path, what, _ := strings.Cut(text, ": ")
		if n := at(zerohop, path); strings.HasPrefix(path, "bounds.") && n.Exists() {
			n.Problemf("%s", what)
			continue
		}
		l.problems.Addf("plan", "%s", text)
	}
}
