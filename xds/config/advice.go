package config

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/zerohop/zerohop/scorers/activerequestscorer"
	"github.com/zerohop/zerohop/scorers/agentidentity"
	"github.com/zerohop/zerohop/scorers/headerprofilehandler"
	"github.com/zerohop/zerohop/scorers/inflightloadproducer"
	"github.com/zerohop/zerohop/scorers/loadawarescorer"
	"github.com/zerohop/zerohop/scorers/maxscorepicker"
	"github.com/zerohop/zerohop/scorers/nohitlruscorer"
	"github.com/zerohop/zerohop/scorers/prefixcacheaffinityfilter"
	"github.com/zerohop/zerohop/scorers/probabilisticadmitter"
	"github.com/zerohop/zerohop/scorers/randompicker"
	"github.com/zerohop/zerohop/scorers/sched"
	"github.com/zerohop/zerohop/scorers/servedmodelfilter"
	"github.com/zerohop/zerohop/scorers/sessionaffinityfilter"
	"github.com/zerohop/zerohop/scorers/sessionaffinityscorer"
	"github.com/zerohop/zerohop/scorers/sessionidproducer"
	"github.com/zerohop/zerohop/scorers/tokenloadscorer"
	"github.com/zerohop/zerohop/scorers/topologyaffinityfilter"
	"github.com/zerohop/zerohop/scorers/topologyaffinityscorer"
	"github.com/zerohop/zerohop/scorers/weightedrandompicker"
	"github.com/zerohop/zerohop/shared/plan"
)

// advise reports plugins that the EPP accepts and that do nothing as they are configured, and warns of parameters that do not
// count as they are.
func (l *loader) advise() {
	for i := range l.instances {
		in := &l.instances[i]
		if in.spec == nil || in.known != nil || !in.usable || !in.node.Exists() || l.absent {
			continue
		}
		l.unused(in)
		l.replaced(in)
		l.inert(in)
		switch in.spec.Type {
		case headerprofilehandler.Type:
			l.withoutDefault(in)
		case sessionaffinityscorer.Type, sessionaffinityfilter.Type:
			l.session(in)
		}
	}
}

// unused reports a filter, scorer or picker that no profile names.
func (l *loader) unused(in *instance) {
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
	l.idlef(in.node, in, "no profile names %q", in.name)
}

// replacements are the numbers that the EPP accepts and replaces by others.
var replacements = []struct {
	typ, param string
	lo, hi     float64 // of those that count as they are
	counts     string
}{
	{maxscorepicker.Type, paramEndpoints, 1, sched.MaxRanked, rankedAtMost},
	{randompicker.Type, paramEndpoints, 1, sched.MaxRanked, rankedAtMost},
	{weightedrandompicker.Type, paramEndpoints, 1, sched.MaxRanked, rankedAtMost},
	{loadawarescorer.Type, "threshold", 1, math.Inf(1), "below 1 it counts as 128"},
	{activerequestscorer.Type, "maxBusyScore", 0, 1, "outside of 0 to 1 it counts as 1"},
	{tokenloadscorer.Type, "queueThresholdTokens", 1, math.Inf(1), "below 1 it counts as 4194304"},
	{nohitlruscorer.Type, "lruSize", 1, math.Inf(1), "below 1 it counts as 1024"},
}

const (
	paramEndpoints = "maxNumOfEndpoints"
	rankedAtMost   = "below 1 it counts as 1, above 8 as 8"
)

// replaced warns of numbers that do not count as they are.
func (l *loader) replaced(in *instance) {
	for _, r := range replacements {
		if v := in.params.Float(r.param, r.lo); r.typ == in.spec.Type && (v < r.lo || v > r.hi) {
			l.warnf(in.at(r.param), "%s", r.counts)
		}
	}
}

// inert reports plugins that have nothing to go by.
func (l *loader) inert(in *instance) {
	switch in.spec.Type {
	case topologyaffinityfilter.Type, topologyaffinityscorer.Type:
		l.inactivef(in.node, in, "no request has a second endpoint that %s could be near to", in.name)
	case probabilisticadmitter.Type:
		if !slices.ContainsFunc(l.zerohopPlan.Objectives, func(o plan.Objective) bool { return o.Priority < 0 }) {
			l.idlef(in.node, in, "it refuses nothing, since no entry of objectives in a ZerohopConfig has a priority below 0")
		}
	case inflightloadproducer.Type:
		if n := in.at("syncCrossReplicaState"); n.Exists() && in.params.Bool("syncCrossReplicaState", false) {
			l.warnf(n, "has no effect; each Envoy counts its own requests")
		}
	case prefixcacheaffinityfilter.Type:
		if in.params.String("ttftSource", "") == "latencyPredictor" && in.params.Float("maxTTFTPenaltyMs", 0) > 0 {
			l.idlef(in.at("ttftSource"), in, "nothing predicts latency, so that maxTTFTPenaltyMs never gives a prefix up; write prefillThroughput")
		}
	case servedmodelfilter.Type:
		if l.zerohopPlan.Agent.Disabled && in.params.String("onUnknown", "") == "fail" {
			in.at("onUnknown").Problemf("leaves no endpoint while agent.enabled is false, since nobody asks which models they serve; write pass")
		}
	}
}

// withoutDefault reports a handler whose default profile does not exist.
func (l *loader) withoutDefault(in *instance) {
	name := strings.TrimSpace(in.params.String("defaultProfile", ""))
	if name != "" && l.handlerName == in.name && len(l.profileList) > 1 && !l.hasProfile(name) {
		l.idlef(in.at("defaultProfile"), in, "no profile is called %q: requests without the header are refused with 429; %s", name, l.profileNames())
	}
}

// session reports a session's plugin that binds none, and warns of what it does not read.
func (l *loader) session(in *instance) {
	if name := in.params.String("profileName", ""); name != "" && !l.hasProfile(name) {
		l.idlef(in.at("profileName"), in, "no profile is called %q: no session is remembered and no token sent; %s", name, l.profileNames())
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
			l.idlef(in.at(at+".attribute"), in, "nothing produces %s; declare a plugin {type: %s}", attribute, typ)
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
