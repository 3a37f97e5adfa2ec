package config

import (
	"strings"
	"testing"

	"github.com/zerohop/zerohop/scorers/registry"
)

// TestAdvice wants a warning of each plugin that does nothing as it is configured, and none of one that does.
func TestAdvice(t *testing.T) {
	const two = "schedulingProfiles: [{name: a, plugins: [{pluginRef: queue-scorer}]}, {name: b, plugins: [{pluginRef: queue-scorer}]}]\n"
	session := func(parameters string) string {
		return "plugins: [{type: session-affinity-scorer, parameters: {" + parameters + "}}]\n"
	}
	tests := []struct{ name, doc, path, text string }{
		{"scorer in no profile", "plugins: [{type: queue-scorer}, {type: kv-cache-utilization-scorer}]\nschedulingProfiles: [{name: a, plugins: [{pluginRef: queue-scorer}]}]\n", "plugins[1]", "no profile names"},
		{"picker in no profile", "plugins: [{type: queue-scorer}, {type: max-score-picker}, {type: random-picker}]\nschedulingProfiles: [{name: a, plugins: [{pluginRef: queue-scorer}]}]\n", "plugins[2]", "no profile names"},
		{"all in profiles", "plugins: [{type: header-profile-handler, parameters: {defaultProfile: a}}, {type: queue-scorer}, {type: decode-filter}]\nschedulingProfiles: [{name: a, plugins: [{pluginRef: queue-scorer}]}, {name: b, plugins: [{pluginRef: queue-scorer}, {pluginRef: decode-filter}]}]\n", "", ""},
		{"implicit profile", "plugins: [{type: queue-scorer}, {type: decode-filter}]\n", "", ""},
		{"no default profile", "plugins: [{type: header-profile-handler}, {type: queue-scorer}]\n" + two, "plugins[0].parameters.defaultProfile", `no profile is called "decode"`},
		{"default profile", "plugins: [{type: header-profile-handler, parameters: {defaultProfile: b}}, {type: queue-scorer}]\n" + two, "", ""},
		{"session of no profile", session("profileName: nope"), "plugins[0].parameters.profileName", `there are "default"`},
		{"session of a profile", session("profileName: default"), "", ""},
		{"ids for tokens", session("sessionIdConfig: {evictionTtlSeconds: 1}"), "plugins[0].parameters.sessionIdConfig", "strategy is encoded_endpoint_header"},
		{"token for ids", session("strategy: session_id, encodedEndpointHeaderConfig: {header: x}"), "plugins[0].parameters.encodedEndpointHeaderConfig", "strategy is session_id"},
		{"attribute of nobody", session("strategy: session_id, sessionIdConfig: {sources: [{header: x}, {attribute: agent-identity}]}"), "plugins[0].parameters.sessionIdConfig.sources[1].attribute", "{type: agent-identity}"},
		{"as many endpoints as are ranked", "plugins: [{type: queue-scorer}, {type: random-picker, parameters: {maxNumOfEndpoints: 8}}]\n", "", ""},
		{"more endpoints than are ranked", "plugins: [{type: queue-scorer}, {type: random-picker, parameters: {maxNumOfEndpoints: 9}}]\n", "plugins[1].parameters.maxNumOfEndpoints", "above 8 as 8"},
		{"no endpoints", "plugins: [{type: queue-scorer}, {type: max-score-picker, parameters: {maxNumOfEndpoints: -1}}]\n", "plugins[1].parameters.maxNumOfEndpoints", "counts as 1"},
		{"negative threshold", "plugins: [{type: load-aware-scorer, parameters: {threshold: -3}}]\n", "plugins[0].parameters.threshold", "128"},
		{"great score", "plugins: [{type: active-request-scorer, parameters: {maxBusyScore: 3}}]\n", "plugins[0].parameters.maxBusyScore", "counts as 1"},
		{"tokens without threshold", "plugins: [{type: token-load-scorer, parameters: {queueThresholdTokens: 0}}]\n", "plugins[0].parameters.queueThresholdTokens", "4194304"},
		{"list without length", "plugins: [{type: no-hit-lru-scorer, parameters: {lruSize: 0}}]\n", "plugins[0].parameters.lruSize", "1024"},
		{"nothing to be near to", "plugins: [{type: queue-scorer}, {type: topology-affinity-filter}]\n", "plugins[1]", "no effect in this version"},
		{"nothing to refuse", "plugins: [{type: queue-scorer}, {type: probabilistic-admitter}]\n---\n" + zheader + "objectives: [{name: a, priority: 1}]\n", "plugins[1]", "refuses nothing"},
		{"something to refuse", "plugins: [{type: queue-scorer}, {type: probabilistic-admitter}]\n---\n" + zheader + "objectives: [{name: a, priority: -1}]\n", "", ""},
		{"shared counters", "plugins: [{type: queue-scorer}, {type: inflight-load-producer, parameters: {syncCrossReplicaState: true}}]\n", "plugins[1].parameters.syncCrossReplicaState", "its own requests"},
		{"own counters", "plugins: [{type: queue-scorer}, {type: inflight-load-producer, parameters: {syncCrossReplicaState: false}}]\n", "", ""},
		{"models that nobody asks for", "plugins: [{type: queue-scorer}, {type: served-model-filter, parameters: {onUnknown: fail}}]\n---\n" + zheader + "agent: {enabled: false}\ndiscovery: {endpoints: [{name: a, address: 10.0.0.1, port: \"80\"}]}\n", "plugins[1].parameters.onUnknown", "leaves no endpoint"},
		{"attribute", "plugins: [{type: agent-identity}, {type: session-affinity-scorer, parameters: {strategy: session_id, sessionIdConfig: {sources: [{attribute: agent-identity}]}}}]\n", "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, err := Load([]byte(header+tt.doc), registry.Specs())
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, w := range c.Warnings {
				if !strings.Contains(w.Text, "has no scorer") {
					got = append(got, w.Path+": "+w.Text)
				}
			}
			switch {
			case tt.path == "" && len(got) > 0:
				t.Errorf("warnings %q", got)
			case tt.path != "" && (len(got) != 1 || !strings.HasPrefix(got[0], tt.path+": ") || !strings.Contains(got[0], tt.text)):
				t.Errorf("warnings %q, want one of %s with %q", got, tt.path, tt.text)
			}
		})
	}
}
