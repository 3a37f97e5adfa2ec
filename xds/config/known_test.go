package config

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/zerohop/zerohop/scorers/registry"
	"github.com/zerohop/zerohop/xds/config/known"
)

// knownCase is parameters of one type, and a part of the error that they have; empty if they are right.
type knownCase struct{ params, want string }

// prefixCases are of every type with the parameters of a prefix index.
var prefixCases = []knownCase{
	{"{autoTune: false, blockSizeTokens: 64, maxPrefixTokensToMatch: 0, maxPrefixBlocksToMatch: 10, lruCapacityPerServer: 5}", ""},
	{"{maxPrefixTokensToMatch: -1}", "maxPrefixTokensToMatch: -1 does not fit; want an integer of at least 0"},
}

// preciseCases are of every type with the parameters of an index of KV events.
var preciseCases = []knownCase{
	{"{tokenProcessorConfig: {blockSizeTokens: 16, hashSeed: \"42\"}, indexerConfig: {kvBlockIndexConfig: {inMemoryConfig: {size: 5}, enableMetrics: true}, kvCacheBackendConfigs: [{name: gpu, weight: 1}]}, " +
		"kvEventsConfig: {topicFilter: kv@, concurrency: 4, discoverPods: true, podDiscoveryConfig: {socketPort: 5557}}, speculativeIndexing: true, speculativeTTL: 2s}", ""},
	{"{tokenProcessorConfig: {blockSize: -1}}", "tokenProcessorConfig.blockSize: -1 does not fit"},
	{"{tokenProcessorConfig: {hashAlgorithm: xxhash}}", `"xxhash" is not known; known here: cbor-fnv, xxh64`},
	{"{speculativeTTL: soon}", `"soon" is not a duration`},
	{"{indexerConfig: {kvBlockIndex: {}}}", `unknown field "kvBlockIndex"`},
}

// looseCases are of every type that reads no parameters.
var looseCases = []knownCase{{"{x: 1}", ""}}

var knownCases = map[string][]knownCase{
	"token-producer": {
		{"{estimate: {image: {mode: static, static: {staticToken: 5}}, video: {maxVideoTokens: 9}}}", ""},
		{"{modelName: m, vllm: {url: \"http://vllm:8000\", timeout: 1s, mmTimeout: 5s}}", ""},
		{"{vllm: {}}", ""}, // an empty object is as good as none
		{"{vllm: {url: x}}", "modelName: is missing"},
		{"{modelName: m, estimate: {image: {}}}", "modelName: stands beside estimate; keep one of them"},
		{"{modelName: m, vllm: {timeout: 5}}", "vllm.timeout: must be a duration with its unit"},
	},
	"metrics-data-source": {
		{"{scheme: https, path: /stats, port: 9000, insecureSkipVerify: false, caCertPath: a, clientCertPath: b, clientKeyPath: c, interval: 100ms}", ""},
		{"{scheme: ftp}", `scheme: "ftp" is not known`},
		{"{port: 1.5}", "port: 1.5 does not fit; want an integer"},
	},
	"core-metrics-extractor": {
		{"{engineLabelKey: e, defaultEngine: mine, engineConfigs: [{name: mine, queuedRequestsSpec: q, customMetrics: [{attributeKey: a, metricSpec: m}]}]}", ""},
		{"{engineConfigs: [{name: vllm, queuedRequestsSpec: \"q{a=\"}]}", "engineConfigs[0].queuedRequestsSpec: "},
		{"{engineConfigs: [{name: a}]}", "engineConfigs[0]: has no metric"},
		{"{engineConfigs: [{name: a, queuedRequestsSpec: q}, {name: a, queuedRequestsSpec: q}]}", `engineConfigs[1].name: "a" is the name of engineConfigs[0] too`},
		{"{defaultEngine: vlm}", `defaultEngine: "vlm" is not known; did you mean "vllm"?`},
		{"{engineConfigs: [{queuedRequestsSpec: q}]}", "engineConfigs[0].name: is missing"},
		{"{engineConfigs: [{name: a, customMetrics: [{attributeKey: a}]}]}", "engineConfigs[0].customMetrics[0].metricSpec: is missing"},
	},
	"models-data-source":                       {{"{path: /models, interval: 1s}", ""}, {"{interval: 1}", "interval: must be a duration"}},
	"models-data-extractor":                    looseCases,
	"endpoint-notification-source":             looseCases,
	"file-discovery":                           {{"{path: a, watchFile: true}", ""}, {"{watchFile: true}", "path: is missing"}},
	"openai-parser":                            looseCases,
	"passthrough-parser":                       looseCases,
	"anthropic-parser":                         looseCases,
	"vllmhttp-parser":                          looseCases,
	"sglanghttp-parser":                        looseCases,
	"vllmgrpc-parser":                          looseCases,
	"vertexai-parser":                          looseCases,
	"multicluster-queue-scorer":                looseCases,
	"multicluster-kv-cache-utilization-scorer": looseCases,
	"destination-endpoint-served-verifier":     looseCases,
	"always-disagg-pd-decider":                 looseCases,
	"always-disagg-multimodal-decider":         looseCases,
	"fcfs-ordering-policy":                     looseCases,
	"edf-ordering-policy":                      looseCases,
	"slo-deadline-ordering-policy":             looseCases,
	"global-strict-fairness-policy":            looseCases,
	"round-robin-fairness-policy":              looseCases,
	"sheddable-eviction-filter":                looseCases,
	"priority-then-time-eviction-order-policy": looseCases,
	"dcgm-extractor":                           looseCases,
	"soft-reflective-ceiling-policy":           {{"{}", ""}, {"{x: 1}", "has no parameters"}},
	"multicluster-session-affinity-filter":     {{"{encodedEndpointHeaderConfig: {header: x}}", ""}, {"{header: x}", "unknown field"}},
	"multicluster-prefix-cache-scorer":         {{"{matchLengthWeight: 0.5}", ""}, {"{matchLengthWeight: 2}", "want a number from 0 to 1"}},
	"mm-embeddings-cache-scorer":               {{"{producerName: mm-embeddings-cache-producer}", ""}, {"{producerName: 1}", "must be a string"}},
	"precise-prefix-cache-scorer":              preciseCases,
	"precise-prefix-cache-producer":            append([]knownCase{{"{indexerConfig: {tokenizersPoolConfig: {}}}", "unknown field"}}, preciseCases...),
	"disaggregatedset-rollout-screener": {
		{"{scope: {labelSelector: a=b}, headerSelectors: [{name: a, headerName: x, labelKey: l, mode: strict}], revisionGating: {mode: sum, requireRoles: {values: [decode]}}}", ""},
		{"{revisionGating: {mode: sum}}", "scope: is missing"},
		{"{scope: {labelSelector: a=b}}", "revisionGating: is missing"},
		{"{scope: {labelSelector: a=b}, revisionGating: {mode: most}}", `"most" is not known`},
		{"{scope: {labelSelector: a=b}, revisionGating: {mode: sum}, headerSelectors: [{name: a, headerName: x, labelKey: l}, {name: a, headerName: z, labelKey: l}]}", "headerSelectors[1].name: is that of another selector"},
	},
	"request-attribute-reporter": {
		{"{attributes: [{key: {namespace: envoy.lb, name: x}, expression: usage.total_tokens}]}", ""},
		{"{}", "attributes: is missing"},
		{"{attributes: [{key: {name: x}, expression: a}]}", "attributes[0].key.namespace: is missing"},
		{"{attributes: [{key: {namespace: a, name: x}, expression: a}, {key: {namespace: a, name: x}, expression: a}]}", "has more than one element"},
	},
	"multicluster-approx-prefix-cache-producer": prefixCases,
	"burst-prefix-cache-producer": {
		{"{windowDurationMs: 50, maxPerReplica: 2, blockSizeTokens: 64, maxPrefixTokensToMatch: 6400, minColocateBlocks: 2, maxBatchSize: 10, balanceBy: tokens}", ""},
		{"{windowDurationMs: 0}", "want an integer from 1 to 10000"},
		{"{maxPerReplica: 0}", "must be -1 or at least 1"},
		{"{maxPrefixTokensToMatch: 3}", "is less than one block"},
		{"{balanceBy: luck}", "is not known"},
	},
	"p2p-source-producer": {{"{minCachedTokenDelta: 5, prefillProfileName: p}", ""}, {"{minCachedTokenDelta: 0}", "at least 1"}},
	"predicted-latency-producer": {
		{"{sloBufferFactor: 0.5, contextTTL: 300000000000, streamingMode: true, samplingMean: 5}", ""}, {"{sloBufferFactor: 0}", "want a number above 0"}, {"{contextTTL: 5m}", "must be a number"},
	},
	"mm-embeddings-cache-producer": {{"{cacheSizeInMBPerServer: 1}", ""}, {"{cacheSizeInMB: 1}", `unknown field "cacheSizeInMB"`}},
	"disagg-profile-handler": {
		{"{stageOrder: Prefill_First, profiles: {decode: default}, deciders: {encode: e}}", ""},
		{"{decodeProfile: default, deciderPluginName: d}", ""},
		{"{profiles: {decode: default}, prefillProfile: p}", "prefillProfile: is of the older form"},
		{"{stageOrder: sideways}", "stageOrder: is neither decode-first nor prefill-first"},
		{"{stageOrder: prefill-first, deciders: {prefill: d}}", "prefill decider is not supported in prefill-first stage order"},
	},
	"pd-profile-handler":               {{"{decodeProfile: default, primaryPort: 8000}", ""}, {"{encodeProfile: e}", "unknown field"}},
	"data-parallel-profile-handler":    {{"{primaryPort: 9000}", ""}, {"{primaryPort: 0}", "want an integer from 1 to 65535"}},
	"prefix-based-pd-decider":          {{"{nonCachedTokens: 16, promptTokens: 32}", ""}, {"{nonCachedTokens: -1}", "at least 0"}},
	"disagg-headers-handler":           {{"{prefillProfile: p, encodeProfile: e}", ""}, {"{decodeProfile: d}", "unknown field"}},
	"prefill-header-handler":           {{"{prefillProfile: p}", ""}, {"{prefillProfile: 1}", "must be a string"}},
	"program-aware-fairness":           {{"{strategy: las, evictionTtlSeconds: 0, lasHalfLifeSeconds: 0}", ""}, {"{lasDecayFactor: 1}", "unknown field"}, {"{evictionSweepSeconds: 0}", "want a number above 0"}},
	"static-usage-limit-policy":        {{"{threshold: 0.9}", ""}, {"{threshold: 1.1}", "from 0 to 1"}},
	"priority-holdback-policy":         {{"{minCeiling: 0.2, maxCeiling: 0.9, domain: value}", ""}, {"{}", "minCeiling: is missing"}, {"{minCeiling: 0.9, maxCeiling: 0.5}", "must be less than maxCeiling"}, {"{minCeiling: 1}", "minCeiling: 1 does not fit"}, {"{minCeiling: 0, maxCeiling: 0}", "maxCeiling: 0 does not fit"}},
	"multicluster-metrics-data-source": {{"{port: 9090}", ""}, {"{scheme: x}", "is not known"}},
	"multicluster-metrics-extractor":   {{"{queueSizeMetric: a}", ""}, {"{queueSize: a}", "unknown field"}},
	"multicluster-file-discovery":      {{"{path: a}", ""}, {"{}", "path: is missing"}},
	"dcgm-data-source":                 {{"{port: 9400, useNodeAddress: true}", ""}, {"{port: 0}", "at least 1"}},
	"k8s-notification-source":          {{"{group: apps, version: v1, kind: Deployment}", ""}, {"{group: apps, version: v1}", "kind: is missing"}},
}

// TestKnownTypes checks parameters of every type that is no part of the filter, right ones and wrong ones.
func TestKnownTypes(t *testing.T) {
	types := known.Types()
	for i := range types {
		k := &types[i]
		t.Run(k.Type, func(t *testing.T) {
			cases := knownCases[k.Type]
			if len(cases) == 0 {
				t.Fatal("there is no case")
			}
			if len(cases) == 1 && !k.LooseParams {
				t.Error("there is no case of wrong parameters")
			}
			for _, c := range cases {
				checkKnown(t, k, c)
			}
		})
	}
	for typ := range knownCases {
		if !slices.ContainsFunc(types, func(k known.Type) bool { return k.Type == typ }) {
			t.Errorf("there are cases of %s, which is not known", typ)
		}
	}
}

func checkKnown(t *testing.T, k *known.Type, c knownCase) {
	t.Helper()
	doc := header + "plugins: [{type: queue-scorer}, {type: " + k.Type + ", parameters: " + c.params + "}]\n" +
		"schedulingProfiles: [{name: default, plugins: [{pluginRef: queue-scorer}]}]\n"
	loaded, err := Load([]byte(doc), registry.Specs())
	switch {
	case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n")):
		t.Errorf("%s: %v, want one with %q", c.params, err, c.want)
	case c.want != "":
	case err != nil:
		t.Errorf("%s: %v", c.params, err)
	default:
		sameAgain(t, loaded, registry.Specs())
		found := false
		for _, in := range loaded.Inactive {
			found = found || in.Type == k.Type && in.Path == "plugins[1]"
		}
		if found == k.Active() {
			t.Errorf("%s: reported as not active: %v", c.params, loaded.Inactive)
		}
	}
}

// TestEveryTypeOfTheEPPIsThere looks up every plugin type that the EPP registers: each is of the filter, or known.
func TestEveryTypeOfTheEPPIsThere(t *testing.T) {
	text, err := os.ReadFile("testdata/epp_types.txt")
	if err != nil {
		t.Fatal(err)
	}
	types := newTypes(registry.Specs())
	for typ := range strings.FieldsSeq(string(text)) {
		if spec, _ := types.lookup(typ); spec == nil {
			t.Errorf("%s is not known", typ)
		}
	}
}
