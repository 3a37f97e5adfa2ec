package envoycheck_test

import (
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.yaml.in/yaml/v2"

	"github.com/zerohop/zerohop/scorers/registry"
	"github.com/zerohop/zerohop/shared/names"
	"github.com/zerohop/zerohop/shared/plan"
	"github.com/zerohop/zerohop/xds/bootstrap"
	"github.com/zerohop/zerohop/xds/config"
	"github.com/zerohop/zerohop/xds/envoycheck"
)

// Places in the bootstrap.
const (
	hcm         = "static_resources/listeners/clients/filter_chains/0/filters/0/typed_config"
	host        = hcm + "/route_config/virtual_hosts/models"
	picked      = host + "/routes/picked"
	filter      = hcm + "/http_filters/zerohop/config_discovery"
	down        = filter + "/default_config/config"
	destination = "static_resources/clusters/zerohop_destination"
	endpoints   = "static_resources/clusters/zerohop_endpoints"
	options     = "/typed_extension_protocol_options/envoy.extensions.upstreams.http.v3.HttpProtocolOptions"
	attempt     = destination + options + "/http_filters/0/typed_config/config"
)

// rendered returns a bootstrap for a mode, with or without agent, and its plan.
func rendered(t *testing.T, mode string, agent bool) (tree, *plan.Plan) {
	t.Helper()
	c, err := config.Load(nil, registry.Specs())
	if err != nil {
		t.Fatal(err)
	}
	c.Zerohop.DestinationMode = mode
	settings := config.Settings{}
	o := bootstrap.Options{
		Node: bootstrap.Node{ID: "n", Cluster: "g"}, Listen: netip.MustParseAddrPort("127.0.0.1:1"), Admin: netip.MustParseAddrPort("127.0.0.1:2"), Wasm: "z.wasm",
		Endpoints: []netip.AddrPort{netip.MustParseAddrPort("127.0.0.1:3")}, Fallback: []netip.AddrPort{netip.MustParseAddrPort("127.0.0.1:3")},
	}
	if agent {
		settings.AgentCluster = c.Zerohop.Envoy.AgentCluster
		o.Agent = &bootstrap.Agent{HTTP: netip.MustParseAddrPort("127.0.0.1:4"), XDS: netip.MustParseAddrPort("127.0.0.1:5")}
	}
	o.Plan = c.Plan(settings)
	b, err := bootstrap.Render(o)
	if err != nil {
		t.Fatal(err)
	}
	return parse(t, b), o.Plan
}

func TestCommittedBootstrapPasses(t *testing.T) {
	r := check(t, committed(t), nil)
	if len(r.Findings) != 0 {
		t.Errorf("findings: %+v", r.Findings)
	}
	if len(r.Notes) != 1 || r.Notes[0].ID != "concurrency" || !strings.Contains(r.Notes[0].What, "up to 258 MiB") {
		t.Errorf("notes: %+v", r.Notes)
	}
}

func TestRenderedBootstrapsPass(t *testing.T) {
	for _, mode := range []string{plan.DestinationHeader, plan.DestinationFilterState, plan.DestinationList} {
		for _, agent := range []bool{true, false} {
			v, p := rendered(t, mode, agent)
			for _, want := range []*plan.Plan{nil, p} {
				if r := check(t, v, want); len(r.Findings) != 0 {
					t.Errorf("mode %s, agent %t: %+v", mode, agent, r.Findings)
				}
			}
		}
	}
}

// TestMissingPieces takes one piece at a time out of the committed bootstrap. The check must find just that, and what it
// asks for must mend it.
func TestMissingPieces(t *testing.T) {
	cases := []struct {
		name   string
		spoil  func(t *testing.T, v tree)
		want   []string
		manual bool // to be moved or removed by hand
	}{
		{"filter", func(t *testing.T, v tree) { del(t, v, hcm+"/http_filters/zerohop") }, []string{"filter"}, false},
		{"root id", func(t *testing.T, v tree) { set(t, v, down+"/root_id", "other") }, []string{"root-id"}, false},
		{"root id of the attempt filter", func(t *testing.T, v tree) { del(t, v, attempt+"/root_id") }, []string{"root-id"}, false},
		{"root ids swapped", func(t *testing.T, v tree) { set(t, v, down+"/root_id", names.RootAttempt) }, []string{"root-id"}, false},
		{"flag", func(t *testing.T, v tree) { del(t, v, down+"/allow_on_headers_stop_iteration") }, []string{"flag"}, false},
		{"flag off", func(t *testing.T, v tree) { set(t, v, down+"/allow_on_headers_stop_iteration", false) }, []string{"flag"}, false},
		{"failure policy", func(t *testing.T, v tree) { del(t, v, down+"/failure_policy") }, []string{"failure-policy"}, false},
		{"failure policy of the attempt filter", func(t *testing.T, v tree) { set(t, v, attempt+"/failure_policy", "FAIL_OPEN") }, []string{"failure-policy"}, false},
		{"reload", func(t *testing.T, v tree) { del(t, v, down+"/reload_config") }, []string{"base-interval"}, false},
		{"reload too fast", func(t *testing.T, v tree) { set(t, v, down+"/reload_config/backoff/base_interval", "0.001s") }, []string{"base-interval"}, false},
		{"reload too slow", func(t *testing.T, v tree) { set(t, v, attempt+"/reload_config/backoff/base_interval", "1s") }, []string{"base-interval"}, false},
		{"runtime", func(t *testing.T, v tree) {
			del(t, v, down+"/vm_config/runtime")
			for _, c := range []string{destination, endpoints} {
				del(t, v, c+options+"/http_filters/0/typed_config/config/vm_config/runtime")
			}
		}, []string{"runtime"}, false},
		{"code", func(t *testing.T, v tree) {
			for _, c := range []string{down, attempt, endpoints + options + "/http_filters/0/typed_config/config"} {
				set(t, v, c+"/vm_config", tree{"vm_id": "zerohop", "runtime": "envoy.wasm.runtime.v8"})
			}
		}, []string{"code"}, false},
		{"two VMs", func(t *testing.T, v tree) { set(t, v, attempt+"/vm_config/vm_id", "other") }, []string{"vm-config"}, false},
		{"plan", func(t *testing.T, v tree) { del(t, v, down+"/configuration") }, []string{"plan"}, false},
		{"wrong plan", func(t *testing.T, v tree) { set(t, v, down+"/configuration/value", "{}") }, []string{"plan"}, true},
		{"default configuration", func(t *testing.T, v tree) { del(t, v, filter+"/default_config") }, []string{"ecds-default"}, false},
		{"without warming", func(t *testing.T, v tree) { del(t, v, filter+"/apply_default_config_without_warming") }, []string{"ecds-warming"}, false},
		{"ads", func(t *testing.T, v tree) { del(t, v, "dynamic_resources/ads_config") }, []string{"ads"}, false},
		{"ads and its cluster", func(t *testing.T, v tree) {
			del(t, v, "dynamic_resources/ads_config")
			del(t, v, "static_resources/clusters/zerohop_xds")
		}, []string{"ads"}, false},
		{"node metadata", func(t *testing.T, v tree) { del(t, v, "node/metadata") }, []string{"node-metadata"}, false},
		{"node metadata of others only", func(t *testing.T, v tree) { set(t, v, "node/metadata", tree{"role": "edge"}) }, []string{"node-metadata"}, false},
		{"module elsewhere in the metadata", func(t *testing.T, v tree) { set(t, v, "node/metadata/zerohop/wasm", "/other.wasm") }, []string{"node-metadata"}, false},
		{"no node", func(_ *testing.T, v tree) { delete(v, "node") }, []string{"node-metadata"}, false},
		{"early mutation", func(t *testing.T, v tree) { del(t, v, hcm+"/early_header_mutation_extensions") }, []string{"early-mutation"}, false},
		{"a header of early mutation", func(t *testing.T, v tree) {
			m := at(t, v, hcm+"/early_header_mutation_extensions/0/typed_config").(tree)
			m["mutations"] = m["mutations"].([]any)[1:]
		}, []string{"early-mutation"}, false},
		{"router", func(t *testing.T, v tree) { del(t, v, hcm+"/http_filters/envoy.filters.http.router") }, []string{"router"}, false},
		{"router first", func(t *testing.T, v tree) {
			l := at(t, v, hcm+"/http_filters").([]any)
			l[0], l[1] = l[1], l[0]
		}, []string{"filter-order"}, true},
		{"decompressor behind", func(t *testing.T, v tree) {
			l := at(t, v, hcm+"/http_filters").([]any)
			set(t, v, hcm+"/http_filters", []any{l[0], tree{"name": "d", "typed_config": tree{"@type": "type.googleapis.com/envoy.extensions.filters.http.decompressor.v3.Decompressor"}}, l[1]})
		}, []string{"filter-order"}, true},
		{"body limit", func(t *testing.T, v tree) { del(t, v, host+"/request_body_buffer_limit") }, []string{"body-limit"}, false},
		{"body limit too small", func(t *testing.T, v tree) { set(t, v, host+"/request_body_buffer_limit", 65536) }, []string{"body-limit"}, false},
		{"route to the picked endpoint", func(t *testing.T, v tree) { del(t, v, picked) }, []string{"route"}, false},
		{"route of the fallback", func(t *testing.T, v tree) { del(t, v, host+"/routes/fallback") }, []string{"route-fallback"}, false},
		{"route of the fallback behind", func(t *testing.T, v tree) {
			l := at(t, v, host+"/routes").([]any)
			set(t, v, host+"/routes", append(append([]any{l[0]}, l[2:]...), l[1]))
		}, []string{"route-order"}, true},
		{"fallback header", func(t *testing.T, v tree) { del(t, v, host+"/routes/fallback/request_headers_to_remove") }, []string{"fallback-header"}, false},
		{"timeout", func(t *testing.T, v tree) { del(t, v, picked+"/route/timeout") }, []string{"timeout"}, false},
		{"short timeout", func(t *testing.T, v tree) { set(t, v, picked+"/route/timeout", "30s") }, []string{"timeout"}, false},
		{"short idle timeout", func(t *testing.T, v tree) { set(t, v, picked+"/route/idle_timeout", "5s") }, []string{"idle-timeout"}, false},
		{"short idle timeout of streams", func(t *testing.T, v tree) { set(t, v, hcm+"/stream_idle_timeout", "5s") }, []string{"idle-timeout"}, false},
		{"retries", func(t *testing.T, v tree) { del(t, v, picked+"/route/retry_policy") }, []string{"retry"}, false},
		{"reasons to retry", func(t *testing.T, v tree) { set(t, v, picked+"/route/retry_policy/retry_on", "connect-failure") }, []string{"retry-on"}, false},
		{"no reason to retry", func(t *testing.T, v tree) { del(t, v, picked+"/route/retry_policy/retry_on") }, []string{"retry-on"}, false},
		{"number of retries", func(t *testing.T, v tree) { del(t, v, picked+"/route/retry_policy/num_retries") }, []string{"num-retries"}, false},
		{"retriable status codes", func(t *testing.T, v tree) { del(t, v, picked+"/route/retry_policy/retriable_status_codes") }, []string{"retriable-status-codes"}, false},
		{"timeout of an attempt", func(t *testing.T, v tree) { set(t, v, picked+"/route/retry_policy/per_try_timeout", "2s") }, []string{"per-try-timeout"}, false},
		{"destination cluster", func(t *testing.T, v tree) { del(t, v, destination) }, []string{"destination-cluster"}, false},
		{"policy of the destination cluster", func(t *testing.T, v tree) { del(t, v, destination+"/lb_policy") }, []string{"lb-policy"}, false},
		{"header of the destination cluster", func(t *testing.T, v tree) { del(t, v, destination+"/original_dst_lb_config") }, []string{"use-http-header"}, false},
		{"another header", func(t *testing.T, v tree) { del(t, v, destination+"/original_dst_lb_config/http_header_name") }, []string{"use-http-header"}, false},
		{"another port", func(t *testing.T, v tree) {
			set(t, v, destination+"/original_dst_lb_config/upstream_port_override", 80)
		}, []string{"port-override"}, true},
		{"header of lists", func(t *testing.T, v tree) {
			set(t, v, endpoints+"/load_balancing_policy/policies/0/typed_extension_config/typed_config/override_host_sources", []any{tree{"header": "x"}})
		}, []string{"override-header"}, false},
		{"attempt filter", func(t *testing.T, v tree) { del(t, v, destination+options+"/http_filters/envoy.filters.http.wasm") }, []string{"attempt-filter"}, false},
		{"attempt filter of lists", func(t *testing.T, v tree) { del(t, v, endpoints+options+"/http_filters/envoy.filters.http.wasm") }, []string{"attempt-filter"}, false},
		{"upstream filters", func(t *testing.T, v tree) { del(t, v, destination+"/typed_extension_protocol_options") }, []string{"attempt-filter"}, false},
		{"attempt filter behind the codec", func(t *testing.T, v tree) {
			l := at(t, v, destination+options+"/http_filters").([]any)
			l[0], l[1] = l[1], l[0]
		}, []string{"attempt-order"}, true},
		{"codec", func(t *testing.T, v tree) {
			del(t, v, destination+options+"/http_filters/envoy.filters.http.upstream_codec")
		}, []string{"upstream-codec"}, false},
		{"connect timeout", func(t *testing.T, v tree) { del(t, v, destination+"/connect_timeout") }, []string{"connect-timeout"}, false},
		{"limits", func(t *testing.T, v tree) { del(t, v, destination+"/circuit_breakers") }, []string{"circuit-breakers"}, false},
		{"agent's cluster", func(t *testing.T, v tree) { del(t, v, "static_resources/clusters/zerohop_agent") }, []string{"agent-cluster"}, false},
	}
	for _, tt := range cases {
		t.Run(tt.name, func(t *testing.T) {
			v := committed(t)
			tt.spoil(t, v)
			_, p := rendered(t, plan.DestinationHeader, true)
			r := check(t, v, p)
			if d := cmp.Diff(tt.want, ids(r)); d != "" {
				t.Fatalf("%s\n%+v", d, r.Findings)
			}
			for _, f := range r.Findings {
				if f.Line == 0 || f.Path == "" || f.What == "" || f.Why == "" {
					t.Errorf("incomplete: %+v", f)
				}
				if (f.Add == "") != tt.manual {
					t.Errorf("%s: lines to add: %q", f.ID, f.Add)
				}
			}
			if !tt.manual {
				mend(t, v, p)
			}
		})
	}
}

// TestFromNothing builds on a bootstrap that knows nothing of zerohop.
func TestFromNothing(t *testing.T) {
	const plain = `
static_resources:
  listeners:
  - name: clients
    address: {socket_address: {address: 127.0.0.1, port_value: 8080}}
    filter_chains:
    - filters:
      - name: envoy.filters.network.http_connection_manager
        typed_config:
          "@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
          stat_prefix: clients
          route_config:
            virtual_hosts:
            - name: all
              domains: ["*"]
              routes:
              - match: {prefix: "/"}
                route: {cluster: vllm}
          http_filters:
          - name: envoy.filters.http.router
            typed_config: {"@type": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router}
  clusters:
  - name: vllm
    type: STRICT_DNS
    load_assignment: {cluster_name: vllm, endpoints: [{lb_endpoints: [{endpoint: {address: {socket_address: {address: vllm, port_value: 8000}}}}]}]}
`
	for _, mode := range []string{plan.DestinationHeader, plan.DestinationFilterState, plan.DestinationList} {
		t.Run(mode, func(t *testing.T) {
			_, p := rendered(t, mode, true)
			v := parse(t, []byte(plain))
			r := check(t, v, p)
			for _, id := range []string{"filter", "early-mutation", "body-limit", "destination-cluster", "agent-cluster"} {
				if !strings.Contains(strings.Join(ids(r), " "), id) {
					t.Errorf("%s is not found: %v", id, ids(r))
				}
			}
			if mode == plan.DestinationFilterState {
				return // the route that matches everything has to be changed by hand
			}
			mend(t, v, p)
		})
	}
}

// TestFragments checks what holds only a part of a bootstrap, in the forms in which parts come.
func TestFragments(t *testing.T) {
	const wasmType = "type.googleapis.com/envoy.extensions.filters.http.wasm.v3.Wasm"
	cases := []struct {
		name  string
		make  func(t *testing.T) any
		want  []string
		notes []string
	}{
		{"listener", func(t *testing.T) any { return at(t, committed(t), "static_resources/listeners/clients") }, nil, []string{"concurrency", "fragment"}},
		{"listener without the flag", func(t *testing.T) any {
			v := committed(t)
			del(t, v, down+"/allow_on_headers_stop_iteration")
			return tree{"resources": []any{at(t, v, "static_resources/listeners/clients")}}
		}, []string{"flag"}, []string{"concurrency", "fragment"}},
		{"cluster", func(t *testing.T) any { return at(t, committed(t), destination) }, nil, nil},
		{"cluster without attempt filter", func(t *testing.T) any {
			v := committed(t)
			del(t, v, destination+"/typed_extension_protocol_options")
			return at(t, v, destination)
		}, []string{"attempt-filter"}, nil},
		{"config dump", func(t *testing.T) any {
			return tree{"configs": []any{tree{"@type": "type.googleapis.com/envoy.admin.v3.BootstrapConfigDump", "bootstrap": committed(t)}}}
		}, nil, []string{"concurrency"}},
		{"routes by RDS elsewhere in the file", func(t *testing.T) any {
			v := committed(t)
			routes := at(t, v, hcm+"/route_config")
			del(t, v, host+"/request_body_buffer_limit")
			m := at(t, v, hcm).(tree)
			delete(m, "route_config")
			m["rds"] = tree{"route_config_name": "clients"}
			return []any{v, routes}
		}, []string{"body-limit"}, []string{"concurrency"}},
		{"routes by RDS", func(t *testing.T) any {
			v := committed(t)
			m := at(t, v, hcm).(tree)
			delete(m, "route_config")
			m["rds"] = tree{"route_config_name": "clients"}
			return v
		}, nil, []string{"concurrency", "routes"}},
		{"Istio's patch with a struct", func(t *testing.T) any {
			config := at(t, committed(t), down).(tree)
			delete(config, "failure_policy")
			return tree{"kind": "EnvoyFilter", "spec": tree{"configPatches": []any{tree{"applyTo": "HTTP_FILTER", "patch": tree{"value": tree{
				"name": "zerohop", "typed_config": tree{"@type": "type.googleapis.com/udpa.type.v1.TypedStruct", "type_url": wasmType, "value": tree{"config": config}},
			}}}}}}
		}, []string{"failure-policy"}, []string{"concurrency", "fragment"}},
		{"lowerCamelCase", func(t *testing.T) any { return camelTree(committed(t)) }, nil, []string{"concurrency"}},
		{"limit of the listener", func(t *testing.T) any {
			v := committed(t)
			del(t, v, host+"/request_body_buffer_limit")
			set(t, v, "static_resources/listeners/clients/per_connection_buffer_limit_bytes", 8<<20)
			return v
		}, nil, []string{"concurrency"}},
		{"limit of each route", func(t *testing.T) any {
			v := committed(t)
			del(t, v, host+"/request_body_buffer_limit")
			for _, r := range []string{"picked", "listed"} {
				set(t, v, host+"/routes/"+r+"/request_body_buffer_limit", "8388608")
			}
			return v
		}, nil, []string{"concurrency"}},
		{"retries that the plan does not allow", func(t *testing.T) any {
			v := committed(t)
			set(t, v, picked+"/route/retry_policy/retry_on", "connect-failure, refused-stream, reset")
			return v
		}, nil, []string{"concurrency", "retry-twice"}},
		{"policy of the virtual host", func(t *testing.T) any {
			v := committed(t)
			set(t, v, host+"/retry_policy", at(t, v, picked+"/route/retry_policy"))
			del(t, v, picked+"/route/retry_policy")
			return v
		}, nil, []string{"concurrency"}},
		{"authentication behind", func(t *testing.T) any {
			v := committed(t)
			l := at(t, v, hcm+"/http_filters").([]any)
			set(t, v, hcm+"/http_filters", []any{l[0], tree{"name": "jwt", "typed_config": tree{"@type": "type.googleapis.com/envoy.extensions.filters.http.jwt_authn.v3.JwtAuthentication"}}, l[1]})
			return v
		}, nil, []string{"auth-order", "concurrency"}},
		{"another HttpConnectionManager", func(t *testing.T) any {
			v := committed(t)
			listeners := at(t, v, "static_resources/listeners").([]any)
			health := tree{"name": "health", "filter_chains": []any{tree{"filters": []any{tree{"typed_config": tree{
				"@type": "type.googleapis.com/x.HttpConnectionManager", "stat_prefix": "health", "http_filters": []any{},
			}}}}}}
			set(t, v, "static_resources/listeners", append([]any{health}, listeners...))
			return v
		}, nil, []string{"concurrency"}},
		{"another Wasm filter", func(t *testing.T) any {
			v := committed(t)
			l := at(t, v, hcm+"/http_filters").([]any)
			waf := tree{"name": "waf", "typed_config": tree{"@type": wasmType, "config": tree{"name": "waf", "root_id": "waf"}}}
			set(t, v, hcm+"/http_filters", append([]any{waf}, l...))
			return v
		}, nil, []string{"concurrency"}},
	}
	for _, tt := range cases {
		t.Run(tt.name, func(t *testing.T) {
			var doc []byte
			if l, ok := tt.make(t).([]any); ok {
				for _, v := range l {
					doc = append(append(doc, "---\n"...), marshal(t, v)...)
				}
			} else {
				doc = marshal(t, tt.make(t))
			}
			r, err := envoycheck.Check(doc, nil)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tt.want, ids(r), cmpopts.EquateEmpty()); d != "" {
				t.Errorf("%s\n%+v", d, r.Findings)
			}
			var notes []string
			for _, n := range r.Notes {
				notes = append(notes, n.ID)
			}
			slices.Sort(notes)
			if d := cmp.Diff(tt.notes, notes, cmpopts.EquateEmpty()); d != "" {
				t.Error(d)
			}
		})
	}
}

// camel returns a field's name in protobuf's JSON.
func camel(name string) string {
	parts := strings.Split(name, "_")
	for i := 1; i < len(parts); i++ {
		parts[i] = strings.ToUpper(parts[i][:1]) + parts[i][1:]
	}
	return strings.Join(parts, "")
}

// camelTree writes field names as protobuf's JSON has them.
func camelTree(v any) any {
	switch x := v.(type) {
	case tree:
		out := tree{}
		for k, e := range x {
			out[camel(k.(string))] = camelTree(e)
		}
		return out
	case []any:
		out := make([]any, len(x))
		for i := range x {
			out[i] = camelTree(x[i])
		}
		return out
	}
	return v
}

func TestNoConfiguration(t *testing.T) {
	for _, doc := range []string{"", "hello", "apiVersion: llm-d.ai/v1alpha1\nkind: EndpointPickerConfig", "[]", "a: 1\na: 2", "["} {
		if r, err := envoycheck.Check([]byte(doc), nil); err == nil {
			t.Errorf("%q: no error, %+v", doc, r)
		}
	}
}

// FuzzCheck checks that no document is too odd, and that all lines that are to be added are YAML.
func FuzzCheck(f *testing.F) {
	b, err := os.ReadFile("../../envoy.yaml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add([]byte("name: a\nconnect_timeout: []\nhttp_filters: {}\nstat_prefix: 1\ntype: ORIGINAL_DST"))
	f.Add([]byte("- {http_filters: [{typed_config: {\"@type\": a.Wasm, config: {root_id: zerohop, vm_config: {vm_id: \"a: b\\n\"}}}}], rds: {}}\n- {name: x, lb_policy: y, type: ORIGINAL_DST}"))
	f.Add([]byte("virtual_hosts: [{routes: [{route: {cluster: zerohop_destination, retry_policy: {}}}]}]\nhttp_filters: [1]\nroute_config: {virtual_hosts: [{}]}"))
	want := &plan.Plan{Destination: plan.DestinationList, Agent: plan.Agent{Cluster: "a: \n"}}
	f.Fuzz(func(t *testing.T, doc []byte) {
		for _, p := range []*plan.Plan{nil, want} {
			r, err := envoycheck.Check(doc, p)
			if err != nil {
				continue
			}
			for _, x := range r.Findings {
				var v tree
				if err := yaml.Unmarshal([]byte(x.Add), &v); err != nil {
					t.Errorf("%s: %v\n%s", x.ID, err, x.Add)
				}
			}
		}
	})
}

func TestModes(t *testing.T) {
	tests := []struct {
		name, mode string
		edit       func(t *testing.T, v tree)
		want       []string
	}{
		{"filter_state needs no header", plan.DestinationFilterState, func(t *testing.T, v tree) { del(t, v, destination+"/original_dst_lb_config") }, nil},
		{"filter_state with a route by header", plan.DestinationFilterState, func(t *testing.T, v tree) {
			set(t, v, picked+"/match/headers", []any{tree{"name": names.HeaderDestination, "present_match": true}})
		}, []string{"route"}},
		{"header with a route by header", plan.DestinationHeader, func(t *testing.T, v tree) {
			set(t, v, picked+"/match/headers", []any{tree{"name": names.HeaderDestination, "present_match": true}})
		}, nil},
		{"list without its cluster", plan.DestinationList, func(t *testing.T, v tree) { del(t, v, endpoints) }, []string{"destination-cluster"}},
		{"list without its route", plan.DestinationList, func(t *testing.T, v tree) { del(t, v, host+"/routes/listed") }, []string{"route"}},
		{"header without what lists need", plan.DestinationHeader, func(t *testing.T, v tree) {
			del(t, v, endpoints)
			del(t, v, host+"/routes/listed")
		}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			v, p := rendered(t, tt.mode, true)
			tt.edit(t, v)
			r := check(t, v, p)
			if d := cmp.Diff(tt.want, ids(r), cmpopts.EquateEmpty()); d != "" {
				t.Errorf("%s\n%+v", d, r.Findings)
			}
		})
	}
}

// TestPlanOfAnotherConfiguration compares the plan in a bootstrap without ECDS with the one that is wanted.
func TestPlanOfAnotherConfiguration(t *testing.T) {
	v, p := rendered(t, plan.DestinationHeader, false)
	other := *p
	other.FailureMode = plan.FailOpen
	if d := cmp.Diff([]string{"plan-outdated"}, ids(check(t, v, &other))); d != "" {
		t.Error(d)
	}
	withECDS, _ := rendered(t, plan.DestinationHeader, true)
	other.Agent.Cluster = "zerohop_agent"
	if r := check(t, withECDS, &other); len(r.Findings) != 0 {
		t.Errorf("the agent sends another plan anyway: %+v", r.Findings)
	}
}
