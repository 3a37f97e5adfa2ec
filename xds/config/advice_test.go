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
