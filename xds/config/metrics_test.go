package config

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zerohop/zerohop/scorers"
	"github.com/zerohop/zerohop/xds/scrape"
)

// attributeTypes have a plugin that reads three attributes.
var attributeTypes = append(testTypes[:len(testTypes):len(testTypes)], scorers.Spec{Type: "reads", Kinds: scorers.KindScorer, New: func(u *scorers.Setup) (any, error) {
	u.Attribute("mine/load")
	u.Attribute("mine/heat")
	u.Attribute("other/load")
	return nil, nil
}})

func TestMetrics(t *testing.T) {
	c, err := Load([]byte(header+`
plugins:
- {type: reads}
- type: core-metrics-extractor
  name: mine
  parameters:
    engineLabelKey: engine
    defaultEngine: mine
    engineConfigs:
    - {name: mine, queuedRequestsSpec: "q{a=b}", cacheInfoSpec: c, cacheBlockSizeLabelName: s, customMetrics: [{attributeKey: load, metricSpec: l}]}
`), attributeTypes)
	if err != nil {
		t.Fatal(err)
	}
	want := Metrics{Extractors: []string{"mine"}, EngineLabel: "engine", Engine: "mine", Engines: []scrape.EngineConfig{{
		Name: "mine", Waiting: "q{a=b}", CacheInfo: "c", BlockSizeLabel: "s", Custom: []scrape.CustomMetric{{Key: "load", Spec: "l"}},
	}}}
	if d := cmp.Diff(want, c.Metrics); d != "" {
		t.Error(d)
	}
	var idle []string
	for i := range c.Inactive {
		idle = append(idle, c.Inactive[i].String())
	}
	const inert = "line 5: plugins[0]: reads does not act as configured: it reads the attribute "
	if d := cmp.Diff([]string{
		inert + "mine/heat, which no engine has; add it to customMetrics of a core-metrics-extractor",
		inert + "other/load, which nothing produces in this version: every endpoint lacks it",
	}, idle); d != "" {
		t.Error(d)
	}
	sameAgain(t, c, attributeTypes)
}

func TestMetricsByDefault(t *testing.T) {
	for _, doc := range []string{"", header + "plugins: [{type: core-metrics-extractor}]"} {
		c, err := Load([]byte(doc), testTypes)
		if err != nil {
			t.Fatal(err)
		}
		if m := c.Metrics; len(m.Extractors) != 1 || m.Extractors[0] != "core-metrics-extractor" || m.Engine != "" || m.Engines != nil {
			t.Errorf("%q: %+v", doc, m)
		}
	}
}
