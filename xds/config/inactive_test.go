package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zerohop/zerohop/scorers"
	"github.com/zerohop/zerohop/scorers/registry"
	"github.com/zerohop/zerohop/shared/plan"
	"github.com/zerohop/zerohop/xds/strictyaml"
)

// withDetector are the types of these tests.
var withDetector = append(withNew([]scorers.Spec{
	{Type: "utilization-detector", Kinds: scorers.KindFilter | scorers.KindDetector},
	{Type: "latency-scorer", Kinds: scorers.KindScorer, Consumes: []scorers.Need{{Key: scorers.DataLatency}, {Key: scorers.DataPrefixMatch, Param: "prefix"}}, Params: []scorers.Param{
		{Name: "prefix", Kind: plan.String, Default: "", Ref: "approx-prefix-cache-producer"},
	}},
	{Type: "chain", Kinds: scorers.KindProducer, Produces: []scorers.DataKey{scorers.DataPrefixMatch}, Params: []scorers.Param{
		{Name: "next", Kind: plan.String, Default: "", Ref: "chain"},
	}},
}), testTypes...)

func TestInactive(t *testing.T) {
	const end = " is known but not active in this version: "
	tests := []struct {
		name, doc string
		want      summary
		inactive  []string
	}{
		{
			"a scorer and a producer", `
plugins:
- {type: queue-scorer}
- {type: mm-embeddings-cache-scorer}
- {type: precise-prefix-cache-producer, name: precise, parameters: {kvEventsConfig: {zmqEndpoint: "tcp://*:5557"}, indexerConfig: {kvBlockIndexConfig: {inMemoryConfig: {size: 1}}}}}
schedulingProfiles: [{name: a, plugins: [{pluginRef: queue-scorer}, {pluginRef: mm-embeddings-cache-scorer, weight: 2}]}]`,
			summary{Plugins: "queue-scorer max-score-picker single-profile-handler", Profiles: "a(|queue-scorer*1|max-score-picker)", Handler: "single-profile-handler"},
			[]string{
				"line 6: plugins[1]: mm-embeddings-cache-scorer" + end + "images are not looked at",
				"line 7: plugins[2]: precise-prefix-cache-producer" + end + "KV events are not read",
				"line 8: schedulingProfiles[0].plugins[1].pluginRef: mm-embeddings-cache-scorer" + end + "images are not looked at; the profile does without",
			},
		},
		{
			"the implicit profile has active plugins only", `
plugins: [{type: multicluster-queue-scorer}, {type: queue-scorer}, {type: utilization-detector}]`,
			summary{
				Plugins:  "queue-scorer utilization-detector max-score-picker single-profile-handler",
				Profiles: "default(utilization-detector|queue-scorer*1|max-score-picker)", Handler: "single-profile-handler",
			},
			[]string{"line 4: plugins[0]: multicluster-queue-scorer" + end + "endpoints are model servers of one cluster"},
		},
		{
			"flow control", `
featureGates: [flowControl]
plugins: [{type: queue-scorer}, {type: utilization-detector, name: d}, {type: round-robin-fairness-policy}]
flowControl: {maxBytes: 1Gi, priorityBands: [{priority: 1, fairnessPolicyRef: round-robin-fairness-policy, orderingPolicyRef: fcfs-ordering-policy}]}
saturationDetector: {pluginRef: d}
schedulingProfiles: [{name: a, plugins: [{pluginRef: queue-scorer}]}]`,
			summary{
				Plugins: "queue-scorer d max-score-picker single-profile-handler", Profiles: "a(|queue-scorer*1|max-score-picker)", Handler: "single-profile-handler",
				Warnings: []string{"line 7: saturationDetector: is deprecated; write flowControl.saturationDetector"},
			},
			[]string{
				"line 4: featureGates[0]: feature gate flowControl" + end + "requests are not queued",
				"line 5: plugins[2]: round-robin-fairness-policy" + end + "requests are not queued",
				"line 7: saturationDetector: saturationDetector" + end + "nothing is refused by saturation; refer to the detector in a profile, where it is a filter",
			},
		},
		{
			"parsers", `
requestHandler: {parsers: [{pluginRef: openai-parser}, {pluginRef: anthropic-parser}, {pluginRef: mine}]}
parser: {pluginRef: openai-parser}
plugins: [{type: queue-scorer}, {type: passthrough-parser, name: mine}]`,
			summary{
				Plugins: "queue-scorer max-score-picker single-profile-handler", Profiles: "default(|queue-scorer*1|max-score-picker)", Handler: "single-profile-handler",
				Warnings: []string{"line 5: parser: is deprecated and is ignored beside requestHandler.parsers; remove it"},
			},
			[]string{"line 4: requestHandler.parsers[1].pluginRef: anthropic-parser" + end + "requests of the Messages API are routed by load alone"},
		},
		{
			"what the agent does by itself", `
plugins:
- {type: queue-scorer}
- {type: metrics-data-source, parameters: {scheme: http, interval: 50ms}}
- {type: core-metrics-extractor, parameters: {defaultEngine: sglang, engineConfigs: [{name: mine, queuedRequestsSpec: "q{a=b}"}]}}
- {type: token-producer, parameters: {modelName: m, vllm: {url: "http://x"}}}
dataLayer: {injectDefaults: false, sources: [{pluginRef: metrics-data-source, extractors: [{pluginRef: core-metrics-extractor}]}], peerDiscovery: {pluginRef: ""}}`,
			summary{
				Plugins: "queue-scorer max-score-picker single-profile-handler", Profiles: "default(|queue-scorer*1|max-score-picker)", Handler: "single-profile-handler",
				Warnings: []string{"line 9: dataLayer.injectDefaults: has no effect; the agent scrapes every endpoint, or none with agent.enabled: false of a ZerohopConfig"},
			},
			[]string{
				"line 6: plugins[1].parameters.interval: metrics-data-source" + end + "write it in a ZerohopConfig: scrape.interval",
				"line 8: plugins[3].parameters.modelName: token-producer" + end + "tokens are estimated from the text",
				"line 8: plugins[3].parameters.vllm: token-producer" + end + "tokens are estimated from the text",
				"line 9: dataLayer.peerDiscovery: peerDiscovery" + end + "Envoys tell each other nothing",
			},
		},
		{
			"prefill and decode", `
plugins: [{type: queue-scorer}, {type: disagg-profile-handler, parameters: {deciders: {prefill: d}}}, {type: prefix-based-pd-decider, name: d, parameters: {nonCachedTokens: 16}}]
schedulingProfiles: [{name: prefill}, {name: decode, plugins: [{pluginRef: queue-scorer}]}]`,
			summary{Plugins: "queue-scorer max-score-picker single-profile-handler", Profiles: "decode(|queue-scorer*1|max-score-picker)", Handler: "single-profile-handler", Warnings: []string{
				"line 5: schedulingProfiles[0]: has no scorer: every request goes to a random endpoint",
			}},
			[]string{
				"line 4: plugins[1]: disagg-profile-handler" + end + "a request goes to one endpoint from prefill to decode",
				"line 4: plugins[2]: prefix-based-pd-decider" + end + "a request goes to one endpoint from prefill to decode",
				"line 4: plugins[1]: disagg-profile-handler" + end + "every request runs profile decode, and no other profile runs",
			},
		},
		{
			"a producer that is not active", `
plugins: [{type: latency-scorer, parameters: {prefix: p}}, {type: burst-prefix-cache-producer, name: p}]`,
			summary{
				Plugins: "latency-scorer max-score-picker single-profile-handler", Profiles: "default(|latency-scorer*1|max-score-picker)", Handler: "single-profile-handler",
				Warnings: []string{
					"line 4: plugins[0].parameters.prefix: latency-scorer reads PrefixCacheMatchInfoDataKey of p, which is not active in this version: the approximate index is read instead",
				},
			},
			[]string{
				"line 4: plugins[1]: burst-prefix-cache-producer" + end + "requests are not held back to be gathered",
				"line 4: plugins[0]: latency-scorer does not act as configured: it reads LatencyPredictionInfoDataKey of predicted-latency-producer, which is not active in this version, and does without",
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, err := Load([]byte(header+tt.doc), withDetector)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tt.want, summarise(c)); d != "" {
				t.Error(d)
			}
			var inactive []string
			for i := range c.Inactive {
				inactive = append(inactive, c.Inactive[i].String())
			}
			if d := cmp.Diff(tt.inactive, inactive); d != "" {
				t.Error(d)
			}
			sameAgain(t, c, withDetector)

			_, err = Load([]byte(header+tt.doc), withDetector, FailOnInactive)
			var refused []string
			for _, p := range strictyaml.ListOf(err) {
				text, ok := strings.CutSuffix(p.String(), "; remove it or drop --fail-on-inactive")
				if !ok {
					text, ok = strings.CutSuffix(p.String(), "; mend or remove it, or drop --fail-on-inactive")
				}
				if !ok {
					t.Errorf("another problem: %s", p)
				}
				refused = append(refused, text)
			}
			if d := cmp.Diff(tt.inactive, refused); d != "" {
				t.Errorf("with FailOnInactive: %s", d)
			}
		})
	}
}

// TestPresetsAreActive wants nothing in config/ that does not act.
func TestPresetsAreActive(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(samples, "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, file := range files {
		if strings.HasPrefix(filepath.Base(file), "endpoints") {
			continue
		}
		checked++
		doc, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Load(doc, registry.Specs(), FailOnInactive); err != nil {
			t.Errorf("%s: %v", filepath.Base(file), err)
		}
	}
	if checked < 6 {
		t.Errorf("%d presets", checked)
	}
}

func TestPlansNameWhatIsInactive(t *testing.T) {
	c, err := Load([]byte(header+"plugins: [{type: multicluster-queue-scorer, name: m}, {type: openai-parser}]"), withDetector)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]plan.Inactive{{Name: "m", Type: "multicluster-queue-scorer"}}, c.Plan(Settings{}).Inactive); d != "" {
		t.Error(d)
	}
}

func TestInactiveErrors(t *testing.T) {
	tests := []struct{ name, doc, want string }{
		{
			"no decode profile", "plugins: [{type: disagg-profile-handler, parameters: {profiles: {decode: d}}}]\nschedulingProfiles: [{name: decode}, {name: e}]",
			`line 3: plugins[0]: disagg-profile-handler is known but not active in this version, and there is no profile "d", which would run for every request; declare it, or another profile handler`,
		},
		{"reference cycle", "plugins: [{type: latency-scorer, name: a, parameters: {prefix: b}}, {type: chain, name: b, parameters: {next: c}}, {type: chain, name: c, parameters: {next: b}}]", "plugins: reference cycle b → c → b; remove one reference"},
		{"misspelt known type", "plugins: [{type: precise-prefix-cache-producr}]", `line 3: plugins[0].type: plugin type "precise-prefix-cache-producr" is not registered; did you mean "precise-prefix-cache-producer"?`},
		{"producer of something else", "plugins: [{type: latency-scorer, parameters: {prefix: q}}, {type: queue-scorer, name: q}]", `line 3: plugins[0].parameters.prefix: no default producer found for missing data key PrefixCacheMatchInfoDataKey/q, consumed by latency-scorer; declare a plugin {type: approx-prefix-cache-producer, name: q}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Load([]byte(header+tt.doc), withDetector)
			if err == nil {
				t.Fatal("no error")
			}
			if d := cmp.Diff(tt.want, err.Error()); d != "" {
				t.Error(d)
			}
		})
	}
}
