package main

import (
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"time"

	"github.com/zerohop/zerohop/shared/plan"
	"github.com/zerohop/zerohop/xds/bootstrap"
	"github.com/zerohop/zerohop/xds/config"
	"github.com/zerohop/zerohop/xds/discovery"
)

type envoyCmd struct {
	inputs
	DestinationMode string           `enum:",header,filter_state,list" default:"" placeholder:"MODE" help:"How the filter tells Envoy the destination: header, filter_state or list. Default: destinationMode of the configuration."`
	FailureMode     string           `enum:",FailClose,FailOpen" default:"" placeholder:"MODE" help:"What happens to requests while there is no endpoint: 503 (FailClose) or the fallback cluster (FailOpen). Default: failureMode of the configuration."`
	NodeID          string           `default:"zerohop" placeholder:"ID" help:"This Envoy among those of one agent. Envoy's flag --service-node overrides it. Default ${default}."`
	NodeCluster     string           `default:"zerohop" placeholder:"NAME" help:"Group of Envoys by which the agent counts refusals. Default ${default}."`
	Listen          netip.AddrPort   `default:"127.0.0.1:8080" placeholder:"IP:PORT" help:"Where clients connect. Default ${default}."`
	Admin           netip.AddrPort   `default:"127.0.0.1:9901" placeholder:"IP:PORT" help:"Envoy's admin page. Default ${default}."`
	NoAgent         bool             `help:"Write a bootstrap that needs no agent, as agent.enabled: false of the configuration does: plan and endpoints stand in it."`
	Agent           netip.AddrPort   `placeholder:"IP:PORT" help:"The agent's HTTP. Default: agent.listen of the configuration."`
	AgentXds        netip.AddrPort   `placeholder:"IP:PORT" help:"The agent's ADS. Default: agent.xdsListen of the configuration."`
	AgentTLS        agentTLSFlags    `embed:"" prefix:"agent-tls-"`
	AgentTokenFile  string           `placeholder:"FILE" help:"File with the bearer token for the agent, as Envoy finds it."`
	ScrapeInterval  time.Duration    `placeholder:"DURATION" help:"The agent's scrape interval, by which metrics are judged too old. Default: scrape.interval of the configuration."`
	Wasm            string           `default:"build/out/zerohop.wasm" placeholder:"FILE" help:"The module, as Envoy finds it. Default ${default}."`
	Fallback        []netip.AddrPort `placeholder:"IP:PORT" help:"Endpoints of the fallback cluster. Default: those of the endpoint file."`
	Upstream        upstreamFlags    `embed:"" prefix:"upstream-"`
	SecretsDir      string           `placeholder:"DIR" help:"Let Envoy follow changes of the token and certificate files: write for each a file here by which it finds them. Envoy must find this folder by the same path. Default: Envoy reads them when it starts only."`
	Output          string           `short:"o" placeholder:"FILE" help:"Where to write. Default: standard output."`
}

// agentTLSFlags say how Envoy connects to the agent. Files are named as Envoy finds them.
type agentTLSFlags struct {
	CA   string `placeholder:"FILE" help:"Connect to the agent by TLS and believe certificates of these authorities (PEM)."`
	SNI  string `placeholder:"NAME" help:"Name or IP address that the agent's certificate carries."`
	Cert string `placeholder:"FILE" help:"Certificate that Envoy shows to the agent (PEM)."`
	Key  string `placeholder:"FILE" help:"Its key (PEM)."`
}

// upstreamFlags say how Envoy connects to the model servers. Files are named as Envoy finds them.
type upstreamFlags struct {
	TLSCA      string `name:"tls-ca" placeholder:"FILE" help:"Connect to the model servers by TLS and believe certificates of these authorities (PEM)."`
	TLSSNI     string `name:"tls-sni" placeholder:"NAME" help:"Name or IP address that the certificates of all model servers carry."`
	TLSAutoSNI bool   `name:"tls-auto-sni" help:"The certificates carry the name in the client's Host header."`
	ClientCert string `placeholder:"FILE" help:"Certificate that Envoy shows to the model servers (PEM)."`
	ClientKey  string `placeholder:"FILE" help:"Its key (PEM)."`
	HTTP2      bool   `name:"http2" help:"Speak HTTP/2 to the model servers, as gRPC needs; without TLS by prior knowledge."`
}

// run renders the bootstrap.
func (e *envoyCmd) run(stdout, stderr io.Writer) error {
	c, eps, err := e.load(stderr)
	if err != nil {
		return err
	}
	e.override(&c.Zerohop)
	if interval := c.Zerohop.Scrape.Interval; interval < minInterval {
		return usageError{fmt.Errorf("--scrape-interval: %v is shorter than %v", interval, minInterval)}
	}
	if len(eps) == 0 && len(e.Fallback) == 0 && c.Zerohop.Agent.Disabled {
		return usageError{fmt.Errorf("%s: a bootstrap without agent needs its endpoints in a file: give --endpoints FILE or discovery.endpoints (Envoy alone does not ask DNS), or --fallback", e.name())}
	}
	if len(eps) == 0 && len(c.Zerohop.Discovery.DNS) > 0 && len(e.Fallback) == 0 {
		_, _ = fmt.Fprintf(stderr, "zerohop: warning: %s: endpoints come by DNS only, which the agent asks: Envoy has none until it reaches the agent, and none in the fallback cluster unless --fallback names some\n", e.ConfigFile)
	}
	o := e.options(c, eps)
	if err := errors.Join(distinct(o), reachable(o.Agent)); err != nil {
		return usageError{err}
	}
	if o.Agent != nil {
		for _, w := range strangers(&c.Zerohop.Agent, o.Agent) {
			_, _ = fmt.Fprintf(stderr, "zerohop: warning: %s\n", w)
		}
	}
	out, err := bootstrap.Render(o)
	if err != nil {
		return usageError{err}
	}
	if err := e.writeSecrets(o); err != nil {
		return err
	}
	if e.Output == "" {
		_, err = stdout.Write(out)
		return err
	}
	if err := os.WriteFile(e.Output, out, 0o644); err != nil {
		return fmt.Errorf("--output: %w", err)
	}
	return nil
}

// writeSecrets writes the files by which Envoy finds what it follows. Each is put in its place by a rename, since an Envoy may
// be reading it.
func (e *envoyCmd) writeSecrets(o bootstrap.Options) error {
	files, err := bootstrap.Secrets(o)
	if err != nil {
		return usageError{err}
	}
	if len(files) > 0 {
		if err := os.MkdirAll(e.SecretsDir, 0o755); err != nil {
			return fmt.Errorf("--secrets-dir: %w", err)
		}
	}
	for _, f := range files {
		name := filepath.Join(e.SecretsDir, f.Name)
		err := os.WriteFile(name+".new", f.Text, 0o644)
		if err == nil {
			err = os.Rename(name+".new", name)
		}
		if err != nil {
			return fmt.Errorf("--secrets-dir: %w", err)
		}
	}
	return nil
}

// override replaces settings of the configuration by flags.
func (e *envoyCmd) override(z *config.Zerohop) {
	if e.DestinationMode != "" {
		z.DestinationMode = e.DestinationMode
	}
	if e.FailureMode != "" {
		z.FailureMode = e.FailureMode
	}
	if e.ScrapeInterval != 0 {
		z.Scrape.Interval = e.ScrapeInterval
	}
	if e.Agent.IsValid() {
		z.Agent.Listen = e.Agent
	}
	if e.AgentXds.IsValid() {
		z.Agent.XDSListen = e.AgentXds
	}
	if e.NoAgent {
		z.Agent.Disabled = true
	}
}

// options puts flags, configuration and endpoints together.
func (e *envoyCmd) options(c *config.Config, eps []discovery.Endpoint) bootstrap.Options {
	addresses := make([]netip.AddrPort, len(eps))
	for i := range eps {
		addresses[i] = eps[i].Address
	}
	settings := config.Settings{Endpoints: eps}
	o := bootstrap.Options{
		Node: bootstrap.Node{ID: e.NodeID, Cluster: e.NodeCluster}, Listen: e.Listen, Admin: e.Admin, Wasm: e.Wasm,
		Endpoints: addresses, Fallback: e.Fallback, Upstream: e.Upstream.tls(), SecretsDir: e.SecretsDir,
	}
	if len(o.Fallback) == 0 {
		o.Fallback = addresses
	}
	if z := &c.Zerohop; !z.Agent.Disabled {
		settings.AgentCluster = z.Envoy.AgentCluster
		o.Agent = &bootstrap.Agent{HTTP: z.Agent.Listen, XDS: z.Agent.XDSListen, TLS: e.AgentTLS.tls(), TokenFile: e.AgentTokenFile}
		if z.DestinationMode == plan.DestinationList {
			// Until the agent has sent the endpoints, Envoy knows none by name. It sends them before the plan with mode list.
			z.DestinationMode = plan.DestinationHeader
		}
	}
	o.Plan = c.Plan(settings)
	return o
}

// distinct refuses one port for two purposes.
func distinct(o bootstrap.Options) error {
	if o.Agent == nil {
		if o.Listen == o.Admin {
			return fmt.Errorf("--listen %v and --admin %v must differ", o.Listen, o.Admin)
		}
		return nil
	}
	seen := make(map[netip.AddrPort]bool)
	for _, a := range []netip.AddrPort{o.Listen, o.Admin, o.Agent.HTTP, o.Agent.XDS} {
		if seen[a] {
			return fmt.Errorf("--listen %v, --admin %v, --agent %v and --agent-xds %v must differ", o.Listen, o.Admin, o.Agent.HTTP, o.Agent.XDS)
		}
		seen[a] = true
	}
	return nil
}

// reachable refuses addresses that an agent can listen on, but nobody can connect to.
func reachable(a *bootstrap.Agent) error {
	var problems []error
	if a != nil && a.HTTP.Addr().IsUnspecified() {
		problems = append(problems, fmt.Errorf("--agent: Envoy cannot connect to %v, where the agent listens; give the agent's address", a.HTTP))
	}
	if a != nil && a.XDS.Addr().IsUnspecified() {
		problems = append(problems, fmt.Errorf("--agent-xds: Envoy cannot connect to %v, where the agent listens; give the agent's address", a.XDS))
	}
	return errors.Join(problems...)
}

// strangers says by which of its rules the agent will turn this Envoy away, and what Envoy gives away.
func strangers(serves *config.Agent, a *bootstrap.Agent) []string {
	var warnings []string
	overTLS, token, cert := a.TLS.CAFile != "", a.TokenFile != "", a.TLS.CertFile != ""
	if served := serves.TLS.CertFile != ""; served != overTLS {
		if served {
			warnings = append(warnings, "the agent speaks TLS (agent.tls.certFile); give --agent-tls-ca and --agent-tls-sni, or Envoy cannot connect")
		} else {
			warnings = append(warnings, "--agent-tls-ca: the agent of this configuration speaks no TLS; set agent.tls.certFile and keyFile, or Envoy cannot connect")
		}
	}
	byToken, byCert := serves.BearerTokenFile != "", serves.TLS.ClientCAFile != ""
	if known := byToken && token || byCert && cert; (byToken || byCert) && !known {
		warnings = append(warnings, "the agent asks who Envoy is (agent.bearerTokenFile, agent.tls.clientCAFile); give --agent-token-file, or --agent-tls-cert and --agent-tls-key")
	}
	if remote := !a.HTTP.Addr().IsLoopback() || !a.XDS.Addr().IsLoopback(); token && remote && !overTLS {
		warnings = append(warnings, "--agent-token-file: without --agent-tls-ca the token crosses the network in plain text")
	}
	return warnings
}

func (f agentTLSFlags) tls() bootstrap.TLS {
	return bootstrap.TLS{CAFile: f.CA, SNI: f.SNI, CertFile: f.Cert, KeyFile: f.Key}
}

func (f upstreamFlags) tls() bootstrap.TLS {
	return bootstrap.TLS{
		CAFile: f.TLSCA, SNI: f.TLSSNI, AutoSNI: f.TLSAutoSNI, CertFile: f.ClientCert, KeyFile: f.ClientKey, HTTP2: f.HTTP2,
	}
}
