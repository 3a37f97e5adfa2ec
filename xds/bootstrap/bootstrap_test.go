package bootstrap

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v2"

	"github.com/zerohop/zerohop/shared/names"
	"github.com/zerohop/zerohop/shared/plan"
)

// testPlan has every kind of text that could disturb YAML.
func testPlan(destination string) *plan.Plan {
	return &plan.Plan{
		Version: plan.Version, Destination: destination, FailureMode: plan.FailOpen,
		Agent:  plan.Agent{Cluster: AgentCluster, PollTimeoutMs: 30000, StaleMs: 2000},
		Bounds: plan.Bounds{Endpoints: 10, IndexBlocks: 10}, Prefix: plan.Prefix{BlockSizeTokens: 64},
		Plugins: []plan.Plugin{
			{Name: "a\"{ [, : # 'é\t", Type: "x", Parameters: plan.Params{{Name: "k", Kind: plan.String, Str: "line\nline: [ \\ }"}, {Name: "n", Num: 0.5}}},
			{Name: "p", Type: "y"},
		},
		Profiles: []plan.Profile{{
			Name: "default", Scorers: []plan.Scorer{{Plugin: "p", Weight: -1.5}}, Picker: "p",
		}},
		ProfileHandler: "p",
		Endpoints:      []plan.Endpoint{{Name: "default/e", Address: "[2001:db8::1]:80"}},
	}
}

func testOptions(destination string) Options {
	return Options{
		Plan:      testPlan(destination),
		Listen:    netip.MustParseAddrPort("0.0.0.0:80"),
		Admin:     netip.MustParseAddrPort("127.0.0.1:9901"),
		Node:      Node{ID: "node: #1", Cluster: "group"},
		Agent:     &Agent{HTTP: netip.MustParseAddrPort("[::1]:18001"), XDS: netip.MustParseAddrPort("[::1]:18000")},
		Wasm:      `dir with "quotes"/z.wasm`,
		Endpoints: []netip.AddrPort{netip.MustParseAddrPort("10.0.0.1:80")},
		Fallback:  []netip.AddrPort{netip.MustParseAddrPort("10.0.0.1:1"), netip.MustParseAddrPort("[::1]:2")},
	}
}

// tree is a parsed bootstrap.
type tree struct {
	t *testing.T
	v any
}

func render(t *testing.T, o Options) tree {
	t.Helper()
	b, err := Render(o)
	if err != nil {
		t.Fatal(err)
	}
	var v any
	if err := yaml.UnmarshalStrict(b, &v); err != nil {
		t.Fatalf("%v\n%s", err, b)
	}
	return tree{t, v}
}

// at walks down a path of keys, indices and values of "name" fields, separated by slashes.
func (n tree) at(path string) tree {
	n.t.Helper()
	v := n.v
	for _, step := range strings.Split(path, "/") {
		switch x := v.(type) {
		case map[any]any:
			v = x[step]
		case []any:
			v = element(x, step)
		default:
			v = nil
		}
		if v == nil {
			n.t.Fatalf("%s: nothing at %q", path, step)
		}
	}
	return tree{n.t, v}
}

func element(list []any, step string) any {
	for i, e := range list {
		m, _ := e.(map[any]any)
		if fmt.Sprint(i) == step || m != nil && m["name"] == step {
			return e
		}
	}
	return nil
}

func (n tree) hcm() tree {
	return n.at("static_resources/listeners/0/filter_chains/0/filters/0/typed_config")
}

// TestRoutes checks that one table serves every destination mode, so that a plan alone switches between them.
func TestRoutes(t *testing.T) {
	type route struct{ Name, Prefix, Present, Contains, Cluster, Removed string }
	want := []route{
		{Name: "explain", Prefix: names.PathExplain},
		{Name: "fallback", Prefix: "/", Present: names.HeaderFallback, Cluster: "zerohop_fallback", Removed: names.HeaderFallback},
		{Name: "listed", Prefix: "/", Contains: names.HeaderDestination + " ,", Cluster: "zerohop_endpoints"},
		{Name: "picked", Prefix: "/", Cluster: "zerohop_destination"},
	}
	for _, mode := range []string{plan.DestinationHeader, plan.DestinationFilterState, plan.DestinationList} {
		t.Run(mode, func(t *testing.T) {
			var got []route
			for _, r := range render(t, testOptions(mode)).hcm().at("route_config/virtual_hosts/0/routes").v.([]any) {
				var x struct {
					Name  string
					Match struct {
						Prefix  string
						Headers []struct {
							Name         string
							PresentMatch bool                      `yaml:"present_match"`
							StringMatch  struct{ Contains string } `yaml:"string_match"`
						}
					}
					Route  struct{ Cluster string }
					Remove []string `yaml:"request_headers_to_remove"`
				}
				remarshal(t, r, &x)
				g := route{Name: x.Name, Cluster: x.Route.Cluster, Prefix: x.Match.Prefix, Removed: strings.Join(x.Remove, " ")}
				for _, h := range x.Match.Headers {
					if h.PresentMatch {
						g.Present = h.Name
					} else {
						g.Contains = h.Name + " " + h.StringMatch.Contains
					}
				}
				got = append(got, g)
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func remarshal(t *testing.T, from, to any) {
	t.Helper()
	b, err := yaml.Marshal(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(b, to); err != nil {
		t.Fatal(err)
	}
}

func TestOurHeadersAreStrippedFirst(t *testing.T) {
	n := render(t, testOptions(plan.DestinationHeader))
	var got []string
	for _, m := range n.hcm().at("early_header_mutation_extensions/0/typed_config/mutations").v.([]any) {
		got = append(got, m.(map[any]any)["remove"].(string))
	}
	if d := cmp.Diff(names.Stripped[:], got); d != "" {
		t.Error(d)
	}
}

// filter returns the downstream filter's configuration, with and without an agent.
func (n tree) filter() tree {
	f := n.hcm().at("http_filters/zerohop")
	if _, ok := f.v.(map[any]any)["config_discovery"]; ok {
		return f.at("config_discovery/default_config/config")
	}
	return f.at("typed_config/config")
}

// variants are the bootstraps that differ in structure.
func variants() map[string]Options {
	secured := testOptions(plan.DestinationHeader)
	secured.Agent.TLS = TLS{CAFile: "ca: #.pem", SNI: "agent", CertFile: "c", KeyFile: "k"}
	secured.Agent.TokenFile = "token"
	secured.Upstream = TLS{CAFile: "ca", SNI: "10.0.0.1", HTTP2: true}
	followed := secured
	followed.SecretsDir = "/etc/secrets: #"
	edge := testOptions(plan.DestinationList)
	edge.Agent = nil
	edge.Upstream = TLS{CAFile: "ca", AutoSNI: true}
	return map[string]Options{
		"header": testOptions(plan.DestinationHeader), "filter_state": testOptions(plan.DestinationFilterState),
		"list": testOptions(plan.DestinationList), "secured": secured, "followed": followed, "edge": edge,
	}
}

func TestPlanSurvivesYAML(t *testing.T) {
	for name, o := range variants() {
		t.Run(name, func(t *testing.T) {
			text := render(t, o).filter().at("configuration/value").v.(string)
			got, err := plan.Parse([]byte(text))
			if err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			if d := cmp.Diff(o.Plan, got); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestFiltersShareAVM checks what makes Envoy run all plugins in one VM: equal vm_configs. The control plane makes the
// downstream filter's from the path in the metadata.
func TestFiltersShareAVM(t *testing.T) {
	for name, o := range variants() {
		t.Run(name, func(t *testing.T) {
			n := render(t, o)
			down := n.filter()
			plugins := map[string]tree{names.RootDownstream: down}
			for _, cluster := range []string{"zerohop_destination", "zerohop_endpoints"} {
				up := n.at("static_resources/clusters/" + cluster + "/typed_extension_protocol_options/" +
					"envoy.extensions.upstreams.http.v3.HttpProtocolOptions/http_filters/0/typed_config/config")
				if d := cmp.Diff(down.at("vm_config").v, up.at("vm_config").v); d != "" {
					t.Errorf("%s: %s", cluster, d)
				}
				plugins[names.RootAttempt] = up
			}
			for root, p := range plugins {
				if got := p.at("root_id").v; got != root {
					t.Errorf("root_id = %v, want %s", got, root)
				}
				if got := p.at("reload_config/backoff/base_interval").v; got != "0.02s" || p.at("failure_policy").v != "FAIL_RELOAD" {
					t.Errorf("%s reloads after %v", root, got)
				}
			}
			if o.Agent == nil {
				return
			}
			if got, want := n.at("node/metadata/zerohop/wasm").v, down.at("vm_config/code/local/filename").v; got != want {
				t.Errorf("the metadata name the module %v, the filter %v", got, want)
			}
		})
	}
}

func TestAddresses(t *testing.T) {
	n := render(t, testOptions(plan.DestinationHeader))
	tests := []struct {
		path, host string
		port       int
	}{
		{"admin/address", "127.0.0.1", 9901},
		{"static_resources/listeners/0/address", "0.0.0.0", 80},
		{"static_resources/clusters/zerohop_agent/load_assignment/endpoints/0/lb_endpoints/0/endpoint/address", "::1", 18001},
		{"static_resources/clusters/zerohop_xds/load_assignment/endpoints/0/lb_endpoints/0/endpoint/address", "::1", 18000},
		{"static_resources/clusters/zerohop_fallback/load_assignment/endpoints/0/lb_endpoints/0/endpoint/address", "10.0.0.1", 1},
		{"static_resources/clusters/zerohop_fallback/load_assignment/endpoints/0/lb_endpoints/1/endpoint/address", "::1", 2},
	}
	for _, tt := range tests {
		t.Run(tt.path, func(t *testing.T) {
			a := n.at(tt.path + "/socket_address")
			if a.at("address").v != tt.host || a.at("port_value").v != tt.port {
				t.Errorf("address is %v", a.v)
			}
		})
	}
	if got := n.filter().at("vm_config/code/local/filename").v; got != `dir with "quotes"/z.wasm` {
		t.Errorf("module is %q", got)
	}
}

func TestNoFallbackEndpoints(t *testing.T) {
	o := testOptions(plan.DestinationHeader)
	o.Fallback = nil
	n := render(t, o)
	if got := n.at("static_resources/clusters/zerohop_fallback/load_assignment/endpoints/0/lb_endpoints").v.([]any); len(got) != 0 {
		t.Errorf("fallback endpoints: %v", got)
	}
}

func TestReadable(t *testing.T) {
	tests := []struct{ name, compact, want string }{
		{"empty", `{}`, "{\n\n}"},
		{"fields", `{"a":1,"b":"x:y, {","c":{"d":[1,2]}}`, "{\n  \"a\": 1,\n  \"b\": \"x:y, {\",\n  \"c\": { \"d\": [ 1, 2 ] }\n}"},
		{"lists", `{"a":[],"b":[{"c":1},{}]}`, "{\n  \"a\": [],\n  \"b\": [\n    { \"c\": 1 },\n    {}\n  ]\n}"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := readable([]byte(tt.compact))
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Error(d)
			}
			if !json.Valid([]byte(got)) {
				t.Error("not JSON")
			}
		})
	}
}
