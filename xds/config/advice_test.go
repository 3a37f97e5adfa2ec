package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zerohop/zerohop/scorers/registry"
)

// TestAdvice wants a report of each plugin that does nothing as it is configured, which FailOnInactive makes an error, a
// warning of each parameter that does not count as it is, and neither of what acts.
func TestAdvice(t *testing.T) {
	const two = "schedulingProfiles: [{name: a, plugins: [{pluginRef: queue-scorer}]}, {name: b, plugins: [{pluginRef: queue-scorer}]}]\n"
	session := func(parameters string) string {
		return "plugins: [{type: session-affinity-scorer, parameters: {" + parameters + "}}]\n"
	}
	sticky := func(parameters string) string {
		return "plugins: [{type: prefix-cache-affinity-filter, parameters: {" + parameters + "}}, {type: queue-scorer}]\n"
	}
	weighted := func(a, b string) string {
		return "plugins: [{type: queue-scorer}, {type: kv-cache-utilization-scorer}]\nschedulingProfiles: [{name: a, plugins: [{pluginRef: queue-scorer, weight: " + a +
			"}, {pluginRef: kv-cache-utilization-scorer, weight: " + b + "}]}]\n"
	}
	const inert, surprising = "inert", "warned"
	tests := []struct{ name, doc, path, text, as string }{
		{"scorer in no profile", "plugins: [{type: queue-scorer}, {type: kv-cache-utilization-scorer}]\nschedulingProfiles: [{name: a, plugins: [{pluginRef: queue-scorer}]}]\n", "plugins[1]", "no profile names", inert},
		{"picker in no profile", "plugins: [{type: queue-scorer}, {type: max-score-picker}, {type: random-picker}]\nschedulingProfiles: [{name: a, plugins: [{pluginRef: queue-scorer}]}]\n", "plugins[2]", "no profile names", inert},
		{"all in profiles", "plugins: [{type: header-profile-handler, parameters: {defaultProfile: a}}, {type: queue-scorer}, {type: decode-filter}]\nschedulingProfiles: [{name: a, plugins: [{pluginRef: queue-scorer}]}, {name: b, plugins: [{pluginRef: queue-scorer}, {pluginRef: decode-filter}]}]\n", "", "", ""},
		{"implicit profile", "plugins: [{type: queue-scorer}, {type: decode-filter}]\n", "", "", ""},
		{"no default profile", "plugins: [{type: header-profile-handler}, {type: queue-scorer}]\n" + two, "plugins[0].parameters.defaultProfile", `no profile is called "decode"`, inert},
		{"default profile", "plugins: [{type: header-profile-handler, parameters: {defaultProfile: b}}, {type: queue-scorer}]\n" + two, "", "", ""},
		{"session of no profile", session("profileName: nope"), "plugins[0].parameters.profileName", `there are "default"`, inert},
		{"session of a profile", session("profileName: default"), "", "", ""},
		{"ids for tokens", session("sessionIdConfig: {evictionTtlSeconds: 1}"), "plugins[0].parameters.sessionIdConfig", "strategy is encoded_endpoint_header", surprising},
		{"token for ids", session("strategy: session_id, encodedEndpointHeaderConfig: {header: x}"), "plugins[0].parameters.encodedEndpointHeaderConfig", "strategy is session_id", surprising},
		{"attribute of nobody", session("strategy: session_id, sessionIdConfig: {sources: [{header: x}, {attribute: agent-identity}]}"), "plugins[0].parameters.sessionIdConfig.sources[1].attribute", "{type: agent-identity}", inert},
		{"as many endpoints as are ranked", "plugins: [{type: queue-scorer}, {type: random-picker, parameters: {maxNumOfEndpoints: 8}}]\n", "", "", ""},
		{"more endpoints than are ranked", "plugins: [{type: queue-scorer}, {type: random-picker, parameters: {maxNumOfEndpoints: 9}}]\n", "plugins[1].parameters.maxNumOfEndpoints", "above 8 as 8", surprising},
		{"no endpoints", "plugins: [{type: queue-scorer}, {type: max-score-picker, parameters: {maxNumOfEndpoints: -1}}]\n", "plugins[1].parameters.maxNumOfEndpoints", "counts as 1", surprising},
		{"negative threshold", "plugins: [{type: load-aware-scorer, parameters: {threshold: -3}}]\n", "plugins[0].parameters.threshold", "128", surprising},
		{"great score", "plugins: [{type: active-request-scorer, parameters: {maxBusyScore: 3}}]\n", "plugins[0].parameters.maxBusyScore", "counts as 1", surprising},
		{"tokens without threshold", "plugins: [{type: token-load-scorer, parameters: {queueThresholdTokens: 0}}]\n", "plugins[0].parameters.queueThresholdTokens", "4194304", surprising},
		{"list without length", "plugins: [{type: no-hit-lru-scorer, parameters: {lruSize: 0}}]\n", "plugins[0].parameters.lruSize", "1024", surprising},
		{"nothing to be near to", "plugins: [{type: queue-scorer}, {type: topology-affinity-filter}]\n", "plugins[1]", "could be near to", inert},
		{"nothing to refuse", "plugins: [{type: queue-scorer}, {type: probabilistic-admitter}]\n---\n" + zheader + "objectives: [{name: a, priority: 1}]\n", "plugins[1]", "refuses nothing", inert},
		{"something to refuse", "plugins: [{type: queue-scorer}, {type: probabilistic-admitter}]\n---\n" + zheader + "objectives: [{name: a, priority: -1}]\n", "", "", ""},
		{"shared counters", "plugins: [{type: queue-scorer}, {type: inflight-load-producer, parameters: {syncCrossReplicaState: true}}]\n", "plugins[1].parameters.syncCrossReplicaState", "its own requests", surprising},
		{"own counters", "plugins: [{type: queue-scorer}, {type: inflight-load-producer, parameters: {syncCrossReplicaState: false}}]\n", "", "", ""},
		{"time by a predictor", sticky("ttftSource: latencyPredictor"), "plugins[0].parameters.ttftSource", "write prefillThroughput", inert},
		{"any time by a predictor", sticky("ttftSource: latencyPredictor, maxTTFTPenaltyMs: 0"), "", "", ""},
		{"weights of 0", weighted("0", "0"), "schedulingProfiles[0]", "only weights of 0", surprising},
		{"one weight of 0", weighted("0", "1"), "", "", ""},
		{"drawn with weights of 0", "plugins: [{type: queue-scorer}, {type: weighted-random-picker}]\nschedulingProfiles: [{name: a, plugins: [{pluginRef: queue-scorer, weight: 0}, {pluginRef: weighted-random-picker}]}]\n", "", "", ""},
		{"huge weight", weighted("1e7", "1"), "schedulingProfiles[0].plugins[0].weight", "only their ratios count", surprising},
		{"negative weight", weighted("-1", "1"), "schedulingProfiles[0].plugins[0].weight", "rates worst are preferred", surprising},
		{"explained to all", "plugins: [{type: queue-scorer}]\n---\n" + zheader + "explain: {trustedNetworks: [10.0.0.0/8, 0.0.0.0/0]}\n", "explain.trustedNetworks", "every client", surprising},
		{"explained to all of IPv6", "plugins: [{type: queue-scorer}]\n---\n" + zheader + "explain: {trustedNetworks: [\"::/0\"]}\n", "explain.trustedNetworks", "every client", surprising},
		{"explained to some", "plugins: [{type: queue-scorer}]\n---\n" + zheader + "explain: {trustedNetworks: [10.0.0.0/8]}\n", "", "", ""},
		{"latencies that nobody predicts", "plugins: [{type: latency-scorer}]\n", "plugins[0]", "predicted-latency-producer", inert},
		{"objectives without predictions", "plugins: [{type: queue-scorer}, {type: latency-slo-admitter}]\n", "plugins[1]", "predicted-latency-producer", inert},
		{"attribute without extractor", "plugins: [{type: endpoint-attribute-scorer, parameters: {attributeKey: load, producer: other, algorithm: {type: linear_lower_is_better}}}]\n", "plugins[0]", "which nothing produces", inert},
		{"attribute", "plugins: [{type: agent-identity}, {type: session-affinity-scorer, parameters: {strategy: session_id, sessionIdConfig: {sources: [{attribute: agent-identity}]}}}]\n", "", "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, err := Load([]byte(header+tt.doc), registry.Specs())
			if err != nil {
				t.Fatal(err)
			}
			var warned, idle []string
			for _, w := range c.Warnings {
				if !strings.Contains(w.Text, "has no scorer") {
					warned = append(warned, w.Path+": "+w.Text)
				}
			}
			for i := range c.Inactive {
				idle = append(idle, c.Inactive[i].Path+": "+c.Inactive[i].Text())
			}
			got, rest := warned, idle
			if tt.as == inert {
				got, rest = idle, warned
			}
			switch {
			case len(rest) > 0:
				t.Errorf("there are also %q", rest)
			case tt.path == "" && len(got) > 0:
				t.Errorf("reported %q", got)
			case tt.path != "" && (len(got) != 1 || !strings.HasPrefix(got[0], tt.path+": ") || !strings.Contains(got[0], tt.text)):
				t.Errorf("reported %q, want one of %s with %q", got, tt.path, tt.text)
			}
			if _, err := Load([]byte(header+tt.doc), registry.Specs(), FailOnInactive); (err != nil) != (tt.as == inert) {
				t.Errorf("with FailOnInactive: %v", err)
			}
		})
	}
}

// TestWeightsBeyondNumbers wants two warnings of weights whose sum is infinite: each alone is huge, too.
func TestWeightsBeyondNumbers(t *testing.T) {
	c, err := Load([]byte(header+"plugins: [{type: queue-scorer}, {type: kv-cache-utilization-scorer}]\nschedulingProfiles: [{name: a, plugins: [{pluginRef: queue-scorer, weight: 1e308}, {pluginRef: kv-cache-utilization-scorer, weight: 1e308}]}]"), registry.Specs())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, w := range c.Warnings {
		got = append(got, w.Path)
	}
	want := []string{"schedulingProfiles[0].plugins[0].weight", "schedulingProfiles[0].plugins[1].weight", "schedulingProfiles[0]"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s\n%v", d, c.Warnings)
	}
}

// TestUselessFilterIsRefused wants an error of a filter that would leave no endpoint to any request.
func TestUselessFilterIsRefused(t *testing.T) {
	_, err := Load([]byte(header+"plugins: [{type: queue-scorer}, {type: served-model-filter, parameters: {onUnknown: fail}}]\n---\n"+zheader+"agent: {enabled: false}\ndiscovery: {endpoints: [{name: a, address: 10.0.0.1, port: \"80\"}]}\n"), registry.Specs())
	if err == nil || !strings.Contains(err.Error(), "plugins[1].parameters.onUnknown: leaves no endpoint") {
		t.Errorf("error %v", err)
	}
}

// TestLabelKeys wants an error that names the field of a key that no endpoint can be published with.
func TestLabelKeys(t *testing.T) {
	long, fits := strings.Repeat("k", 318), strings.Repeat("k", 317)
	for _, tt := range []struct{ name, doc, path string }{
		{"by-label", "{type: by-label, parameters: {label: %s, validValues: [a]}}", "plugins[0].parameters.label"},
		{"context-length-aware", "{type: context-length-aware, parameters: {label: %s}}", "plugins[0].parameters.label"},
		{"header-label-affinity-scorer", "{type: header-label-affinity-scorer, parameters: {headerName: x, labelKey: %s}}", "plugins[0].parameters.labelKey"},
		{"topology-extractor", "{type: topology-extractor, parameters: {zone: %s}}, {type: topology-affinity-scorer}", "plugins[0].parameters.zone"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for key, ok := range map[string]bool{long: false, fits: true} {
				_, err := Load([]byte(header+"plugins: ["+strings.Replace(tt.doc, "%s", key, 1)+"]"), registry.Specs())
				if (err == nil) != ok || !ok && !strings.Contains(err.Error(), tt.path+": the key of a label has 1 to 317 bytes, and this one 318; write") {
					t.Errorf("%d bytes: %v", len(key), err)
				}
			}
		})
	}
}
