package config

import (
	"fmt"
	"math"

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
		p, refs := l.implicitProfile()
		l.profileList, l.refs = []plan.Profile{p}, [][]int{refs}
		l.defaulted("schedulingProfiles", "default", "none is declared: one profile with every declared plugin, scorers with weight 1")
	}
	seen := map[string]string{}
	for _, pn := range nodes {
		name := pn.Field("name").Required()
		if first, dup := seen[name]; dup && name != "" {
			pn.Field("name").Problemf("duplicate profile name %q, already used by %s", name, first)
		}
		seen[name] = pn.Path()
		p, refs := l.profile(name, pn.Field("plugins").List())
		l.profileList, l.refs = append(l.profileList, p), append(l.refs, refs)
	}
	for i := range l.profileList {
		p := &l.profileList[i]
		if p.Picker == "" {
			p.Picker = l.firstPicker()
			l.defaulted(fmt.Sprintf("schedulingProfiles[%d].picker", i), scalar(p.Picker),
				"the profile names no picker: the first that is declared, else "+defaultPicker)
		}
		l.scoreless(p, nodes, i)
	}
}

// scoreless warns of a profile that draws lots although nobody asked for it. nodes are the profiles of the document.
func (l *loader) scoreless(p *plan.Profile, nodes []strictyaml.Node, i int) {
	picker := l.find(p.Picker)
	if picker != nil && picker.spec != nil && picker.spec.Type != defaultPicker {
		return
	}
	text, most := "has no scorer: every request goes to a random endpoint", 0.0
	for _, s := range p.Scorers {
		most += math.Abs(s.Weight)
	}
	switch {
	case math.IsInf(most, 1):
		text = "has weights whose sum is no number any more: endpoints with such a total are equal; divide all weights by the same number"
	case most > 0:
		return
	case len(p.Scorers) > 0:
		text = "has only weights of 0: every request goes to a random endpoint"
	}
	if i < len(nodes) {
		l.warnf(nodes[i], "%s", text)
		return
	}
	l.warnings = append(l.warnings, strictyaml.Problem{Path: "schedulingProfiles", Text: text})
}

// profile reads one profile's references. It returns the place of each scorer among them too.
func (l *loader) profile(name string, refs []strictyaml.Node) (p plan.Profile, places []int) {
	p.Name = name
	for i, r := range refs {
		ref := r.Field("pluginRef")
		target := ref.Required()
		if target == "" {
			continue
		}
		in := l.find(target)
		if in == nil {
			ref.Problemf("references undefined plugin %q; %s", target, l.suggestName(target))
			continue
		}
		if in.known != nil && !in.known.Active() {
			l.inactivef(ref, in, "%s; the profile does without", in.known.What)
			continue
		}
		if in.spec != nil && !in.is(roles) {
			l.warnf(ref, "has no effect; %s is neither filter nor scorer nor picker", target)
		}
		l.place(&p, in, l.weight(r, in), ref)
		if in.is(scorers.KindScorer) {
			places = append(places, i)
		}
	}
	return p, places
}

// maxWeight is the largest weight that is not commented on. Scores are 0 to 1, and so only ratios count.
const maxWeight = 1e6

// weight reads the weight of a reference to in. The EPP accepts every number.
func (l *loader) weight(ref strictyaml.Node, in *instance) float64 {
	n := ref.Field("weight")
	if !n.Exists() {
		if in.is(scorers.KindScorer) {
			l.defaulted(n.Path(), "1", "the EPP's default for a scorer")
		}
		return 1
	}
	w := n.Number()
	switch {
	case l.absent:
		l.defaulted(n.Path(), numberText(w), "the EPP's default for "+in.name)
	case in.spec != nil && !in.is(scorers.KindScorer):
		l.warnf(n, "has no effect; %s is not a scorer", in.name)
	case w < 0:
		l.warnf(n, "is negative: endpoints that %s rates worst are preferred", in.name)
	case w > maxWeight:
		l.warnf(n, "leaves nothing to scorers of usual weight; weights are used as they are and only their ratios count")
	}
	return w
}

// implicitProfile holds every declared filter, scorer and picker, in the order of their declaration.
func (l *loader) implicitProfile() (p plan.Profile, places []int) {
	p.Name = "default"
	for i := range l.instances {
		in := &l.instances[i]
		l.place(&p, in, 1, in.node)
		if in.is(scorers.KindScorer) {
			places = append(places, -1)
		}
	}
	return p, places
}

// place adds a plugin to a profile in each of its roles.
func (l *loader) place(p *plan.Profile, in *instance, weight float64, n strictyaml.Node) {
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
		n.Problemf("failed to set %q as picker, already have a registered picker plugin %q; a profile has one picker",
			in.name, p.Picker)
		return
	}
	p.Picker = in.name
}

// firstPicker returns the first declared picker, or adds one.
func (l *loader) firstPicker() string {
	for i := range l.instances {
		if l.instances[i].is(scorers.KindPicker) {
			return l.instances[i].name
		}
	}
	return l.add(defaultPicker, "added: no picker is declared")
}

// handler finds the profile handler, or adds one for a single profile. n is the list of plugins.
func (l *loader) handler(n strictyaml.Node) {
	var idle *instance // a handler that is not active
	for i := range l.instances {
		in := &l.instances[i]
		if in.spec == nil || in.spec.Kinds&scorers.KindProfileHandler == 0 {
			continue
		}
		if in.known != nil {
			idle = in
			continue
		}
		if l.handlerName != "" {
			in.node.Problemf("is a second profile handler beside %q; keep one", l.handlerName)
			continue
		}
		l.handlerName = in.name
		if in.spec.Type == defaultHandler && len(l.profileList) > 1 {
			in.node.Problemf("%s cannot support multiple scheduling profiles; there are %d", defaultHandler, len(l.profileList))
		}
	}
	why := "added: no profile handler is declared, and there is one profile"
	switch {
	case l.handlerName != "":
		return
	case idle != nil:
		if !l.decodeOnly(idle) {
			return
		}
		why = "added: " + idle.spec.Type + " is not active, and one profile is left"
	case len(l.profileList) > 1:
		n.Problemf("no profile handler configured for %d scheduling profiles; declare one", len(l.profileList))
		return
	}
	l.handlerName = l.add(defaultHandler, why)
}

// decodeOnly keeps the one profile that runs for every request where a request is not split over endpoints, which is what
// the EPP does with a request that it does not split.
func (l *loader) decodeOnly(handler *instance) bool {
	if len(l.profileList) == 1 {
		return true
	}
	name := handler.params.String("profiles.decode", handler.params.String("decodeProfile", "decode"))
	for i := range l.profileList {
		if l.profileList[i].Name == name {
			l.profileList, l.refs, l.firstProfile = l.profileList[i:i+1:i+1], l.refs[i:i+1:i+1], i
			l.inactivef(handler.node, handler, "every request runs profile %s, and no other profile runs", name)
			return true
		}
	}
	handler.node.Problemf("%s is known but not active in this version, and there is no profile %q, which would run for every request; "+
		"declare it, or another profile handler", handler.spec.Type, name)
	return false
}
