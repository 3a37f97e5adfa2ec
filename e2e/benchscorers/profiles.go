package main

import "github.com/zerohop/zerohop/xds/config"

// profiles are the configurations that are measured.
var profiles = []struct{ name, doc string }{
	{"default", config.DefaultDocument},
	{"twelve", configTwelve},
}

// configTwelve has filters that keep most endpoints, so that all scorers have something to do.
const configTwelve = `apiVersion: llm-d.ai/v1alpha1
kind: EndpointPickerConfig
plugins:
- type: decode-filter
- {type: utilization-filter, parameters: {conditions: [{metric: waiting-queue, maxValue: 5}], fallbackOnEmpty: true}}
- {type: label-selector-filter, parameters: {matchExpressions: [{key: slice, operator: Exists}]}}
- type: queue-scorer
- type: running-requests-size-scorer
- type: kv-cache-utilization-scorer
- type: load-aware-scorer
- type: active-request-scorer
- type: token-load-scorer
- type: lora-affinity-scorer
- type: prefix-cache-scorer
- type: no-hit-lru-scorer
- {type: session-affinity-scorer, parameters: {strategy: session_id}}
- {type: header-label-affinity-scorer, parameters: {headerName: x-slice, labelKey: slice}}
- type: context-length-aware
schedulingProfiles:
- name: default
  plugins:
  - {pluginRef: decode-filter}
  - {pluginRef: utilization-filter}
  - {pluginRef: label-selector-filter}
  - {pluginRef: queue-scorer}
  - {pluginRef: running-requests-size-scorer}
  - {pluginRef: kv-cache-utilization-scorer}
  - {pluginRef: load-aware-scorer}
  - {pluginRef: active-request-scorer}
  - {pluginRef: token-load-scorer}
  - {pluginRef: lora-affinity-scorer}
  - {pluginRef: prefix-cache-scorer, weight: 3}
  - {pluginRef: no-hit-lru-scorer}
  - {pluginRef: session-affinity-scorer}
  - {pluginRef: header-label-affinity-scorer}
  - {pluginRef: context-length-aware}
`
