package config

import (
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/zerohop/zerohop/scorers"
	"github.com/zerohop/zerohop/shared/plan"
	"github.com/zerohop/zerohop/xds/discovery"
)

// testTypes are plugin types with every property that the loader looks at.
var testTypes = withNew([]scorers.Spec{
	{Type: "queue-scorer", Kinds: scorers.KindScorer, LooseParams: true},
	{Type: "kv-cache-utilization-scorer", Kinds: scorers.KindScorer, LooseParams: true},
	{Type: "prefix-cache-scorer", Kinds: scorers.KindScorer, Params: []scorers.Param{
		{Name: "matchLengthWeight", Default: 0.0, Max: 1, Doc: "share of the length term"},
	}},
	{Type: "load-aware-scorer", Kinds: scorers.KindScorer, Params: []scorers.Param{{Name: "threshold", Default: 128.0}}},
	{Type: "some-filter", Kinds: scorers.KindFilter, Params: []scorers.Param{
		{Name: "label", Kind: plan.String, Default: "x"},
		{Name: "strict", Kind: plan.Bool, Default: true},
	}},
	{Type: "filter-and-scorer", Kinds: scorers.KindFilter | scorers.KindScorer},
	{Type: "max-score-picker", Kinds: scorers.KindPicker, Params: []scorers.Param{{Name: "maxNumOfEndpoints", Default: 1.0}}},
	{Type: "random-picker", Kinds: scorers.KindPicker},
	{Type: "single-profile-handler", Kinds: scorers.KindProfileHandler},
	{Type: "header-profile-handler", Kinds: scorers.KindProfileHandler},
	{Type: "approx-prefix-cache-producer", Kinds: scorers.KindProducer, Params: []scorers.Param{
		{Name: "autoTune", Kind: plan.Bool, Default: true},
		{Name: "blockSizeTokens", Default: 16.0},
		{Name: "maxPrefixTokensToMatch", Default: 131072.0},
		{Name: "maxPrefixBlocksToMatch", Default: 2048.0},
		{Name: "lruCapacityPerServer", Default: 31250.0},
	}},
})

// withNew gives each type a constructor that refuses a negative threshold.
func withNew(specs []scorers.Spec) []scorers.Spec {
	for i := range specs {
		specs[i].New = func(u *scorers.Setup) (any, error) {
			if u.Params.Float("threshold", 0) < 0 {
				return nil, errors.New("threshold: want 0 or more")
			}
			return nil, nil
		}
	}
	return specs
}

const header = "apiVersion: llm-d.ai/v1alpha1\nkind: EndpointPickerConfig\n"

// summary is what a test case says about a loaded document.
type summary struct {
	Plugins  string // names
	Profiles string // name(filters|scorer*weight …|picker) …
	Handler  string
	Warnings []string
}

func summarise(c *Config) summary {
	s := summary{Handler: c.Handler}
	for _, w := range c.Warnings {
		s.Warnings = append(s.Warnings, w.String())
	}
	var plugins, profiles []string
	for _, p := range c.Plugins {
		plugins = append(plugins, p.Name)
	}
	for _, p := range c.Profiles {
		var sc []string
		for _, r := range p.Scorers {
			sc = append(sc, r.Plugin+"*"+strconv.FormatFloat(r.Weight, 'g', -1, 64))
		}
		profiles = append(profiles, p.Name+"("+strings.Join(p.Filters, " ")+"|"+strings.Join(sc, " ")+"|"+p.Picker+")")
	}
	s.Plugins, s.Profiles = strings.Join(plugins, " "), strings.Join(profiles, " ")
	return s
}

// TestLoad has the loader vectors of the EPP specification under their ids, where they apply.
func TestLoad(t *testing.T) {
	const (
		two      = "single-profile-handler"
		defaults = "queue-scorer kv-cache-utilization-scorer prefix-cache-scorer max-score-picker single-profile-handler"
		profile  = "default(|queue-scorer*2 kv-cache-utilization-scorer*2 prefix-cache-scorer*3|max-score-picker)"
	)
	tests := []struct {
		name, doc string
		want      summary
	}{
		{"L1 empty text", "", summary{Plugins: defaults, Profiles: profile, Handler: two}},
		{"comments only", "# later\n", summary{Plugins: defaults, Profiles: profile, Handler: two}},
		{"L2 header only", header, summary{
			Plugins: "max-score-picker single-profile-handler", Profiles: "default(||max-score-picker)", Handler: two,
			Warnings: []string{"schedulingProfiles: has no scorer: every request goes to a random endpoint"},
		}},
		{"legacy group", strings.Replace(header, "llm-d.ai/", "inference.networking.x-k8s.io/", 1), summary{
			Plugins: "max-score-picker single-profile-handler", Profiles: "default(||max-score-picker)", Handler: two,
			Warnings: []string{"schedulingProfiles: has no scorer: every request goes to a random endpoint"},
		}},
		{"json", `{"apiVersion":"llm-d.ai/v1alpha1","kind":"EndpointPickerConfig","plugins":[{"type":"random-picker"}]}`, summary{
			Plugins: "random-picker single-profile-handler", Profiles: "default(||random-picker)", Handler: two,
		}},
		{"L6 queue-scorer ignores parameters", header + "plugins: [{type: queue-scorer, parameters: {x: 3}}]", summary{
			Plugins:  "queue-scorer max-score-picker single-profile-handler",
			Profiles: "default(|queue-scorer*1|max-score-picker)", Handler: two,
			Warnings: []string{"line 3: plugins[0].parameters.x: has no effect; plugin type queue-scorer reads no such parameter"},
		}},
		{"L7 weight -1, and 0, 0.5, none and 1e9", header + `
plugins: [{type: queue-scorer}, {name: b, type: queue-scorer}, {name: c, type: queue-scorer}, {name: d, type: queue-scorer}, {name: e, type: queue-scorer}]
schedulingProfiles:
- name: p
  plugins: [{pluginRef: queue-scorer, weight: -1}, {pluginRef: b, weight: 0}, {pluginRef: c, weight: 0.5}, {pluginRef: d}, {pluginRef: e, weight: 1e9}]
`, summary{
			Plugins:  "queue-scorer b c d e max-score-picker single-profile-handler",
			Profiles: "p(|queue-scorer*-1 b*0 c*0.5 d*1 e*1e+09|max-score-picker)", Handler: two,
			Warnings: []string{
				"line 7: schedulingProfiles[0].plugins[0].weight: is negative: endpoints that queue-scorer rates worst are preferred",
				"line 7: schedulingProfiles[0].plugins[4].weight: leaves nothing to scorers of usual weight; weights are used as they are and only their ratios count",
			},
		}},
		{"L8 profile with empty plugin list", header + "schedulingProfiles: [{name: p, plugins: []}]", summary{
			Plugins: "max-score-picker single-profile-handler", Profiles: "p(||max-score-picker)", Handler: two,
			Warnings: []string{"line 3: schedulingProfiles[0]: has no scorer: every request goes to a random endpoint"},
		}},
		{"implicit profile in order of declaration", header + `
plugins: [{type: some-filter}, {type: random-picker}, {type: filter-and-scorer}, {type: header-profile-handler}]
`, summary{
			Plugins:  "some-filter random-picker filter-and-scorer header-profile-handler",
			Profiles: "default(some-filter filter-and-scorer|filter-and-scorer*1|random-picker)", Handler: "header-profile-handler",
		}},
		{"profiles without picker share the first declared one", header + `
plugins: [{type: header-profile-handler}, {name: r, type: random-picker}, {type: max-score-picker}]
schedulingProfiles: [{name: a}, {name: b, plugins: [{pluginRef: max-score-picker}]}]
`, summary{
			Plugins: "header-profile-handler r max-score-picker", Profiles: "a(||r) b(||max-score-picker)", Handler: "header-profile-handler",
			Warnings: []string{"line 5: schedulingProfiles[1]: has no scorer: every request goes to a random endpoint"},
		}},
		{"what has no effect is said", header + `
featureGates: [flowControl=False, haPopulateNonLeaderDatastore]
plugins: [{type: single-profile-handler}, {type: random-picker}]
schedulingProfiles: [{name: a, plugins: [{pluginRef: random-picker, weight: 2}, {pluginRef: single-profile-handler}]}]
flowControl: {maxBytes: 1Gi, defaultRequestTTL: 10s, priorityBands: [{priority: 1, maxRequests: 5}]}
dataLayer: {injectDefaults: true}
`, summary{
			Plugins: "single-profile-handler random-picker", Profiles: "a(||random-picker)", Handler: two,
			Warnings: []string{
				"line 4: featureGates[1]: has no effect; there is no leader",
				"line 6: schedulingProfiles[0].plugins[0].weight: has no effect; random-picker is not a scorer",
				"line 6: schedulingProfiles[0].plugins[1].pluginRef: has no effect; single-profile-handler is neither filter nor scorer nor picker",
				"line 7: flowControl: has no effect while the feature gate flowControl is off",
			},
		}},
		{"producer named by a scorer", header + `
plugins:
- {type: approx-prefix-cache-producer, name: mine}
- {type: prefix-cache-scorer, parameters: {prefixMatchInfoProducerName: mine}}
`, summary{
			Plugins:  "mine prefix-cache-scorer max-score-picker single-profile-handler",
			Profiles: "default(|prefix-cache-scorer*1|max-score-picker)", Handler: two,
		}},
		{"default producer named by a scorer", header + `
plugins: [{type: prefix-cache-scorer, parameters: {prefixMatchInfoProducerName: approx-prefix-cache-producer}}]
`, summary{
			Plugins:  "prefix-cache-scorer max-score-picker single-profile-handler",
			Profiles: "default(|prefix-cache-scorer*1|max-score-picker)", Handler: two,
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, err := Load([]byte(tt.doc), testTypes)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tt.want, summarise(c)); d != "" {
				t.Error(d)
			}
			encoded := plan.Append(nil, c.Plan(Settings{}))
			if _, err := plan.Parse(encoded); err != nil {
				t.Errorf("the filter refuses the plan: %v", err)
			}
		})
	}
}

func TestLoadErrors(t *testing.T) {
	const types = "queue-scorer, kv-cache-utilization-scorer, prefix-cache-scorer, load-aware-scorer, some-filter, " +
		"filter-and-scorer, max-score-picker, random-picker, single-profile-handler, header-profile-handler, approx-prefix-cache-producer"
	const fields = "apiVersion, kind, featureGates, plugins, schedulingProfiles, dataLayer, flowControl, requestHandler, saturationDetector, parser"
	tests := []struct{ name, doc, want string }{
		{
			"L3 unregistered type", header + "plugins: [{type: queue-depth-scorer}]",
			`line 3: plugins[0].type: plugin type "queue-depth-scorer" is not registered; this version has ` + types,
		},
		{"L4 unknown field", header + "foo: 1", `line 3: foo: unknown field "foo"; known here: ` + fields},
		{
			"L5 unknown parameter", header + "plugins: [{type: load-aware-scorer, parameters: {thresold: 3}}]",
			`line 3: plugins[0].parameters.thresold: unknown field "thresold"; did you mean "threshold"?`,
		},
		{
			"refused by the type itself", header + "plugins: [{type: load-aware-scorer, parameters: {threshold: -1}}]",
			`line 3: plugins[0].parameters.threshold: want 0 or more`,
		},
		{
			"L9 undeclared reference", header + "schedulingProfiles: [{name: a, plugins: [{pluginRef: queue-scorer}]}]",
			`line 3: schedulingProfiles[0].plugins[0].pluginRef: references undefined plugin "queue-scorer"; declare it under plugins`,
		},
		{
			"L10 two pickers, no profiles", header + "plugins: [{type: random-picker}, {type: max-score-picker}]",
			`line 3: plugins[1]: failed to set "max-score-picker" as picker, already have a registered picker plugin "random-picker"; a profile has one picker`,
		},
		{
			"L11 feature gates", header + "featureGates: [foo, flowControl=maybe, flowControl]",
			`line 3: featureGates[0]: feature gate "foo" is unknown or unregistered; known here: flowControl, haPopulateNonLeaderDatastore
line 3: featureGates[1]: maybe is not a valid value for the feature gate flowControl; write true or false`,
		},
		{
			"L12 two profiles, no handler", header + "schedulingProfiles: [{name: a}, {name: b}]",
			`line 1: plugins: no profile handler configured for 2 scheduling profiles; declare one`,
		},
		{
			"L13 unknown producer", header + "plugins: [{type: prefix-cache-scorer, parameters: {prefixMatchInfoProducerName: nope}}]",
			`line 3: plugins[0].parameters.prefixMatchInfoProducerName: no default producer found for missing data key PrefixCacheMatchInfoDataKey/nope, consumed by prefix-cache-scorer; ` +
				`declare a plugin {type: approx-prefix-cache-producer, name: nope}`,
		},
		{
			"several profiles, single-profile-handler", header + `
plugins: [{type: single-profile-handler}]
schedulingProfiles: [{name: a}, {name: a}, {plugins: []}]`,
			`line 4: plugins[0]: single-profile-handler cannot support multiple scheduling profiles; there are 3
line 5: schedulingProfiles[1].name: duplicate profile name "a", already used by schedulingProfiles[0]
line 5: schedulingProfiles[2].name: is missing`,
		},
		{
			"two handlers", header + "plugins: [{type: single-profile-handler}, {type: header-profile-handler}]",
			`line 3: plugins[1]: is a second profile handler beside "single-profile-handler"; keep one`,
		},
		{
			"two pickers in a profile", header + `
plugins: [{type: random-picker}, {type: max-score-picker}]
schedulingProfiles: [{name: a, plugins: [{pluginRef: random-picker}, {pluginRef: max-score-picker}, {weight: 1}]}]`,
			`line 5: schedulingProfiles[0].plugins[1].pluginRef: failed to set "max-score-picker" as picker, already have a registered picker plugin "random-picker"; a profile has one picker
line 5: schedulingProfiles[0].plugins[2].pluginRef: is missing`,
		},
		{
			"duplicate and missing names", header + "plugins: [{type: queue-scorer}, {type: queue-scorer}, {name: x}, {name: x, type: random-picker}]",
			`line 3: plugins[1].type: duplicate plugin name "queue-scorer", already used by plugins[0]; give one of them another name
line 3: plugins[2].type: is missing
line 3: plugins[3].name: duplicate plugin name "x", already used by plugins[2]; give one of them another name`,
		},
		{
			"name of a default taken", header + "plugins: [{type: queue-scorer, name: max-score-picker}]",
			`line 3: plugins[0]: has the name "max-score-picker", which the max-score-picker that is added by default needs; give it another name`,
		},
		{
			"parameters", header + `
plugins:
- {type: some-filter, parameters: {label: 1, strict: "yes", other: 1}}
- {type: prefix-cache-scorer, parameters: {matchLengthWeight: 1.5}}
- {type: random-picker, parameters: {a: 1}}`,
			`line 5: plugins[0].parameters.label: must be a string, not the number 1; put it in quotes
line 5: plugins[0].parameters.other: unknown field "other"; plugin type "some-filter" has label, strict
line 5: plugins[0].parameters.strict: must be true or false, not the string "yes"
line 6: plugins[1].parameters.matchLengthWeight: 1.5 does not fit; want a number from 0 to 1 (share of the length term)
line 7: plugins[2].parameters.a: unknown field "a"; plugin type "random-picker" has no parameters`,
		},
		{
			"prefix index", header + `
plugins:
- {type: approx-prefix-cache-producer, parameters: {autoTune: false, blockSizeTokens: 0, maxPrefixTokensToMatch: -1, lruCapacityPerServer: 0.5}}
- {type: approx-prefix-cache-producer, name: other}`,
			`line 5: plugins[0].parameters.lruCapacityPerServer: 0.5 is not an integer of 32 bits
line 5: plugins[0].parameters.blockSizeTokens: must be greater than 0 when autoTune is false
line 5: plugins[0].parameters.maxPrefixTokensToMatch: must not be negative; 0 leaves the limit to maxPrefixBlocksToMatch
line 6: plugins[1]: is a second approx-prefix-cache-producer; there is one prefix index, keep plugins[0]`,
		},
		{"no envelope", "plugins: []", `line 1: apiVersion: is missing
line 1: kind: is missing`},
		{"wrong envelope", "apiVersion: v1\nkind: Foo", `line 2: kind: no kind "Foo" is registered for version "v1"; known here: EndpointPickerConfig, ZerohopConfig`},
		{"no object", "hello", "line 1: document: must be an object with apiVersion and kind"},
		{
			"sections", header + `
dataLayer: {injectDefaults: false, sources: [{pluginRef: a, extractors: [{pluginRef: b}, {}]}], crossReplicaSyncInterval: soon}
flowControl: {saturationDetector: {pluginRef: a}, maxBytes: 1 GB, priorityBands: [{weight: 1}, null, {priority: 0, maxRequests: -1}], defaultRequestTTL: -1s}
requestHandler: {parsers: [{pluginRef: openai-parser, x: 1}, {pluginRef: openai-parsr}]}
saturationDetector: {pluginRef: b}
parser: {pluginRef: c}
plugins: [{type: queue-scorer}]
dataLayer2: {}`,
			`line 4: dataLayer.crossReplicaSyncInterval: "soon" is not a duration; write for example 200ms
line 4: dataLayer.sources[0].pluginRef: references undefined plugin "a"; declare it under plugins
line 4: dataLayer.sources[0].extractors[0].pluginRef: references undefined plugin "b"; declare it under plugins
line 4: dataLayer.sources[0].extractors[1].pluginRef: is missing
line 5: flowControl.maxBytes: "1 GB" is not a quantity; write for example 1Gi or 1024
line 5: flowControl.priorityBands[0].weight: unknown field "weight"; known here: priority, maxBytes, maxRequests, fairnessPolicyRef, orderingPolicyRef
line 5: flowControl.priorityBands[1]: is empty
line 5: flowControl.priorityBands[2].priority: 0 is the priority of flowControl.priorityBands[0] too; give it another
line 5: flowControl.priorityBands[2].maxRequests: must be non-negative
line 5: flowControl.defaultRequestTTL: must be non-negative
line 5: flowControl.saturationDetector.pluginRef: references undefined plugin "a"; declare it under plugins
line 6: requestHandler.parsers[0].x: unknown field "x"; known here: pluginRef
line 6: requestHandler.parsers[1].pluginRef: references undefined plugin "openai-parsr"; declare it under plugins
line 7: saturationDetector.pluginRef: references undefined plugin "b"; declare it under plugins
line 8: parser.pluginRef: references undefined plugin "c"; declare it under plugins
line 10: dataLayer2: unknown field "dataLayer2"; did you mean "dataLayer"?`,
		},
		{
			"references of the wrong kind", header + `
dataLayer: {sources: [{pluginRef: queue-scorer, extractors: [{pluginRef: openai-parser}]}]}
flowControl: {saturationDetector: {pluginRef: queue-scorer}, usageLimitPolicyPluginRef: openai-parser, defaultPriorityBand: {fairnessPolicyRef: queue-scorer}}
requestHandler: {parsers: [{pluginRef: queue-scorer}]}
plugins: [{type: queue-scorer}, {type: openai-parser}]`,
			`line 4: dataLayer.sources[0].pluginRef: "queue-scorer" is of type queue-scorer, which is no data source
line 4: dataLayer.sources[0].extractors[0].pluginRef: "openai-parser" is of type openai-parser, which is no extractor
line 5: flowControl.defaultPriorityBand.fairnessPolicyRef: "queue-scorer" is of type queue-scorer, which is no fairness policy
line 5: flowControl.usageLimitPolicyPluginRef: "openai-parser" is of type openai-parser, which is no usage limit policy
line 5: flowControl.saturationDetector.pluginRef: "queue-scorer" is of type queue-scorer, which is no saturation detector
line 6: requestHandler.parsers[0].pluginRef: "queue-scorer" is of type queue-scorer, which is no parser`,
		},
		{
			"a source that tells its extractor nothing", header + `
dataLayer: {sources: [{pluginRef: m, extractors: [{pluginRef: core-metrics-extractor}, {pluginRef: r}]}, {pluginRef: metrics-data-source, extractors: [{pluginRef: r}, {pluginRef: precise-prefix-cache-producer}]}]}
plugins: [{type: models-data-source, name: m}, {type: models-data-extractor, name: r}, {type: precise-prefix-cache-producer}]`,
			`line 4: dataLayer.sources[0].extractors[0].pluginRef: "core-metrics-extractor" takes pages of metrics, and "m" has lists of models; name another extractor
line 4: dataLayer.sources[1].extractors[0].pluginRef: "r" takes lists of models, and "metrics-data-source" has pages of metrics; name another extractor
line 4: dataLayer.sources[1].extractors[1].pluginRef: "precise-prefix-cache-producer" takes events of endpoints, and "metrics-data-source" has pages of metrics; name another extractor`,
		},
		{"syntax", "a: [", "line 1: did not find expected node content"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Load([]byte(tt.doc), testTypes)
			if err == nil {
				t.Fatal("no error")
			}
			if d := cmp.Diff(tt.want, err.Error()); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestParametersHaveDefaultsApplied(t *testing.T) {
	c, err := Load([]byte(header+"plugins: [{type: some-filter, parameters: {strict: false}}, {type: load-aware-scorer, parameters: {threshold: null}}]"), testTypes)
	if err != nil {
		t.Fatal(err)
	}
	want := []plan.Params{
		{{Name: "label", Kind: plan.String, Str: "x"}, {Name: "strict", Kind: plan.Bool}},
		{{Name: "threshold", Num: 128}},
	}
	if d := cmp.Diff(want, []plan.Params{c.Plugins[0].Parameters, c.Plugins[1].Parameters}); d != "" {
		t.Error(d)
	}
}

func TestPlan(t *testing.T) {
	eps, err := discovery.ParseFile([]byte(`endpoints: [{name: a, address: 10.0.0.1, port: "80"}, {name: b, namespace: ns, address: "::1", port: "81"}]`))
	if err != nil {
		t.Fatal(err)
	}
	c, err := Load(nil, testTypes)
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name     string
		interval time.Duration
		staleMs  int
	}{
		{"short interval", 250 * time.Millisecond, 2000},
		{"long interval", 5 * time.Second, 15000},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c.Zerohop.DestinationMode, c.Zerohop.FailureMode, c.Zerohop.Scrape.Interval = plan.DestinationFilterState, plan.FailOpen, tt.interval
			p := c.Plan(Settings{AgentCluster: "agent", Endpoints: eps})
			want := plan.Agent{Cluster: "agent", PollTimeoutMs: 30000, StaleMs: tt.staleMs, ScrapeMs: int(tt.interval.Milliseconds())}
			if d := cmp.Diff(want, p.Agent); d != "" {
				t.Error(d)
			}
			wantEndpoints := []plan.Endpoint{{Name: "default/a", Address: "10.0.0.1:80"}, {Name: "ns/b", Address: "[::1]:81"}}
			if d := cmp.Diff(wantEndpoints, p.Endpoints); d != "" {
				t.Error(d)
			}
			got, err := plan.Parse(plan.Append(nil, p))
			if err != nil {
				t.Fatal(err)
			}
			if got.Destination != plan.DestinationFilterState || got.FailureMode != plan.FailOpen || got.Version != plan.Version {
				t.Errorf("plan = %+v", got)
			}
		})
	}
}

func TestRevision(t *testing.T) {
	c, err := Load(nil, testTypes)
	if err != nil {
		t.Fatal(err)
	}
	first, again, other := c.Plan(Settings{}), c.Plan(Settings{}), c.Plan(Settings{AgentCluster: "x"})
	if len(first.Revision) != 16 || first.RevisionID() == 0 {
		t.Errorf("revision %q", first.Revision)
	}
	if first.Revision != again.Revision {
		t.Error("the same plan has two revisions")
	}
	if first.Revision == other.Revision {
		t.Error("two plans have one revision")
	}
}

// FuzzLoad checks that whatever loads is a plan that the filter accepts, and that what YAML prints is the same again.
func FuzzLoad(f *testing.F) {
	f.Add([]byte(DefaultDocument))
	f.Add([]byte(header + "plugins: [{type: some-filter, parameters: {label: \"\\u0001\"}}]\nschedulingProfiles: [{name: a, plugins: [{pluginRef: some-filter}]}]"))
	f.Add([]byte(`{"apiVersion":"llm-d.ai/v1alpha1","kind":"EndpointPickerConfig","plugins":[{"type":"approx-prefix-cache-producer","parameters":{"blockSize":1e99}}]}`))
	f.Add([]byte(wholeDocument + "---\n" + DefaultDocument))
	f.Add([]byte(header + "plugins: [{type: filter-and-scorer}, {type: some-filter}, {type: file-discovery, parameters: {path: \"\\xe9\"}}]\n" +
		"dataLayer: {discovery: {pluginRef: file-discovery}}\n---\n" + zheader + "envoy: {agentCluster: \"yes\"}"))
	f.Add([]byte(header + "plugins:\n- {type: tree, parameters: {conditions: [{metric: kv, maxValue: 1}], labels: {a: b}, algorithm: {type: step, adaptive: {}}, age: 1s}}\n" +
		"- {type: disagg-profile-handler}\n- {type: token-producer, parameters: {estimate: {image: {mode: x}}}}\nparser: {pluginRef: openai-parser}\nfeatureGates: [flowControl]\n" +
		"schedulingProfiles: [{name: prefill}, {name: decode, plugins: [{pluginRef: tree}]}]\n"))
	f.Add([]byte(header + "plugins: [{type: core-metrics-extractor, parameters: {engineConfigs: [{name: a, queuedRequestsSpec: \"q{a=b}\", customMetrics: [{attributeKey: x, metricSpec: y}]}]}}]\n" +
		"flowControl: {saturationDetector: {pluginRef: utilization-detector}, priorityBands: [{priority: 1}]}\n---\n" + zheader + "objectives: [{name: a, priority: -1}]\nexplain: {trustedNetworks: [\"::1\"]}"))
	f.Fuzz(func(t *testing.T, doc []byte) {
		c, err := Load(doc, treeTypes)
		if err != nil {
			return
		}
		encoded := plan.Append(nil, c.Plan(Settings{AgentCluster: "agent"}))
		if _, err := plan.Parse(encoded); err != nil {
			t.Errorf("the filter refuses the plan: %v\n%s", err, encoded)
		}
		sameAgain(t, c, treeTypes)
	})
}

// sameAgain checks that c.YAML loads to the same as c.
func sameAgain(t *testing.T, c *Config, types []scorers.Spec) {
	t.Helper()
	text := c.YAML()
	again, err := Load(text, types)
	if err != nil {
		t.Fatalf("what YAML printed does not load: %v\n%s", err, text)
	}
	want, got := plan.Append(nil, c.Plan(Settings{})), plan.Append(nil, again.Plan(Settings{}))
	if d := cmp.Diff(string(want), string(got)); d != "" {
		t.Errorf("another plan: %s\n%s", d, text)
	}
	if d := cmp.Diff(c.Zerohop, again.Zerohop, compareAddresses, cmpopts.EquateEmpty()); d != "" {
		t.Errorf("other settings: %s\n%s", d, text)
	}
	if d := cmp.Diff(c.Discovery, again.Discovery); d != "" {
		t.Errorf("another discovery: %s\n%s", d, text)
	}
}
