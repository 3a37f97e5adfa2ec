package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/zerohop/zerohop/scorers"
	"github.com/zerohop/zerohop/scorers/agentidentity"
	"github.com/zerohop/zerohop/scorers/headerprofilehandler"
	"github.com/zerohop/zerohop/scorers/sessionaffinityfilter"
	"github.com/zerohop/zerohop/scorers/sessionaffinityscorer"
	"github.com/zerohop/zerohop/scorers/sessionidproducer"
	"github.com/zerohop/zerohop/shared/plan"
)

// advise warns of plugins that the EPP accepts and that do nothing as they are configured.
func (l *loader) advise() {
	for i := range l.instances {
		in := &l.instances[i]
		if in.spec == nil || in.known != nil || !in.usable || !in.node.Exists() || l.absent {
			continue
		}
		l.unused(in)
		switch in.spec.Type {
		case headerprofilehandler.Type:
			l.withoutDefault(in)
		case sessionaffinityscorer.Type, sessionaffinityfilter.Type:
			l.session(in)
		}
	}
}

// unused warns of a filter, scorer or picker that no profile names.
func (l *loader) unused(in *instance) {
	const roles = scorers.KindFilter | scorers.KindScorer | scorers.KindPicker
	if in.spec.Kinds&roles == 0 || in.spec.Kinds&^roles != 0 {
		return
	}
	for i := range l.profileList {
		p := &l.profileList[i]
		if p.Picker == in.name || slices.Contains(p.Filters, in.name) ||
			slices.ContainsFunc(p.Scorers, func(s plan.Scorer) bool { return s.Plugin == in.name }) {
			return
		}
	}
	l.warnf(in.node, "has no effect; no profile names %q", in.name)
}

// withoutDefault warns of a handler whose default profile does not exist.
func (l *loader) withoutDefault(in *instance) {
	name := strings.TrimSpace(in.params.String("defaultProfile", ""))
	if name != "" && l.handlerName == in.name && len(l.profileList) > 1 && !l.hasProfile(name) {
		l.warnf(in.at("defaultProfile"), "no profile is called %q: requests without the header are refused with 429; %s", name, l.profileNames())
	}
}

// session warns of what a session's plugin does not read.
func (l *loader) session(in *instance) {
	if name := in.params.String("profileName", ""); name != "" && !l.hasProfile(name) {
		l.warnf(in.at("profileName"), "no profile is called %q: no session is remembered and no token sent; %s", name, l.profileNames())
	}
	other, strategy := "sessionIdConfig", in.params.String("strategy", "")
	if strategy == "session_id" {
		other = "encodedEndpointHeaderConfig"
	}
	if n := in.at(other); n.Exists() {
		l.warnf(n, "has no effect while strategy is %s", strategy)
	}
	if strategy != "session_id" {
		return
	}
	const sources = "sessionIdConfig.sources"
	for i := range in.params.Len(sources) {
		at := plan.Element(sources, i)
		attribute := strings.TrimSpace(in.params.String(at+".attribute", ""))
		if attribute == "" || in.params.String(at+".producer", "") != "" {
			continue
		}
		typ := sessionidproducer.Type
		if attribute == agentidentity.Type {
			typ = agentidentity.Type
		}
		if !slices.ContainsFunc(l.instances, func(o instance) bool { return o.spec != nil && o.spec.Type == typ }) {
			l.warnf(in.at(at+".attribute"), "nothing produces it; declare a plugin {type: %s}", typ)
		}
	}
}

func (l *loader) hasProfile(name string) bool {
	return slices.ContainsFunc(l.profileList, func(p plan.Profile) bool { return p.Name == name })
}

// profileNames says which profiles there are.
func (l *loader) profileNames() string {
	names := make([]string, len(l.profileList))
	for i := range l.profileList {
		names[i] = fmt.Sprintf("%q", l.profileList[i].Name)
	}
	return "there are " + strings.Join(names, ", ")
}
