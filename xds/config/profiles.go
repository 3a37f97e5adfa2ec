package config

import (
	"github.com/zerohop/zerohop/scorers"
	"github.com/zerohop/zerohop/shared/plan"
	"github.com/zerohop/zerohop/xds/strictyaml"
)

// The plugin types that defaulting adds.
const (
	defaultPicker  = "max-score-picker"
	defaultHandler = "single-profile-handler"
)

// roles are the kinds of plugin that have a place in a profile.
const roles = scorers.KindFilter | scorers.KindScorer | scorers.KindPicker

// profiles reads the profiles, or makes the implicit one, and gives each a picker.
func (l *loader) profiles(n strictyaml.Node) {
	nodes := n.List()
	if len(nodes) == 0 {
		l.profileList = []plan.Profile{l.implicitProfile()}
	}
	seen := map[string]string{}
	for _, pn := range nodes {
		name := pn.Field("name").Required()
		if first, dup := seen[name]; dup && name != "" {
			pn.Field("name").Problemf("duplicate profile name %q, already used by %s", name, first)
		}
		seen[name] = pn.Path()
		l.profileList = append(l.profileList, l.profile(name, pn.Field("plugins").List()))
	}
	for i := range l.profileList {
		if p := &l.profileList[i]; p.Picker == "" {
			p.Picker = l.picker()
		}
	}
}

// profile reads one profile's references.
func (l *loader) profile(name string, refs []strictyaml.Node) plan.Profile {
	p := plan.Profile{Name: name}
	for _, r := range refs {
		ref := r.Field("pluginRef")
		target := ref.Required()
		if target == "" {
			continue
		}
		in := l.find(target)
		if in == nil {
			ref.Problemf("references undefined plugin %q; declare it under plugins", target)
			continue
		}
		weight := 1.0
		if w := r.Field("weight"); w.Exists() {
			weight = w.Number()
			if in.spec != nil && !in.is(scorers.KindScorer) {
				l.warnf(w, "has no effect; "+target+" is not a scorer")
			}
		}
		if in.spec != nil && !in.is(roles) {
			l.warnf(ref, "has no effect; "+target+" is neither filter nor scorer nor picker")
		}
		l.place(&p, in, weight, ref.Path())
	}
	return p
}

// implicitProfile holds every declared filter, scorer and picker, in the order of their declaration.
func (l *loader) implicitProfile() plan.Profile {
	p := plan.Profile{Name: "default"}
	for i := range l.instances {
		in := &l.instances[i]
		l.place(&p, in, 1, in.path)
	}
	return p
}

// place adds a plugin to a profile in each of its roles.
func (l *loader) place(p *plan.Profile, in *instance, weight float64, path string) {
	if in.is(scorers.KindFilter) {
		p.Filters = append(p.Filters, in.name)
	}
	if in.is(scorers.KindScorer) {
		p.Scorers = append(p.Scorers, plan.Scorer{Plugin: in.name, Weight: weight})
	}
	if !in.is(scorers.KindPicker) {
		return
	}
	if p.Picker != "" {
		l.problems.Addf(path, "failed to set %q as picker, already have a registered picker plugin %q; a profile has one picker",
			in.name, p.Picker)
		return
	}
	p.Picker = in.name
}

// picker returns the first declared picker, or adds one.
func (l *loader) picker() string {
	for i := range l.instances {
		if l.instances[i].is(scorers.KindPicker) {
			return l.instances[i].name
		}
	}
	return l.add(defaultPicker)
}

// handler finds the profile handler, or adds one for a single profile.
func (l *loader) handler() {
	for i := range l.instances {
		in := &l.instances[i]
		if !in.is(scorers.KindProfileHandler) {
			continue
		}
		if l.handlerName != "" {
			l.problems.Addf(in.path, "is a second profile handler beside %q; keep one", l.handlerName)
			continue
		}
		l.handlerName = in.name
		if in.spec.Type == defaultHandler && len(l.profileList) > 1 {
			l.problems.Addf(in.path, "%s cannot support multiple scheduling profiles; there are %d", defaultHandler, len(l.profileList))
		}
	}
	if l.handlerName != "" {
		return
	}
	if len(l.profileList) > 1 {
		l.problems.Addf("plugins", "no profile handler configured for %d scheduling profiles; declare one", len(l.profileList))
		return
	}
	l.handlerName = l.add(defaultHandler)
}

// config returns the finished result.
func (l *loader) config() *Config {
	c := &Config{Profiles: l.profileList, Handler: l.handlerName, Prefix: l.prefixPlan, Warnings: l.warnings, Zerohop: DefaultZerohop()}
	for i := range l.instances {
		in := &l.instances[i]
		c.Plugins = append(c.Plugins, plan.Plugin{Name: in.name, Type: in.spec.Type, Parameters: in.params})
	}
	return c
}
