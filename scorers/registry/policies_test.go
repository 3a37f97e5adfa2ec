package registry_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zerohop/zerohop/scorers"
	"github.com/zerohop/zerohop/scorers/registry"
	"github.com/zerohop/zerohop/scorers/sched"
	"github.com/zerohop/zerohop/shared/plan"
)

func text(name, value string) plan.Param {
	return plan.Param{Name: name, Kind: plan.String, Str: value}
}

func yes(name string) plan.Param { return plan.Param{Name: name, Kind: plan.Bool, Num: 1} }

// policy returns a plan whose profile, "default", runs plugin before a picker that names four endpoints.
func policy(t *testing.T, plugin plan.Plugin) *plan.Plan {
	t.Helper()
	p := &plan.Plan{
		Version: plan.Version, Agent: plan.Agent{StaleMs: 1000}, Bounds: plan.Bounds{Endpoints: 16, IndexBlocks: 1024},
		Prefix:         plan.Prefix{BlockSizeTokens: 64, MaxPrefixBlocks: 2048, LRUCapacityPerServer: 64},
		Plugins:        []plan.Plugin{plugin, {Name: "pick", Type: "max-score-picker", Parameters: plan.Params{{Name: "maxNumOfEndpoints", Num: 4}}}},
		Profiles:       []plan.Profile{{Name: "default", Picker: "pick"}},
		ProfileHandler: "one", Objectives: []plan.Objective{{Name: "batch", Priority: -1}, {Name: "chat", Priority: 1}},
	}
	spec, ok := registry.Lookup(plugin.Type)
	if !ok {
		t.Fatalf("there is no type %s", plugin.Type)
	}
	if spec.Kinds&scorers.KindFilter != 0 {
		p.Profiles[0].Filters = []string{plugin.Name}
	}
	if spec.Kinds&scorers.KindProfileHandler != 0 {
		p.ProfileHandler = plugin.Name
		p.Profiles = append(p.Profiles, plan.Profile{Name: "other", Picker: "pick"})
	} else {
		p.Plugins = append(p.Plugins, plan.Plugin{Name: "one", Type: "single-profile-handler"})
	}
	params, err := spec.Complete(plugin.Parameters)
	if err != nil {
		t.Fatal(err)
	}
	p.Plugins[0].Parameters = params
	return p
}

// endpoints are in every plan of TestPolicies.
var endpoints = []plan.Endpoint{
	{Name: "ns/a", Address: "10.0.0.1:80", Labels: []plan.Label{{Key: "llm-d.ai/role", Value: "decode"}, {Key: "gpu", Value: "h100"}}},
	{Name: "ns/b", Address: "10.0.0.2:80", Labels: []plan.Label{{Key: "llm-d.ai/role", Value: "prefill"}, {Key: "gpu", Value: "a100"}}},
	{Name: "ns/c", Address: "10.0.0.3:80", Labels: []plan.Label{{Key: "llm-d.ai/context-length-range", Value: "0-100"}}},
	{Name: "ns/d", Address: "10.0.0.4:80", Labels: []plan.Label{{Key: "gpu", Value: "h100"}}},
}

// TestPolicies runs plugins in the scheduler, with what they ask for: labels, headers, objectives and profiles.
func TestPolicies(t *testing.T) {
	header := func(name, value string) map[string]string { return map[string]string{name: value} }
	tests := []struct {
		name, typ string
		params    plan.Params
		headers   map[string]string
		tokens    int
		reason    sched.Reason
		profile   uint8
		want      []string // names of the endpoints, sorted
	}{
		{"decode", "decode-filter", nil, nil, 10, sched.LoadOnly, 0, []string{"ns/a", "ns/c", "ns/d"}},
		{"prefill", "prefill-filter", nil, nil, 10, sched.LoadOnly, 0, []string{"ns/b"}},
		{"encode leaves nothing", "encode-filter", nil, nil, 10, sched.FilteredOut, 0, nil},
		{"selector", "label-selector-filter", plan.Params{text("matchLabels[0].key", "gpu"), text("matchLabels[0].value", "h100")}, nil, 10, sched.LoadOnly, 0, []string{"ns/a", "ns/d"}},
		{"short enough", "context-length-aware", plan.Params{yes("enableFiltering")}, nil, 10, sched.LoadOnly, 0, []string{"ns/a", "ns/b", "ns/c", "ns/d"}},
		{"too long", "context-length-aware", plan.Params{yes("enableFiltering")}, nil, 101, sched.LoadOnly, 0, []string{"ns/a", "ns/b", "ns/d"}},
		{"by header", "header-based-testing-filter", nil, header("test-epp-endpoint-selection", "10.0.0.3"), 10, sched.LoadOnly, 0, []string{"ns/c"}},
		{"nothing is known of models", "served-model-filter", plan.Params{text("onUnknown", "fail")}, nil, 10, sched.FilteredOut, 0, nil},
		{"batch is refused while nothing is known", "probabilistic-admitter", nil, header("x-llm-d-inference-objective", "batch"), 10, sched.Denied, 0, nil},
		{"older header", "probabilistic-admitter", nil, header("x-gateway-inference-objective", "batch"), 10, sched.Denied, 0, nil},
		{"chat is admitted", "probabilistic-admitter", nil, header("x-llm-d-inference-objective", "chat"), 10, sched.LoadOnly, 0, []string{"ns/a", "ns/b", "ns/c", "ns/d"}},
		{"other profile", "header-profile-handler", nil, header("epp-profile", "other"), 10, sched.LoadOnly, 1, []string{"ns/a", "ns/b", "ns/c", "ns/d"}},
		{"no such profile", "header-profile-handler", nil, header("epp-profile", "third"), 10, sched.NoProfile, 0, nil},
		{"no default profile", "header-profile-handler", nil, nil, 10, sched.NoProfile, 0, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := policy(t, plan.Plugin{Name: "it", Type: tt.typ, Parameters: tt.params})
			p.Endpoints = endpoints
			s, err := sched.New(p, 1)
			if err != nil {
				t.Fatal(err)
			}
			prompt := sched.Prompt{Tokens: tt.tokens, Model: []byte("m"), HasBody: true}
			wants := s.Wants()
			prompt.Headers.Reset(len(wants.Headers))
			for name, value := range tt.headers {
				prompt.Headers.Set(scorers.HeaderID(slices.Index(wants.Headers, name)), []byte(value), 1000)
			}
			var d sched.Decision
			if got := s.Decide(1e9, &prompt, &d); got != tt.reason || d.Profile != tt.profile {
				t.Errorf("outcome %v with profile %d, want %v with %d", got, d.Profile, tt.reason, tt.profile)
			}
			var got []string
			for _, slot := range d.Slots[:d.N] {
				got = append(got, string(s.Name(slot)))
			}
			slices.Sort(got)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("endpoints (-want +got):\n%s", diff)
			}
		})
	}
}
