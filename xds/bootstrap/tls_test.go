package bootstrap

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zerohop/zerohop/shared/plan"
)

func TestTransport(t *testing.T) {
	n := render(t, variants()["secured"])
	const socket = "static_resources/clusters/%s/transport_socket/typed_config"
	at := func(cluster string) tree { return n.at(strings.ReplaceAll(socket, "%s", cluster)) }
	for _, tt := range []struct{ cluster, ca, sni, kind, alpn string }{
		{"zerohop_agent", "ca: #.pem", "agent", "DNS", "http/1.1"},
		{"zerohop_xds", "ca: #.pem", "agent", "DNS", "h2"},
		{"zerohop_destination", "ca", "10.0.0.1", "IP_ADDRESS", "h2"},
		{"zerohop_endpoints", "ca", "10.0.0.1", "IP_ADDRESS", "h2"},
		{"zerohop_fallback", "ca", "10.0.0.1", "IP_ADDRESS", "h2"},
	} {
		t.Run(tt.cluster, func(t *testing.T) {
			common := at(tt.cluster).at("common_tls_context")
			san := common.at("validation_context/match_typed_subject_alt_names/0")
			got := []any{
				common.at("validation_context/trusted_ca/filename").v,
				san.at("matcher/exact").v, san.at("san_type").v, common.at("alpn_protocols/0").v,
			}
			if tt.kind == "DNS" {
				got = append(got, at(tt.cluster).at("sni").v)
			} else if _, ok := at(tt.cluster).v.(map[any]any)["sni"]; ok {
				t.Error("an IP address is no server name")
			}
			if d := cmp.Diff([]any{tt.ca, tt.sni, tt.kind, tt.alpn, tt.sni}[:len(got)], got); d != "" {
				t.Error(d)
			}
		})
	}
	if got := at("zerohop_agent").at("common_tls_context/tls_certificates/0/private_key/filename").v; got != "k" {
		t.Errorf("key of the client certificate: %v", got)
	}
	for _, cluster := range []string{"zerohop_agent", "zerohop_xds"} {
		n.at("static_resources/clusters/" + cluster + "/typed_extension_protocol_options/" +
			"envoy.extensions.upstreams.http.v3.HttpProtocolOptions/http_filters/envoy.filters.http.credential_injector")
	}
	if got := n.at("static_resources/secrets/zerohop_agent_token/generic_secret/secret/filename").v; got != "token" {
		t.Errorf("token file: %v", got)
	}
}

// TestEdge checks that nothing in a bootstrap without an agent waits for one.
func TestEdge(t *testing.T) {
	b, err := Render(variants()["edge"])
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{"ads", "zerohop_agent", "zerohop_xds", "config_discovery", "EDS"} {
		for line := range strings.Lines(string(b)) {
			code, _, _ := strings.Cut(line, "#")
			if strings.Contains(code, word) && !strings.Contains(code, `"agent": {`) {
				t.Errorf("%q in %s", word, line)
			}
		}
	}
	hosts := render(t, variants()["edge"]).at("static_resources/clusters/zerohop_endpoints/load_assignment/endpoints/0/lb_endpoints")
	if got := hosts.at("0/endpoint/address/socket_address/address").v; got != "10.0.0.1" {
		t.Errorf("endpoint %v", got)
	}
}

func TestRefusedOptions(t *testing.T) {
	tests := []struct {
		name string
		edit func(*Options)
		want string
	}{
		{"no module", func(o *Options) { o.Wasm = "" }, "path of the module: must be one line of text"},
		{"node id", func(o *Options) { o.Node.ID = "" }, "node id: must be one line of text"},
		{"name without CA", func(o *Options) { o.Upstream = TLS{SNI: "x"} }, "TLS to the endpoints: a CA file is needed"},
		{"CA without name", func(o *Options) { o.Upstream = TLS{CAFile: "x"} }, "or the client's Host header (--upstream-tls-auto-sni)"},
		{"two names", func(o *Options) { o.Upstream = TLS{CAFile: "x", SNI: "x", AutoSNI: true} }, "either fixed (--upstream-tls-sni) or the client's Host header (--upstream-tls-auto-sni)"},
		{"key without certificate", func(o *Options) { o.Upstream = TLS{CAFile: "x", SNI: "x", KeyFile: "k"} }, "the file of its key (--upstream-client-key)"},
		{"control character", func(o *Options) { o.Agent.TLS = TLS{CAFile: "x\n", SNI: "x"} }, "TLS to the agent: names must have no control characters"},
		{"name of the agent by Host", func(o *Options) { o.Agent.TLS = TLS{CAFile: "x", AutoSNI: true} }, "TLS to the agent: a server name is needed (--agent-tls-sni)"},
		{"no name of the agent", func(o *Options) { o.Agent.TLS = TLS{CAFile: "x"} }, "TLS to the agent: a server name is needed (--agent-tls-sni): the name"},
		{"no secret", func(o *Options) { o.SecretsDir = "s" }, "--secrets-dir: there is no secret; give --agent-token-file"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o := testOptions(plan.DestinationHeader)
			tt.edit(&o)
			if _, err := Render(o); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}

func TestAgentClusterIsThePlans(t *testing.T) {
	o := testOptions(plan.DestinationHeader)
	o.Plan.Agent.Cluster = "other"
	render(t, o).at("static_resources/clusters/other")
}
