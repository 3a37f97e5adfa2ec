package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestYAML loads documents of every shape and what is printed of them again.
func TestYAML(t *testing.T) {
	docs := map[string]string{
		"none":  "",
		"whole": wholeDocument,
		"filters and scorers in turn": header + `
plugins: [{type: filter-and-scorer}, {type: some-filter}, {name: q, type: queue-scorer}, {name: fs, type: filter-and-scorer}, {type: random-picker}]
schedulingProfiles:
- name: a
  plugins: [{pluginRef: q}, {pluginRef: some-filter}, {pluginRef: filter-and-scorer, weight: 3}, {pluginRef: random-picker}, {pluginRef: q, weight: 7}, {pluginRef: fs}, {pluginRef: some-filter}]
`,
		"implicit profile": header + "plugins: [{type: filter-and-scorer}, {type: queue-scorer}, {type: some-filter, parameters: {label: \"a b: #\\n\\u2028é\"}}]",
		"file discovery among the plugins": header + `
plugins: [{type: queue-scorer}, {type: file-discovery, name: "on", parameters: {path: "a b"}}, {type: random-picker}]
dataLayer: {discovery: {pluginRef: "on"}}
`,
		"file discovery as the last plugin": header + `
plugins: [{type: queue-scorer}, {type: file-discovery, parameters: {path: x, watchFile: true}}]
dataLayer: {discovery: {pluginRef: file-discovery}}
`,
		"prefix": header + "plugins: [{type: approx-prefix-cache-producer, name: \"1\", parameters: {blockSize: 128, maxPrefixBlocksToMatch: -3, lruCapacityPerServer: 0}}]",
	}
	for name, doc := range docs {
		t.Run(name, func(t *testing.T) {
			c, err := Load([]byte(doc), testTypes)
			if err != nil {
				t.Fatal(err)
			}
			sameAgain(t, c, testTypes)
		})
	}
}

func TestYAMLMarksDefaults(t *testing.T) {
	c, err := Load([]byte(header+`
plugins: [{type: file-discovery, parameters: {path: e}}, {type: queue-scorer, name: q}, {type: prefix-cache-scorer}]
schedulingProfiles: [{name: a, plugins: [{pluginRef: q}, {pluginRef: prefix-cache-scorer, weight: 2}]}]
dataLayer: {discovery: {pluginRef: file-discovery}}
---
`+zheader+"scrape: {interval: 1s}\ndiscovery: {dns: [{name: x, ports: [1]}]}\n"), testTypes)
	if err != nil {
		t.Fatal(err)
	}
	got, _, _ := strings.Cut(string(c.YAML()), "  maxPageBytes")
	want := `apiVersion: llm-d.ai/v1alpha1
kind: EndpointPickerConfig
plugins:
- type: file-discovery
  name: file-discovery # default
  parameters:
    path: e
    watchFile: false # default
- type: queue-scorer
  name: q
- type: prefix-cache-scorer
  name: prefix-cache-scorer # default
  parameters:
    matchLengthWeight: 0 # default
- type: max-score-picker # default
  name: max-score-picker
  parameters:
    maxNumOfEndpoints: 1 # default
- type: single-profile-handler # default
  name: single-profile-handler
- type: metrics-data-source # default
  name: metrics-data-source
- type: core-metrics-extractor # default
  name: core-metrics-extractor
  parameters:
    engineLabelKey: "llm-d.ai/engine-type" # default
- type: openai-parser # default
  name: openai-parser
- type: passthrough-parser # default
  name: passthrough-parser
schedulingProfiles:
- name: a
  plugins:
  - {pluginRef: q, weight: 1} # default
  - {pluginRef: prefix-cache-scorer, weight: 2}
  - pluginRef: max-score-picker # default
dataLayer:
  discovery: {pluginRef: file-discovery}
---
apiVersion: zerohop.dev/v1alpha1
kind: ZerohopConfig
destinationMode: header # default
failureMode: FailClose # default
parity: none # default
bounds:
  endpoints: 1024 # default
  indexBlocks: 1048576 # default
  sessions: 65536 # default
drainTimeout: 30s # default
scrape:
  interval: 1s
  timeout: 1s # default
  staleness: 2s # default
`
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}
