// Package bootstrap renders Envoy's configuration: one listener with the filter, clusters that connect to what the filter
// picked, a fallback cluster and the agent's two. The result is a complete, commented file, meant to be read. The control
// plane takes the parts that it serves from the same templates.
package bootstrap

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"
	"strconv"
	"strings"
	"text/template"

	"github.com/zerohop/zerohop/shared/names"
	"github.com/zerohop/zerohop/shared/plan"
)

const (
	vmID         = "zerohop"
	bodyLimitMiB = 32
)

// Options are what varies between bootstraps.
type Options struct {
	Plan      *plan.Plan       // in force until the agent sends another
	Node      Node             // how Envoy introduces itself to the agent
	Listen    netip.AddrPort   // for clients
	Admin     netip.AddrPort   // Envoy's admin page
	Agent     *Agent           // nil for a bootstrap that needs no agent
	Wasm      string           // path of the module, as Envoy sees it
	Endpoints []netip.AddrPort // members of the cluster for destination mode list, where there is no agent
	Fallback  []netip.AddrPort // endpoints of the fallback cluster
	Upstream  TLS              // how Envoy connects to the endpoints
	// SecretsDir is the folder of the files that Secrets returns, as Envoy sees it. Empty means that Envoy reads certificates
	// and tokens when it starts only.
	SecretsDir string
}

// Node is the node of the bootstrap.
type Node struct {
	ID      string // of this Envoy among those of one agent
	Cluster string // group of Envoys
}

// Agent says where the agent is and how to reach it.
type Agent struct {
	HTTP      netip.AddrPort // snapshots and reports
	XDS       netip.AddrPort // ADS
	TLS       TLS
	TokenFile string // bearer token that is sent along; empty for none
}

// Render returns the bootstrap as YAML.
func Render(o Options) ([]byte, error) {
	if err := errors.Join(o.check()...); err != nil {
		return nil, err
	}
	v := newValues(o)
	var err error
	if v.PlanText, err = readable(plan.Append(nil, o.Plan)); err != nil {
		return nil, fmt.Errorf("format plan: %w", err)
	}
	return v.execute("envoy.yaml")
}

// Filter returns the configuration of the downstream filter with plan p, as it stands in a bootstrap with that module path.
func Filter(p *plan.Plan, wasm string) ([]byte, error) {
	v := newValues(Options{Plan: p, Wasm: wasm})
	var err error
	if v.PlanText, err = readable(plan.Append(nil, p)); err != nil {
		return nil, fmt.Errorf("format plan: %w", err)
	}
	return v.execute("filter")
}

// Cluster returns the cluster of destination mode list, as it stands in a bootstrap with that module path.
func Cluster(wasm string) ([]byte, error) {
	return newValues(Options{Wasm: wasm, Agent: &Agent{}}).execute("endpoints_cluster")
}

// check returns what is wrong with the options.
func (o *Options) check() []error {
	var problems []error
	line := func(what, text string) {
		if text == "" || strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			problems = append(problems, fmt.Errorf("%s: must be one line of text", what))
		}
	}
	line("path of the module", o.Wasm)
	line("node id", o.Node.ID)
	line("node cluster", o.Node.Cluster)
	problems = append(problems, o.Upstream.check("TLS to the endpoints", upstreamFlags)...)
	if o.Agent != nil {
		problems = append(problems, o.Agent.TLS.check("TLS to the agent", agentFlags)...)
	}
	if o.SecretsDir != "" {
		line("--secrets-dir", o.SecretsDir)
		if len(o.secrets()) == 0 {
			problems = append(problems, errors.New("--secrets-dir: there is no secret; give --agent-token-file, --agent-tls-ca or --upstream-tls-ca, or leave it out"))
		}
	}
	return problems
}

// values are what the templates see.
type values struct {
	Options
	Wasm                string
	PlanText            string
	Edge                bool
	AgentHTTP, AgentXDS []netip.AddrPort
	// How Envoy connects to the agent's HTTP, to its ADS and to the endpoints.
	AgentTLS, ControlTLS, UpstreamTLS tlsValues
	TokenSecret                       secret

	DestinationHeader, FallbackHeader, RetryHeader        string
	Stripped                                              []string
	RootDownstream, RootAttempt, FilterName               string
	PickState, ChainState, ExplainPath                    string
	AgentCluster, ControlCluster                          string
	DestinationCluster, EndpointsCluster, FallbackCluster string
	MetadataKey, MetadataModule, VMID                     string
	BodyLimit, BodyLimitMiB                               int
}

func newValues(o Options) *values {
	v := &values{
		Options: o,
		Wasm:    filepath.ToSlash(o.Wasm),
		Edge:    o.Agent == nil,

		DestinationHeader:  names.HeaderDestination,
		FallbackHeader:     names.HeaderFallback,
		RetryHeader:        names.HeaderRetryOn,
		Stripped:           names.Stripped[:],
		RootDownstream:     names.RootDownstream,
		RootAttempt:        names.RootAttempt,
		FilterName:         FilterName,
		PickState:          names.StatePick,
		ChainState:         names.StateChain,
		ExplainPath:        names.PathExplain,
		AgentCluster:       AgentCluster,
		ControlCluster:     ControlCluster,
		DestinationCluster: destinationCluster,
		EndpointsCluster:   EndpointsCluster,
		FallbackCluster:    fallbackCluster,
		MetadataKey:        MetadataKey,
		MetadataModule:     MetadataModule,
		VMID:               vmID,
		BodyLimit:          bodyLimitMiB << 20,
		BodyLimitMiB:       bodyLimitMiB,
	}
	if o.Plan != nil && o.Plan.Agent.Cluster != "" {
		v.AgentCluster = o.Plan.Agent.Cluster
	}
	v.UpstreamTLS = o.tlsValues(o.Upstream, secretUpstream)
	if a := o.Agent; a != nil {
		v.AgentHTTP, v.AgentXDS = []netip.AddrPort{a.HTTP}, []netip.AddrPort{a.XDS}
		v.AgentTLS = o.tlsValues(a.TLS, secretAgent)
		v.ControlTLS = v.AgentTLS
		v.ControlTLS.HTTP2 = true
		v.TokenSecret = o.tokenSecret()
	}
	return v
}

var (
	//go:embed envoy.yaml.tmpl
	mainText string
	//go:embed parts.tmpl
	partsText string
)

// execute runs one template.
func (v *values) execute(name string) ([]byte, error) { return execute(name, v) }

func execute(name string, v any) ([]byte, error) {
	t := template.New("envoy.yaml")
	include := func(name string, data any) (string, error) {
		var b bytes.Buffer
		err := t.ExecuteTemplate(&b, name, data)
		return strings.Trim(b.String(), "\n"), err
	}
	t.Funcs(template.FuncMap{
		"address": address, "quote": strconv.Quote, "indent": indent,
		"include": func(name string, data any, columns int) (string, error) {
			text, err := include(name, data)
			return indent(columns, text), err
		},
		"item": func(name string, data any, columns int) (string, error) {
			text, err := include(name, data)
			return indent(columns, "- "+indent(2, text)[2:]), err
		},
	})
	for _, text := range []string{partsText, mainText} {
		if _, err := t.Parse(text); err != nil {
			return nil, fmt.Errorf("parse template: %w", err)
		}
	}
	var b bytes.Buffer
	if err := t.ExecuteTemplate(&b, name, v); err != nil {
		return nil, fmt.Errorf("render: %w", err)
	}
	return withoutGaps(b.Bytes()), nil
}

// gap stands where an optional part is absent: its line goes too.
const gap = "\x00"

// indent moves all lines of text to the right; no text becomes a gap.
func indent(columns int, text string) string {
	if text == "" {
		return gap
	}
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		if l != "" && l != gap {
			lines[i] = strings.Repeat(" ", columns) + l
		}
	}
	return strings.Join(lines, "\n")
}

func withoutGaps(b []byte) []byte { return bytes.ReplaceAll(b, []byte(gap+"\n"), nil) }

// address returns an Envoy address.
func address(a netip.AddrPort) string {
	return fmt.Sprintf("{socket_address: {address: %q, port_value: %d}}", a.Addr(), a.Port())
}
