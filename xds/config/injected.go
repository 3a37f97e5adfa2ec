package config

import (
	"fmt"
	"slices"

	"github.com/zerohop/zerohop/xds/config/known"
)

// injected lists the plugins that work without being declared, as the EPP's defaults do, so that the effective configuration
// shows them. It changes nothing of what is done.
func (l *loader) injected() {
	if !l.zerohopPlan.Agent.Disabled {
		l.inject(known.MetricsSource, "injected: the agent reads the metrics of every endpoint, as section scrape says")
		l.inject(known.MetricsReader, "injected: the agent makes numbers of those metrics")
		if l.wants.Models {
			l.inject(known.ModelsSource, "injected: a plugin reads the models that endpoints serve, as section servedModels says")
		}
	}
	if !l.parsed {
		l.inject(known.OpenAIParser, "injected: no parser is declared")
		l.inject(known.Passthrough, "injected: no parser is declared, and other requests are routed by load")
	}
}

// paramEngine is a parameter of the metrics reader that scrape.engine of a ZerohopConfig stands in for.
const paramEngine = "defaultEngine"

// inject lists an instance of a type, unless there is one or its name is another's.
func (l *loader) inject(typ, why string) {
	spec, k := l.types.lookup(typ)
	if k == nil || l.find(typ) != nil || slices.ContainsFunc(l.instances, func(in instance) bool { return in.known == k }) {
		return
	}
	path := fmt.Sprintf("plugins[%d]", len(l.instances))
	l.defaulted(path, typ, why)
	in := instance{name: typ, spec: spec, known: k, usable: true}
	for _, p := range spec.Defaults() {
		if _, idle := k.Idle[p.Name]; !idle && p.Name != paramEngine {
			in.params = append(in.params, p)
			l.defaultParam(path+".parameters", spec, p)
		}
	}
	l.append(in)
}

// unsaid takes the default back of a parameter that a ZerohopConfig has the say about unless it is given here.
func (l *loader) unsaid(in *instance, param string) {
	path := in.node.Path() + ".parameters." + param
	l.defaults = slices.DeleteFunc(l.defaults, func(d Default) bool { return d.Path == path })
	kept := in.params[:0]
	for _, p := range in.params {
		if p.Name != param {
			kept = append(kept, p)
		}
	}
	in.params = kept
}
