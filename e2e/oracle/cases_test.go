package oracle

import "math"

// policy is one configuration twice: as an operator writes it, and as functions of the oracle.
type policy struct {
	name    string
	plugins string // the document's plugins, one a line
	profile string // references of its profile, one a line
	filters []filter
	scorers []scorer
}

func (p *policy) doc() string {
	return "apiVersion: llm-d.ai/v1alpha1\nkind: EndpointPickerConfig\nplugins:\n" + p.plugins +
		"schedulingProfiles:\n- name: default\n  plugins:\n" + p.profile +
		"---\napiVersion: zerohop.dev/v1alpha1\nkind: ZerohopConfig\nparity: epp\n"
}

// policies are those of llm-d's published samples in kind, and one with most scorers that there are.
var policies = []policy{
	{
		name: "default",
		plugins: `- {type: queue-scorer}
- {type: kv-cache-utilization-scorer}
- {type: prefix-cache-scorer}
`,
		profile: `  - {pluginRef: queue-scorer, weight: 2}
  - {pluginRef: kv-cache-utilization-scorer, weight: 2}
  - {pluginRef: prefix-cache-scorer, weight: 3}
`,
		scorers: []scorer{{2, queue}, {2, kv}, {3, prefix}},
	},
	{
		name: "prefix",
		plugins: `- {type: approx-prefix-cache-producer, parameters: {lruCapacityPerServer: 1000000}}
- {type: prefix-cache-scorer, parameters: {matchLengthWeight: 0.5, matchLengthScaleTokens: 2000}}
- {type: no-hit-lru-scorer}
- {type: load-aware-scorer, parameters: {threshold: 12}}
`,
		profile: `  - {pluginRef: prefix-cache-scorer, weight: 5}
  - {pluginRef: no-hit-lru-scorer, weight: 2}
  - {pluginRef: load-aware-scorer}
`,
		scorers: []scorer{{5, weightedPrefix(.5, 2000)}, {2, noHitLRU}, {1, loadAware(12)}},
	},
	{
		name: "lora",
		plugins: `- {type: lora-affinity-scorer}
- {type: queue-scorer}
- {type: kv-cache-utilization-scorer}
- {type: prefix-cache-scorer}
`,
		profile: `  - {pluginRef: lora-affinity-scorer, weight: 4}
  - {pluginRef: queue-scorer, weight: 2}
  - {pluginRef: kv-cache-utilization-scorer, weight: 2}
  - {pluginRef: prefix-cache-scorer, weight: 3}
`,
		scorers: []scorer{{4, lora}, {2, queue}, {2, kv}, {3, prefix}},
	},
	{
		name: "sticky until saturated",
		plugins: `- {type: prefix-cache-affinity-filter, parameters: {affinityThreshold: 0.5, maxTTFTPenaltyMs: 400, peakPrefillThroughput: 8000}}
- {type: token-load-scorer, parameters: {queueThresholdTokens: 40000}}
- {type: inflight-load-producer}
`,
		profile: `  - {pluginRef: prefix-cache-affinity-filter}
  - {pluginRef: token-load-scorer}
`,
		filters: []filter{sticky(.5, 400, 8000)},
		scorers: []scorer{{1, tokenLoad(40000)}},
	},
	{
		name: "labels",
		plugins: `- {type: decode-filter}
- {type: label-selector-filter, parameters: {matchLabels: {gpu: h100}}}
- {type: context-length-aware, parameters: {enableFiltering: true}}
- {type: header-label-affinity-scorer, parameters: {headerName: x-slice, labelKey: slice}}
- {type: running-requests-size-scorer}
`,
		profile: `  - {pluginRef: decode-filter}
  - {pluginRef: label-selector-filter}
  - {pluginRef: context-length-aware}
  - {pluginRef: header-label-affinity-scorer, weight: 2}
  - {pluginRef: running-requests-size-scorer}
`,
		filters: []filter{decode, label("gpu", "h100"), fittingLength},
		scorers: []scorer{{1, contextLength}, {2, headerLabel("x-slice", "slice")}, {1, running}},
	},
	{
		name: "attributes",
		plugins: `- {type: endpoint-attribute-filter, parameters: {attribute: heat, algorithm: {type: threshold, threshold: {operator: LessThan, value: 80}}}}
- {type: utilization-detector, parameters: {queueDepthThreshold: 9, kvCacheUtilThreshold: 0.9}}
- {type: endpoint-attribute-scorer, parameters: {attributeKey: heat, algorithm: {type: linear_lower_is_better}}}
- {type: kv-cache-utilization-scorer}
`,
		profile: `  - {pluginRef: endpoint-attribute-filter}
  - {pluginRef: utilization-detector}
  - {pluginRef: endpoint-attribute-scorer}
  - {pluginRef: kv-cache-utilization-scorer, weight: 0.5}
`,
		filters: []filter{below("heat", 80), unsaturated(9, .9)},
		scorers: []scorer{{1, attributeLow("heat")}, {.5, kv}},
	},
	{
		name: "latency",
		plugins: `- {type: latency-scorer}
- {type: utilization-filter, parameters: {conditions: [{metric: active-requests, maxValue: 8}, {metric: waiting-queue, maxValue: 11}, {metric: kv-cache-utilization, maxValue: 0.95}], fallbackOnEmpty: true}}
- {type: prefix-cache-scorer}
`,
		profile: `  - {pluginRef: utilization-filter}
  - {pluginRef: latency-scorer, weight: 2}
  - {pluginRef: prefix-cache-scorer}
`,
		filters: []filter{orAll(utilization(8, 11, .95))},
		scorers: []scorer{{2, latencyComposite}, {1, prefix}},
	},
	{
		name: "session",
		plugins: `- {type: session-affinity-scorer, parameters: {strategy: session_id}}
- {type: active-request-scorer, parameters: {idleThreshold: 1, maxBusyScore: 0.75}}
- {type: queue-scorer}
- {type: concurrency-detector, parameters: {maxConcurrency: 6}}
`,
		profile: `  - {pluginRef: concurrency-detector}
  - {pluginRef: session-affinity-scorer, weight: 3}
  - {pluginRef: active-request-scorer, weight: 2}
  - {pluginRef: queue-scorer}
`,
		filters: []filter{concurrency(6)},
		scorers: []scorer{{3, session}, {2, activeRequests(1, .75)}, {1, queue}},
	},
	{
		name: "twelve",
		plugins: `- {type: queue-scorer}
- {type: running-requests-size-scorer}
- {type: kv-cache-utilization-scorer}
- {type: load-aware-scorer}
- {type: active-request-scorer}
- {type: token-load-scorer, parameters: {queueThresholdTokens: 50000}}
- {type: lora-affinity-scorer}
- {type: prefix-cache-scorer}
- {type: no-hit-lru-scorer}
- {type: session-affinity-scorer, parameters: {strategy: session_id}}
- {type: header-label-affinity-scorer, parameters: {headerName: x-slice, labelKey: slice}}
- {type: context-length-aware}
- {type: decode-filter}
- {type: utilization-filter, parameters: {conditions: [{metric: active-requests, maxValue: 6}], fallbackOnEmpty: true}}
`,
		profile: `  - {pluginRef: decode-filter}
  - {pluginRef: utilization-filter}
  - {pluginRef: queue-scorer, weight: 1.5}
  - {pluginRef: running-requests-size-scorer, weight: 0.25}
  - {pluginRef: kv-cache-utilization-scorer, weight: 2}
  - {pluginRef: load-aware-scorer, weight: 0.5}
  - {pluginRef: active-request-scorer, weight: 1}
  - {pluginRef: token-load-scorer, weight: 1}
  - {pluginRef: lora-affinity-scorer, weight: 2}
  - {pluginRef: prefix-cache-scorer, weight: 3}
  - {pluginRef: no-hit-lru-scorer, weight: 0.75}
  - {pluginRef: session-affinity-scorer, weight: 2}
  - {pluginRef: header-label-affinity-scorer, weight: 1}
  - {pluginRef: context-length-aware, weight: 1}
`,
		filters: []filter{decode, orAll(utilization(6, 1<<30, math.Inf(1)))},
		scorers: []scorer{
			{1.5, queue},
			{.25, running},
			{2, kv},
			{.5, loadAware(128)},
			{1, activeRequests(0, 1)},
			{1, tokenLoad(50000)},
			{2, lora},
			{3, prefix},
			{.75, noHitLRU},
			{2, session},
			{1, headerLabel("x-slice", "slice")},
			{1, contextLength},
		},
	},
	{
		name: "session filter",
		plugins: `- {type: session-affinity-filter, parameters: {strategy: session_id}}
- {type: running-requests-size-scorer}
- {type: kv-cache-utilization-scorer}
`,
		profile: `  - {pluginRef: session-affinity-filter}
  - {pluginRef: running-requests-size-scorer}
  - {pluginRef: kv-cache-utilization-scorer}
`,
		filters: []filter{sessionFilter},
		scorers: []scorer{{1, running}, {1, kv}},
	},
}
