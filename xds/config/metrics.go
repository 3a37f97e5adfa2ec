package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/zerohop/zerohop/shared/plan"
	"github.com/zerohop/zerohop/xds/config/known"
	"github.com/zerohop/zerohop/xds/scrape"
	"github.com/zerohop/zerohop/xds/strictyaml"
)

// Metrics says what the agent makes of pages of metrics, beyond the settings of Scrape.
type Metrics struct {
	Extractors  []string              // names of the plugins that make attributes of metrics
	EngineLabel string                // label of endpoints that names their engine; empty for the agent's default
	Engine      string                // of other endpoints; empty for Scrape.Engine
	Engines     []scrape.EngineConfig // beside the built-in ones, or in their place
}

// metrics reads the plugins that make something of metrics. One is there without being declared.
func (l *loader) metrics() {
	var first *instance
	for i := range l.instances {
		in := &l.instances[i]
		if in.spec == nil || in.spec.Type != known.MetricsReader {
			continue
		}
		if first != nil {
			in.node.Problemf("is a second %s; pages are read once, keep %s", known.MetricsReader, first.node.Path())
			continue
		}
		first = in
	}
	m := &l.metricsPlan
	if first == nil {
		m.Extractors = []string{known.MetricsReader}
		return
	}
	p := first.params
	m.Extractors = []string{first.name}
	m.EngineLabel, m.Engine = p.String("engineLabelKey", ""), p.String(paramEngine, "")
	if !first.node.Field("parameters").Field(paramEngine).Exists() {
		m.Engine = ""
		l.unsaid(first, paramEngine)
	}
	names := scrape.Engines()
	for i := range p.Len("engineConfigs") {
		at := plan.Element("engineConfigs", i)
		e := engineOf(p, at+".")
		n := descend(first.node.Field("parameters"), at)
		if first.usable {
			judgeEngine(n, &e)
		}
		for j := range m.Engines {
			if m.Engines[j].Name == e.Name && e.Name != "" {
				n.Field("name").Problemf("%q is the name of engineConfigs[%d] too; give it another", e.Name, j)
			}
		}
		m.Engines, names = append(m.Engines, e), append(names, e.Name)
	}
	if m.Engine != "" && !slices.Contains(names, m.Engine) {
		first.at(paramEngine).Problemf("%q is not known; %s", m.Engine, strictyaml.Suggest(m.Engine, names))
	}
}

// engineOf returns the engine that the parameters describe whose names begin with prefix.
func engineOf(p plan.Params, prefix string) scrape.EngineConfig {
	text := func(name string) string { return p.String(prefix+name, "") }
	e := scrape.EngineConfig{
		Name: text("name"), Waiting: text("queuedRequestsSpec"), Running: text("runningRequestsSpec"), KVUsage: text("kvUsageSpec"),
		LoRA: text("loraSpec"), CacheInfo: text("cacheInfoSpec"),
		BlockSizeLabel: text("cacheBlockSizeLabelName"), NumBlocksLabel: text("cacheNumBlocksLabelName"),
		BlockSize: text("cacheBlockSizeSpec"), NumBlocks: text("cacheNumBlocksSpec"),
	}
	for i := range p.Len(prefix + "customMetrics") {
		at := plan.Element(prefix+"customMetrics", i)
		e.Custom = append(e.Custom, scrape.CustomMetric{Key: p.String(at+".attributeKey", ""), Spec: p.String(at+".metricSpec", "")})
	}
	return e
}

// judgeEngine lets the scraper say what is wrong with an engine.
func judgeEngine(n strictyaml.Node, e *scrape.EngineConfig) {
	_, err := scrape.New(scrape.Options{Engines: []scrape.EngineConfig{*e}})
	if err == nil {
		return
	}
	text := strings.TrimPrefix(err.Error(), fmt.Sprintf("set up scraping: engine %q: ", e.Name))
	for line := range strings.SplitSeq(text, "\n") {
		path, what, ok := strings.Cut(line, ": ")
		if at := descend(n, path); ok && at.Exists() {
			at.Problemf("%s", what)
			continue
		}
		n.Problemf("%s", line)
	}
}

// attributes reports attributes that in reads and nothing produces. keys are what it asked for.
func (l *loader) attributes(in *instance, keys []string) {
	m := &l.metricsPlan
	for _, key := range keys {
		name, from := key, ""
		for _, extractor := range m.Extractors {
			if rest, ok := strings.CutPrefix(key, extractor+"/"); ok {
				name, from = rest, extractor
			}
		}
		produced := slices.ContainsFunc(m.Engines, func(e scrape.EngineConfig) bool {
			return slices.ContainsFunc(e.Custom, func(c scrape.CustomMetric) bool { return c.Key == name })
		})
		switch {
		case from == "":
			l.idlef(in.node, in, "it reads the attribute %s, which nothing produces in this version: every endpoint lacks it", key)
		case !produced:
			l.idlef(in.node, in, "it reads the attribute %s, which no engine has; add it to customMetrics of a %s", key, known.MetricsReader)
		}
	}
}
