package config

import (
	"slices"
	"strconv"
	"strings"

	"github.com/zerohop/zerohop/scorers"
	"github.com/zerohop/zerohop/xds/config/known"
	"github.com/zerohop/zerohop/xds/strictyaml"
)

// Feature gates of the EPP.
const (
	gateFlowControl = "flowControl"
	gateNonLeader   = "haPopulateNonLeaderDatastore" // about Kubernetes replicas, of which there are none here
)

// featureGates are those that are known.
var featureGates = []string{gateFlowControl, gateNonLeader}

// sections reads everything beside plugins and profiles. Most of it is only checked: what the filter and the agent do not
// act on is reported as not active.
func (l *loader) sections(root strictyaml.Node) {
	queued := l.featureGates(root.Field("featureGates").List())
	l.dataLayer(root.Field("dataLayer"))
	l.fileDiscovery(root.Field("dataLayer").Field("discovery"))
	l.flowControl(root.Field("flowControl"), queued)
	l.detector(root)
	l.parsers(root)
	l.raw = rawSections(root)
}

// featureGates reads "name" or "name=bool", and returns whether flowControl is on.
func (l *loader) featureGates(nodes []strictyaml.Node) (queued bool) {
	for _, n := range nodes {
		name, value, found := strings.Cut(n.Text(), "=")
		name = strings.TrimSpace(name)
		on := true
		if found {
			var err error
			value = strings.ToLower(strings.TrimSpace(value))
			if on, err = strconv.ParseBool(value); err != nil {
				n.Problemf("%s is not a valid value for the feature gate %s; write true or false", value, name)
				continue
			}
		}
		switch name {
		case gateFlowControl:
			if queued = on; on {
				l.idle(n, Inactive{Name: "feature gate " + name, What: "requests are not queued"})
			}
		case gateNonLeader:
			l.warnf(n, "has no effect; there is no leader")
		default:
			n.Problemf("feature gate %q is unknown or unregistered; %s", name, strictyaml.Suggest(name, featureGates))
		}
	}
	return queued
}

// role is what a reference must lead to.
type role struct {
	kind  scorers.Kind
	role  known.Role
	what  string   // in words
	added []string // plugins that are there without being declared
}

var (
	aSource     = role{role: known.Source, what: "data source", added: []string{known.MetricsSource}}
	anExtractor = role{kind: scorers.KindProducer, role: known.Extractor, what: "extractor", added: []string{known.MetricsReader}}
	aDetector   = role{kind: scorers.KindDetector, what: "saturation detector", added: []string{"utilization-detector"}}
	aParser     = role{role: known.Parser, what: "parser"}
	peers       = role{role: known.Peers, what: "discovery of peers"}
	aFairness   = role{role: known.Fairness, what: "fairness policy", added: []string{"global-strict-fairness-policy"}}
	anOrdering  = role{role: known.Ordering, what: "ordering policy", added: []string{"fcfs-ordering-policy"}}
	aLimit      = role{role: known.UsageLimit, what: "usage limit policy", added: []string{"static-usage-limit-policy"}}
)

// named checks that a reference names a plugin of a role, and returns it; nil if it is none that is declared.
func (l *loader) named(ref strictyaml.Node, r *role) *instance {
	name := ref.Text()
	if name == "" {
		return nil
	}
	in := l.find(name)
	if in == nil {
		if slices.Contains(r.added, name) {
			return nil
		}
		ref.Problemf("references undefined plugin %q; %s", name, l.suggestName(name))
		return nil
	}
	if in.spec == nil {
		return nil
	}
	if in.spec.Kinds&r.kind == 0 && (in.known == nil || in.known.Role&r.role == 0) {
		ref.Problemf("%q is of type %s, which is no %s", name, in.spec.Type, r.what)
		return nil
	}
	return in
}

// dataLayer checks what the agent reads from endpoints. It scrapes /metrics of each by itself.
func (l *loader) dataLayer(n strictyaml.Node) {
	if inject := n.Field("injectDefaults"); inject.Exists() && !inject.Bool() {
		l.warnf(inject, "has no effect; the agent scrapes every endpoint, or none with agent.enabled: false of a ZerohopConfig")
	}
	for _, source := range n.Field("sources").List() {
		ref := source.Field("pluginRef")
		ref.Required()
		told := carries(l.named(ref, &aSource), ref.Text())
		for _, e := range source.Field("extractors").List() {
			ref := e.Field("pluginRef")
			ref.Required()
			if takes := carries(l.named(ref, &anExtractor), ref.Text()); takes != told && takes != "" && told != "" {
				ref.Problemf("%q takes %s, and %q has %s; name another extractor", ref.Text(), takes, source.Field("pluginRef").Text(), told)
			}
		}
	}
	l.named(n.Field("peerDiscovery").Field("pluginRef"), &peers)
	l.named(n.Field("crossReplicaSyncerPluginRef"), &peers)
	for _, name := range []string{"peerDiscovery", "crossReplicaSyncerPluginRef", "crossReplicaSyncInterval"} {
		if f := n.Field(name); f.Exists() {
			l.idle(f, Inactive{Name: name, What: "Envoys tell each other nothing"})
		}
	}
}

// carries returns what a source tells or an extractor takes; in is nil for one that is there without being declared.
func carries(in *instance, name string) string {
	switch {
	case in == nil && (name == known.MetricsSource || name == known.MetricsReader):
		return known.Pages
	case in == nil:
		return ""
	case in.known == nil:
		return known.Endpoints // producers of the filter
	}
	return in.known.Carries
}

// flowControl checks the policies of queues. queued says whether the feature gate is on.
func (l *loader) flowControl(n strictyaml.Node, queued bool) {
	if !n.Exists() {
		return
	}
	for _, k := range n.Keys() {
		if k != "saturationDetector" && !queued {
			l.warnf(n, "has no effect while the feature gate flowControl is off")
			break
		}
	}
	bands := n.Field("priorityBands").List()
	first := make(map[float64]string)
	for _, b := range bands {
		if !b.Exists() {
			continue
		}
		p := b.Field("priority")
		if other, twice := first[p.Number()]; twice {
			p.Problemf("%v is the priority of %s too; give it another", p.Number(), other)
		}
		first[p.Number()] = b.Path()
	}
	for _, b := range append(bands, n, n.Field("defaultPriorityBand"), n.Field("defaultNegativePriorityBand")) {
		for _, name := range []string{"maxBytes", "maxRequests", "defaultRequestTTL", "noEndpointRequestTTL"} {
			if f := b.Field(name); f.IsNumber() && f.Number() < 0 || f.IsText() && strings.HasPrefix(f.Text(), "-") {
				f.Problemf("must be non-negative")
			}
		}
	}
	for _, b := range append(bands, n.Field("defaultPriorityBand"), n.Field("defaultNegativePriorityBand")) {
		l.named(b.Field("fairnessPolicyRef"), &aFairness)
		l.named(b.Field("orderingPolicyRef"), &anOrdering)
	}
	l.named(n.Field("usageLimitPolicyPluginRef"), &aLimit)
}

// detector checks the reference to the saturation detector, and its deprecated place.
func (l *loader) detector(root strictyaml.Node) {
	old, ref := root.Field("saturationDetector"), root.Field("flowControl").Field("saturationDetector")
	if old.Exists() {
		if ref.Exists() {
			l.warnf(old, "is deprecated and is ignored beside flowControl.saturationDetector; remove it")
		} else {
			l.warnf(old, "is deprecated; write flowControl.saturationDetector")
		}
	}
	for _, n := range []strictyaml.Node{old, ref} {
		if !n.Exists() {
			continue
		}
		n.Field("pluginRef").Required()
		l.named(n.Field("pluginRef"), &aDetector)
		l.idle(n, Inactive{
			Name: "saturationDetector", What: "nothing is refused by saturation; refer to the detector in a profile, where it is a filter",
		})
	}
}

// parsers checks the references to parsers, and their deprecated place. A type of parser needs no declaration.
func (l *loader) parsers(root strictyaml.Node) {
	refs := root.Field("requestHandler").Field("parsers").List()
	if old := root.Field("parser"); old.Exists() {
		if len(refs) > 0 {
			l.warnf(old, "is deprecated and is ignored beside requestHandler.parsers; remove it")
		} else {
			l.warnf(old, "is deprecated; write requestHandler.parsers")
		}
		refs = append(refs, old)
	}
	l.parsed = len(refs) > 0
	for _, r := range refs {
		ref := r.Field("pluginRef")
		name := ref.Required()
		if spec, k := l.types.lookup(name); l.find(name) == nil && k != nil && k.Role&known.Parser != 0 {
			if !k.Active() {
				l.inactivef(ref, &instance{name: name, spec: spec, known: k}, "%s", k.What)
			}
			continue
		}
		l.named(ref, &aParser)
	}
}
