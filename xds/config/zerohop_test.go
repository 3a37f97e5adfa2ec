package config

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/zerohop/zerohop/scorers/registry"
	"github.com/zerohop/zerohop/shared/plan"
	"github.com/zerohop/zerohop/xds/config/known"
	"github.com/zerohop/zerohop/xds/discovery"
	"github.com/zerohop/zerohop/xds/strictyaml"
)

const zheader = "apiVersion: zerohop.dev/v1alpha1\nkind: ZerohopConfig\n"

// wholeDocument sets every field to something else than its default.
const wholeDocument = zheader + `
destinationMode: list
failureMode: FailOpen
parity: epp
bounds: {endpoints: 100, indexBlocks: 65536, sessions: 500}
drainTimeout: 1m30s
objectives: [{name: batch, priority: -1}, {name: "y", priority: 2}]
explain: {trustedNetworks: [10.1.2.3/8, "::1"]}
accessLog: {chain: false}
servedModels: {interval: 1s}
scrape:
  interval: 50ms
  timeout: 200ms
  staleness: 5s
  maxPageBytes: 1048576
  path: /stats
  scheme: https
  engine: sglang
  bearerTokenFile: /run/token
  tls: {caFile: ca.pem, certFile: cert.pem, keyFile: key.pem, serverName: "2001:db8::1", insecureSkipVerify: true}
discovery:
  endpoints:
  - {name: a, address: 10.0.0.1, port: "8000", labels: {role: "yes", "y": "1"}}
  - {name: b, namespace: prod, address: "2001:db8::1", port: "1"}
  file: endpoints.yaml
  watch: false
  dns:
  - {name: vllm.models.svc.cluster.local, ports: [8000, 8001], namespace: models, resolver: 10.96.0.10, minTTL: 500ms, maxTTL: 1m}
  - {name: _http._tcp.vllm.models.svc, type: SRV, resolver: "[::1]:5353"}
agent:
  enabled: false
  listen: "[::1]:1"
  xdsListen: 0.0.0.0:2
  tls: {certFile: c, keyFile: k, clientCAFile: ca}
  bearerTokenFile: t
  maxConnections: 10
  requestsPerSecond: 0.5
  maxSnapshotAge: 5m
envoy: {agentCluster: "outbound|18001||zerohop"}
sharing: {mode: worker, interval: 500us, logBytes: 65536}
attempts: {retries: unanswered, firstByteTimeout: 20s}
`

var wholeZerohop = Zerohop{
	DestinationMode: plan.DestinationList, FailureMode: plan.FailOpen, Parity: plan.ParityEPP,
	Bounds: Bounds{Endpoints: 100, IndexBlocks: 65536, Sessions: 500}, DrainTimeout: 90 * time.Second,
	Scrape: Scrape{
		Interval: 50 * time.Millisecond, Timeout: 200 * time.Millisecond, Staleness: 5 * time.Second, MaxPageBytes: 1 << 20,
		Path: "/stats", Scheme: SchemeHTTPS, Engine: "sglang", BearerTokenFile: "/run/token",
		TLS: ClientTLS{CAFile: "ca.pem", CertFile: "cert.pem", KeyFile: "key.pem", ServerName: "2001:db8::1", InsecureSkipVerify: true},
	},
	Discovery: Discovery{
		Endpoints: []discovery.Endpoint{
			{Namespace: "default", Name: "a", Address: netip.MustParseAddrPort("10.0.0.1:8000"), Labels: map[string]string{"role": "yes", "y": "1"}},
			{Namespace: "prod", Name: "b", Address: netip.MustParseAddrPort("[2001:db8::1]:1")},
		},
		File: "endpoints.yaml",
		DNS: []DNS{
			{
				Name: "vllm.models.svc.cluster.local", Type: discovery.DNSAddress, Ports: []uint16{8000, 8001}, Namespace: "models",
				Resolver: "10.96.0.10:53", MinTTL: 500 * time.Millisecond, MaxTTL: time.Minute,
			},
			{Name: "_http._tcp.vllm.models.svc", Type: discovery.DNSService, Namespace: "default", Resolver: "[::1]:5353", MinTTL: time.Second, MaxTTL: 30 * time.Second},
		},
	},
	Agent: Agent{
		Disabled: true, Listen: netip.MustParseAddrPort("[::1]:1"), XDSListen: netip.MustParseAddrPort("0.0.0.0:2"),
		TLS: ServerTLS{CertFile: "c", KeyFile: "k", ClientCAFile: "ca"}, BearerTokenFile: "t", MaxConnections: 10, RequestsPerSecond: 0.5, MaxSnapshotAge: 5 * time.Minute,
	},
	Envoy:      EnvoyNames{AgentCluster: "outbound|18001||zerohop"},
	Objectives: []plan.Objective{{Name: "batch", Priority: -1}, {Name: "y", Priority: 2}}, ExplainTo: []string{"10.0.0.0/8", "::1/128"},
	ModelsInterval: time.Second,
	Sharing:        Sharing{Mode: plan.SharingWorker, Interval: 500 * time.Microsecond, LogBytes: 65536},
	Attempts:       Attempts{Retries: plan.RetryUnanswered, FirstByteTimeout: 20 * time.Second},
}

var compareAddresses = cmpopts.EquateComparable(netip.AddrPort{})

func TestLoadZerohop(t *testing.T) {
	tests := []struct {
		name, doc string
		want      Zerohop
	}{
		{"absent", header, DefaultZerohop()},
		{"empty", zheader, DefaultZerohop()},
		{"sections without content", zheader + "scrape:\nagent: {}\ndiscovery: {endpoints: [], dns: []}\nbounds: {endpoints: null}\n", func() Zerohop {
			z := DefaultZerohop()
			z.Discovery.Endpoints = []discovery.Endpoint{}
			return z
		}()},
		{"whole", wholeDocument, wholeZerohop},
		{"after the other document", header + "---\n" + wholeDocument, wholeZerohop},
		{"before the other document", wholeDocument + "---\n---\n" + header + "---\n", wholeZerohop},
		{"json", `{"apiVersion":"zerohop.dev/v1alpha1","kind":"ZerohopConfig","scrape":{"interval":"1s"}}`, func() Zerohop {
			z := DefaultZerohop()
			z.Scrape.Interval = time.Second
			return z
		}()},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, err := Load([]byte(tt.doc), testTypes)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tt.want, c.Zerohop, compareAddresses); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestWholeDocumentSetsEverything keeps wholeDocument, and with it the tests that use it, in step with the settings.
func TestWholeDocumentSetsEverything(t *testing.T) {
	var p strictyaml.Problems
	root, err := strictyaml.Parse([]byte(wholeDocument), &p)
	if err != nil {
		t.Fatal(err)
	}
	d := DefaultZerohop()
	for _, s := range settings {
		switch {
		case !at(root, s.path).Exists():
			t.Errorf("%s is not set", s.path)
		case s.form.show(&d) == s.form.show(&wholeZerohop):
			t.Errorf("%s is set to its default", s.path)
		case s.why == "":
			t.Errorf("%s: no reason for its default", s.path)
		}
	}
}

func TestLoadZerohopErrors(t *testing.T) {
	tests := []struct{ name, doc, want string }{
		{"networks and objectives", zheader + `explain: {trustedNetworks: [10.0.0.0/33, 5, "fe80::1%eth0", ""]}
objectives: [{name: a, priority: 1.5}, {name: a}, null, {priority: 3000000000, x: 1}]
servedModels: {interval: 1ms}
`, `
line 3: explain.trustedNetworks[0]: "10.0.0.0/33" is not a network; write for example 10.0.0.0/8
line 3: explain.trustedNetworks[1]: must be a string, not the number 5; put it in quotes
line 3: explain.trustedNetworks[2]: "fe80::1%eth0" is not a network; write for example 10.0.0.0/8
line 3: explain.trustedNetworks[3]: is missing
line 4: objectives[0].priority: 1.5 is not a whole number
line 4: objectives[1].name: "a" is the name of objectives[0] too; give it another
line 4: objectives[1].priority: is missing; write a whole number, below 0 for requests that may be refused
line 4: objectives[2]: is empty
line 4: objectives[3].x: unknown field "x"; known here: name, priority
line 4: objectives[3].name: is missing
line 4: objectives[3].priority: 3e+09 is outside -2147483648 to 2147483647
line 5: servedModels.interval: 1ms is outside 100ms to 24h0m0s`},
		{"unknown fields", zheader + "destinatonMode: list\nscrape:\n  intervall: 1s\n  tls: {ca: x}\nfoo: 1\n", `
line 3: destinatonMode: unknown field "destinatonMode"; did you mean "destinationMode"?
line 5: scrape.intervall: unknown field "intervall"; did you mean "interval"?
line 6: scrape.tls.ca: unknown field "ca"; known here: caFile, certFile, keyFile, serverName, insecureSkipVerify
line 7: foo: unknown field "foo"; known here: apiVersion, kind, destinationMode, failureMode, parity, bounds, drainTimeout, scrape, servedModels, discovery, agent, objectives, explain, accessLog, sharing, attempts, envoy`},
		{"words", zheader + "destinationMode: headers\nfailureMode: failOpen\nparity: yes\nscrape: {scheme: ftp, engine: vlm}\n", `
line 3: destinationMode: "headers" is not known; did you mean "header"?
line 4: failureMode: "failOpen" is not known; did you mean "FailOpen"?
line 5: parity: must be a string, not true; put it in quotes
line 6: scrape.scheme: "ftp" is not known; known here: http, https
line 6: scrape.engine: "vlm" is not known; did you mean "vllm"?`},
		{"durations", zheader + "drainTimeout: 30\nscrape: {interval: 5ms, timeout: 1 s, staleness: -1s}\n", `
line 3: drainTimeout: must be a duration with its unit, not the number 30; write for example 30s
line 4: scrape.interval: 5ms is outside 10ms to 1h0m0s
line 4: scrape.timeout: "1 s" is not a duration; write for example 1s
line 4: scrape.staleness: -1s is outside 10ms to 24h0m0s`},
		{"short age", zheader + "agent: {maxSnapshotAge: 10s}\n", `
line 3: agent.maxSnapshotAge: 10s is less than 1m0s, within which an agent without news confirms what it sent`},
		{"numbers", zheader + "bounds: {endpoints: 0, indexBlocks: 2000.5}\nscrape: {maxPageBytes: 4Mi}\nagent: {maxConnections: 1e9, requestsPerSecond: -1}\n", `
line 3: bounds.endpoints: 0 is outside 1 to 65536
line 3: bounds.indexBlocks: 2000.5 is not a whole number
line 4: scrape.maxPageBytes: must be a number, not the string "4Mi"
line 5: agent.maxConnections: 1e+09 is outside 0 to 1048576
line 5: agent.requestsPerSecond: -1 is outside 0 to 1e+06`},
		{"index too large", zheader + "bounds:\n  endpoints: 8192\n  indexBlocks: 1048576\n", `
line 5: bounds.indexBlocks: must be at most 465226 with 8192 endpoints, not 1048576: the prefix index of a worker would take more than 512 MiB`},
		{"addresses", zheader + "agent: {listen: localhost:18001, xdsListen: \":18000\"}\n", `
line 3: agent.listen: "localhost:18001" is not ip:port; write for example 127.0.0.1:18001, IPv6 in brackets
line 3: agent.xdsListen: ":18000" is not ip:port; write for example 127.0.0.1:18000, IPv6 in brackets`},
		{"ports of listeners", zheader + "agent: {listen: \"127.0.0.1:0\", xdsListen: \"127.0.0.1:18001\"}\n", `
line 3: agent.listen: "127.0.0.1:0" has port 0; Envoy must know the port
line 3: agent.xdsListen: 127.0.0.1:18001 is the address of the other listener too; agent.listen and agent.xdsListen must differ`},
		{"text", zheader + `scrape: {path: metrics, bearerTokenFile: "a\nb", tls: {serverName: "a b"}}` + "\nenvoy: {agentCluster: \"a\\u0001\"}\n", `
line 3: scrape.path: "metrics" does not begin with a slash; write "/metrics"
line 3: scrape.bearerTokenFile: "a\nb" is no file name; write it in one line
line 3: scrape.tls.serverName: "a b" is not a host name; between the dots stand 1 to 63 letters, digits, hyphens and underscores
line 4: envoy.agentCluster: "a\x01" has control characters`},
		{"halves of a pair", zheader + "scrape: {scheme: https, tls: {certFile: a}}\nagent: {tls: {keyFile: b, clientCAFile: c}}\n", `
line 3: scrape.tls.certFile: needs scrape.tls.keyFile too; add it
line 4: agent.tls.keyFile: needs agent.tls.certFile too; add it
line 4: agent.tls.clientCAFile: has no effect without certFile and keyFile; add both`},
		{"endpoints", zheader + "bounds: {endpoints: 1}\ndiscovery:\n  endpoints:\n  - {name: a, address: x, port: 1}\n  - {name: a, address: 10.0.0.1, port: \"1\"}\n", `
line 5: discovery.endpoints: 2 endpoints; bounds.endpoints is 1
line 6: discovery.endpoints[0].address: "x" is not an IPv4 or IPv6 address; host names are not resolved
line 6: discovery.endpoints[0].port: must be a string, not the number 1; put it in quotes
line 7: discovery.endpoints[1].name: default/a is already taken by endpoints[0]`},
		{"dns", zheader + `discovery:
  dns:
  - {type: SRV, ports: [80]}
  - {name: "a b", ports: [], resolver: dns.example, minTTL: 2s, maxTTL: 1s}
  - {name: x, ports: [0, 80, 80, x, null]}
  - {name: X}
  - {name: z, type: AAAA, ports: [1], port: 1}
  -
`, `
line 5: discovery.dns[0].name: is missing
line 5: discovery.dns[0].ports: stands beside type SRV, whose answers have ports; remove it
line 6: discovery.dns[1].name: "a b" is not a host name; between the dots stand 1 to 63 letters, digits, hyphens and underscores
line 6: discovery.dns[1].resolver: "dns.example" is not ip or ip:port; write for example 10.96.0.10:53
line 6: discovery.dns[1].minTTL: 2s is more than maxTTL, 1s
line 6: discovery.dns[1].ports: is empty; write for example [8000]
line 7: discovery.dns[2].ports[0]: 0 is outside 1 to 65535
line 7: discovery.dns[2].ports[2]: 80 stands here twice
line 7: discovery.dns[2].ports[3]: must be a number, not the string "x"
line 7: discovery.dns[2].ports[4]: is empty
line 8: discovery.dns[3].ports: is missing; an address has no port of its own, write for example [8000]
line 8: discovery.dns[3].name: X is already asked for by discovery.dns[2]
line 9: discovery.dns[4].port: unknown field "port"; did you mean "ports"?
line 9: discovery.dns[4].type: "AAAA" is not known; known here: A/AAAA, SRV
line 10: discovery.dns[5]: is empty`},
		{"sections of another type", zheader + "scrape: fast\nagent: []\ndiscovery: {dns: {}}\n", `
line 3: scrape: must be an object, not the string "fast"
line 4: agent: must be an object, not a list
line 5: discovery.dns: must be a list, not an object`},
		{"kind misspelt, and read all the same", "apiVersion: zerohop.dev/v1\nkind: ZeroHopConfg\nparity: epq\n", `
line 2: kind: no kind "ZeroHopConfg" is registered for version "zerohop.dev/v1"; did you mean "ZerohopConfig"?
line 3: parity: "epq" is not known; did you mean "epp"?`},
		{"kind missing", "apiVersion: zerohop.dev/v1alpha1\nparity: epq\n", `
line 1: kind: is missing
line 2: parity: "epq" is not known; did you mean "epp"?`},
		{"version of another", "apiVersion: llm-d.ai/v1alpha1\nkind: ZerohopConfig\n", `
line 1: apiVersion: "llm-d.ai/v1alpha1" is not known; write zerohop.dev/v1alpha1`},
		{"two of each, and a third kind", zheader + "---\n" + header + "---\n" + zheader + "---\n" + header + "---\nkind: Deployment\napiVersion: apps/v1\nspec: {}\n", `
line 8: kind: is a second ZerohopConfig; keep the one in line 1
line 11: kind: is a second EndpointPickerConfig; keep the one in line 4
line 13: kind: no kind "Deployment" is registered for version "apps/v1"; known here: EndpointPickerConfig, ZerohopConfig`},
		{"both documents", header + "plugins: [{type: queue-score}]\n---\n" + zheader + "parity: x\n", `
line 3: plugins[0].type: plugin type "queue-score" is not registered; did you mean "queue-scorer"?
line 7: parity: "x" is not known; known here: none, epp`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Load([]byte(tt.doc), testTypes)
			if err == nil {
				t.Fatal("no error")
			}
			if d := cmp.Diff(strings.TrimPrefix(tt.want, "\n"), err.Error()); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestZerohopWarnings(t *testing.T) {
	tests := []struct{ name, doc, want string }{
		{"none", "scrape: {interval: 1s}", ""},
		{"tls without https", "scrape: {tls: {caFile: a}, bearerTokenFile: b}", `
line 3: scrape.tls: has no effect while scrape.scheme is http
line 3: scrape.bearerTokenFile: is sent in clear text while scrape.scheme is http`},
		{"an impatient wait", "attempts: {firstByteTimeout: 900ms}", `
line 3: attempts.firstByteTimeout: gives healthy servers up when they are busy; set it well above the 99th percentile of the time to the response headers`},
		{"a patient wait", "attempts: {firstByteTimeout: 1s}", ""},
		{"unchecked certificates", "scrape: {scheme: https, tls: {insecureSkipVerify: true}}", `
line 3: scrape.tls.insecureSkipVerify: lets anyone on the way answer for an endpoint; give caFile instead`},
		{"token beyond loopback", "agent: {listen: 0.0.0.0:1, bearerTokenFile: b}", `
line 3: agent.bearerTokenFile: is sent in clear text without agent.tls`},
		{"staleness below three intervals", "scrape: {interval: 1s, staleness: 1s}", `
line 3: scrape.staleness: is less than three scrape intervals, which count instead`},
		{"edge", "agent: {enabled: false, listen: 127.0.0.1:1}\nscrape: {interval: 1s}\ndiscovery: {dns: [{name: a, ports: [1]}]}", `
line 3: agent.listen: has no effect while agent.enabled is false
line 4: scrape: has no effect while agent.enabled is false
line 5: discovery.dns: has no effect while agent.enabled is false`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, err := Load([]byte(zheader+tt.doc), testTypes)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, w := range c.Warnings {
				got = append(got, w.String())
			}
			if d := cmp.Diff(strings.TrimPrefix(tt.want, "\n"), strings.Join(got, "\n")); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestFileDiscovery(t *testing.T) {
	tests := []struct {
		name, doc string
		want      *FileDiscovery
		warning   string
		err       string
	}{
		{name: "none", doc: "plugins: [{type: random-picker}]"},
		{
			name: "as the EPP has it", want: &FileDiscovery{Name: "file-discovery", Path: "/etc/endpoints.yaml"},
			doc: "plugins: [{type: file-discovery, parameters: {path: /etc/endpoints.yaml}}, {type: random-picker}]\ndataLayer: {discovery: {pluginRef: file-discovery}}",
		},
		{
			name: "named and watched", want: &FileDiscovery{Name: "eps", Path: "e", Watch: true},
			doc: "plugins: [{type: random-picker}, {type: file-discovery, name: eps, parameters: {path: e, watchFile: true}}]\ndataLayer: {discovery: {pluginRef: eps}}",
		},
		{
			name: "not referred to", doc: "plugins: [{type: file-discovery, parameters: {path: e}}, {type: random-picker}]",
			warning: "line 3: plugins[0]: has no effect; dataLayer.discovery.pluginRef does not name it",
		},
		{name: "no path", doc: "plugins: [{type: file-discovery}]", err: "line 3: plugins[0].parameters.path: is missing (the endpoint file)"},
		{
			name: "undefined", doc: "plugins: [{type: file-discovery, parameters: {path: e}}]\ndataLayer: {discovery: {pluginRef: file-discovry}}",
			err: `line 4: dataLayer.discovery.pluginRef: references undefined plugin "file-discovry"; did you mean "file-discovery"?`,
		},
		{
			name: "of another type", doc: "plugins: [{type: queue-scorer}]\ndataLayer: {discovery: {pluginRef: queue-scorer}}",
			err: `line 4: dataLayer.discovery.pluginRef: "queue-scorer" is of type queue-scorer, which finds no endpoints; name a plugin of type file-discovery`,
		},
		{name: "without reference", doc: "dataLayer: {discovery: {}}", err: "line 3: dataLayer.discovery.pluginRef: is missing"},
		{
			name: "in a profile", want: &FileDiscovery{Name: "file-discovery", Path: "e"},
			doc:     "plugins: [{type: file-discovery, parameters: {path: e}}, {type: random-picker}]\ndataLayer: {discovery: {pluginRef: file-discovery}}\nschedulingProfiles: [{name: a, plugins: [{pluginRef: file-discovery}]}]",
			warning: "line 5: schedulingProfiles[0].plugins[0].pluginRef: has no effect; file-discovery is neither filter nor scorer nor picker",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, err := Load([]byte(header+tt.doc), testTypes)
			if tt.err != "" {
				if err == nil || err.Error() != tt.err {
					t.Fatalf("error = %v, want %s", err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tt.want, c.Discovery); d != "" {
				t.Error(d)
			}
			var warning string
			for _, w := range c.Warnings {
				warning += w.String()
			}
			if warning != tt.warning {
				t.Errorf("warning %q, want %q", warning, tt.warning)
			}
			if slices.ContainsFunc(c.Plugins, func(p plan.Plugin) bool { return p.Type == known.FileDiscovery }) {
				t.Error("the filter gets the agent's plugin")
			}
		})
	}
}

func TestDefaults(t *testing.T) {
	injected := func(first int, before ...Default) []Default {
		for i, d := range []Default{
			{"", "metrics-data-source", "injected: the agent reads the metrics of every endpoint, as section scrape says"},
			{"", "core-metrics-extractor", "injected: the agent makes numbers of those metrics"},
			{"", "openai-parser", "injected: no parser is declared"},
			{"", "passthrough-parser", "injected: no parser is declared, and other requests are routed by load"},
		} {
			d.Path = fmt.Sprintf("plugins[%d]", first+i)
			before = append(before, d)
			if i == 1 {
				before = append(before, Default{d.Path + ".parameters.engineLabelKey", `"llm-d.ai/engine-type"`, "default of core-metrics-extractor: label of endpoints that names their engine"})
			}
		}
		return before
	}
	tests := []struct {
		name, doc string
		want      []Default // without those of the settings
	}{
		{"no document", "", injected(5, []Default{
			{kind, "queue-scorer 2, kv-cache-utilization-scorer 2, prefix-cache-scorer 3", "there is none: the EPP's default schedule"},
			{"plugins[2].parameters.matchLengthWeight", "0", "default of prefix-cache-scorer: share of the length term"},
			{"schedulingProfiles[0].plugins[0].weight", "2", "the EPP's default for queue-scorer"},
			{"schedulingProfiles[0].plugins[1].weight", "2", "the EPP's default for kv-cache-utilization-scorer"},
			{"schedulingProfiles[0].plugins[2].weight", "3", "the EPP's default for prefix-cache-scorer"},
			{"plugins[3]", "max-score-picker", "added: no picker is declared"},
			{"plugins[3].parameters.maxNumOfEndpoints", "1", "default of max-score-picker: "},
			{"schedulingProfiles[0].picker", "max-score-picker", "the profile names no picker: the first that is declared, else max-score-picker"},
			{"plugins[4]", "single-profile-handler", "added: no profile handler is declared, and there is one profile"},
			{producerType, "autoTune true, blockSizeTokens 16, maxPrefixTokensToMatch 131072, lruCapacityPerServer 31250", "none is declared: the prefix index has its defaults, as in the EPP"},
		}...)},
		{"all is said", header + `
plugins:
- {type: queue-scorer, name: q}
- {type: random-picker, name: r}
- {type: single-profile-handler, name: h}
- {type: approx-prefix-cache-producer, name: p, parameters: {autoTune: true, blockSize: 64, maxPrefixTokensToMatch: 1, maxPrefixBlocksToMatch: 1, lruCapacityPerServer: 1}}
schedulingProfiles: [{name: a, plugins: [{pluginRef: q, weight: 1}, {pluginRef: r}]}]
`, injected(4)},
		{"names, weights, profile", header + `
plugins: [{type: queue-scorer}, {type: random-picker, name: r}, {type: single-profile-handler, name: h},
  {type: approx-prefix-cache-producer, name: p, parameters: {autoTune: true, blockSizeTokens: 64, maxPrefixTokensToMatch: 1, lruCapacityPerServer: 1}}]
schedulingProfiles: [{name: a, plugins: [{pluginRef: queue-scorer}, {pluginRef: r}]}]
`, injected(4, []Default{
			{"plugins[0].name", "queue-scorer", "a plugin without name has its type's"},
			{"plugins[3].parameters.maxPrefixBlocksToMatch", "2048", "default of approx-prefix-cache-producer: "},
			{"schedulingProfiles[0].plugins[0].weight", "1", "the EPP's default for a scorer"},
		}...)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, err := Load([]byte(tt.doc), testTypes)
			if err != nil {
				t.Fatal(err)
			}
			got := slices.DeleteFunc(slices.Clone(c.Defaults), func(d Default) bool {
				return slices.ContainsFunc(settings, func(s setting) bool { return s.path == d.Path })
			})
			if d := cmp.Diff(tt.want, got, cmpopts.EquateEmpty()); d != "" {
				t.Error(d)
			}
			if len(c.Defaults)-len(got) != len(settings) {
				t.Errorf("%d of %d settings are defaulted", len(c.Defaults)-len(got), len(settings))
			}
		})
	}
}

// TestInjected wants what works without being declared among the plugins, unless there is one of the kind, and once only.
func TestInjected(t *testing.T) {
	const served = header + "plugins: [{type: served-model-filter}, {type: queue-scorer}"
	for _, tt := range []struct {
		name, doc string
		want      []string
	}{
		{"all", served + "]", []string{"metrics-data-source", "core-metrics-extractor", "models-data-source", "openai-parser", "passthrough-parser"}},
		{
			"declared under other names", served + ", {type: metrics-data-source, name: a}, {type: core-metrics-extractor, name: b}, {type: models-data-source, name: c}, {type: openai-parser, name: d}, {type: passthrough-parser}]",
			nil,
		},
		{"name of another plugin", served + ", {type: decode-filter, name: metrics-data-source}]", []string{"core-metrics-extractor", "models-data-source", "openai-parser", "passthrough-parser"}},
		{"parsers", served + "]\nrequestHandler: {parsers: [{pluginRef: passthrough-parser}]}", []string{"metrics-data-source", "core-metrics-extractor", "models-data-source"}},
		{"no agent", served + "]\n---\n" + zheader + "agent: {enabled: false}\n", []string{"openai-parser", "passthrough-parser"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, err := Load([]byte(tt.doc), registry.Specs())
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, d := range c.Defaults {
				if strings.HasPrefix(d.Why, "injected: ") {
					got = append(got, d.Value)
				}
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Error(d)
			}
			sameAgain(t, c, registry.Specs())
			again, err := Load(c.YAML(), registry.Specs())
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range again.Defaults {
				if strings.HasPrefix(d.Why, "injected: ") {
					t.Errorf("%s = %s stands there, and is injected once more", d.Path, d.Value)
				}
			}
		})
	}
}

// TestScrapedEngineStays wants an extractor that names no engine to leave that to the ZerohopConfig, however often the
// effective configuration is loaded again.
func TestScrapedEngineStays(t *testing.T) {
	doc := []byte(header + "plugins: [{type: queue-scorer}, {type: core-metrics-extractor}]\n---\n" + zheader + "scrape: {engine: sglang}\n")
	for range 3 {
		c, err := Load(doc, registry.Specs())
		if err != nil {
			t.Fatal(err)
		}
		if c.Metrics.Engine != "" || c.Zerohop.Scrape.Engine != "sglang" {
			t.Fatalf("engine %q of the extractor, %q of the ZerohopConfig", c.Metrics.Engine, c.Zerohop.Scrape.Engine)
		}
		doc = c.YAML()
	}
}

func TestFiles(t *testing.T) {
	c, err := Load([]byte(wholeDocument+"---\n"+header+"plugins: [{type: file-discovery, parameters: {path: eps}}]\ndataLayer: {discovery: {pluginRef: file-discovery}}\n"), testTypes)
	if err != nil {
		t.Fatal(err)
	}
	want := []FileName{
		{27, "discovery.file", "endpoints.yaml", true},
		{21, "scrape.bearerTokenFile", "/run/token", false},
		{22, "scrape.tls.caFile", "ca.pem", false},
		{22, "scrape.tls.certFile", "cert.pem", false},
		{22, "scrape.tls.keyFile", "key.pem", false},
		{36, "agent.tls.certFile", "c", false},
		{36, "agent.tls.keyFile", "k", false},
		{36, "agent.tls.clientCAFile", "ca", false},
		{37, "agent.bearerTokenFile", "t", false},
		{47, "dataLayer.discovery", "eps", true},
	}
	if d := cmp.Diff(want, c.Files()); d != "" {
		t.Error(d)
	}
}

func TestModels(t *testing.T) {
	tests := []struct {
		name, doc string
		want      Models
	}{
		{"nobody asks", zheader, Models{false, "/v1/models", 10 * time.Second}},
		{"setting", zheader + "servedModels: {interval: 1s}", Models{false, "/v1/models", time.Second}},
		{"declared", header + "plugins: [{type: models-data-source}]", Models{true, "/v1/models", 10 * time.Second}},
		{"parameters", header + "plugins: [{type: models-data-source, parameters: {path: /models, interval: 2s}}]", Models{true, "/models", 2 * time.Second}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, err := Load([]byte(tt.doc), testTypes)
			if err != nil {
				t.Fatal(err)
			}
			if c.Models != tt.want || len(c.Inactive) != 0 {
				t.Errorf("%+v, inactive %v", c.Models, c.Inactive)
			}
		})
	}
}
