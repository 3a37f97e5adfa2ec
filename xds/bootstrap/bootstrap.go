// Package bootstrap renders Envoy's configuration: one listener with the filter, a cluster that connects to what the
// filter picked, a fallback cluster and the agent's. The result is a complete, commented file, meant to be read.
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

// AgentCluster is the name of the agent's cluster, which the plan refers to.
const AgentCluster = "zerohop_agent"

const (
	vmID         = "zerohop"
	bodyLimitMiB = 32
	planIndent   = 20 // columns before the plan
)

// Options are what varies between bootstraps.
type Options struct {
	Plan     *plan.Plan       // its destination mode chooses the routes
	Listen   netip.AddrPort   // for clients
	Admin    netip.AddrPort   // Envoy's admin page
	Agent    netip.AddrPort   // the agent's HTTP
	Wasm     string           // path of the module, as Envoy sees it
	Fallback []netip.AddrPort // endpoints of the fallback cluster
}

var (
	//go:embed envoy.yaml.tmpl
	main string
	//go:embed parts.tmpl
	parts string
)

// Render returns the bootstrap as YAML.
func Render(o Options) ([]byte, error) {
	if strings.ContainsAny(o.Wasm, "\n\r") || o.Wasm == "" {
		return nil, errors.New("path of the module: must be one line of text")
	}
	t := template.New("envoy.yaml").Funcs(template.FuncMap{"address": address, "quote": strconv.Quote})
	for _, text := range []string{parts, main} {
		if _, err := t.Parse(text); err != nil {
			return nil, fmt.Errorf("parse template: %w", err)
		}
	}
	text, err := readable(plan.Append(nil, o.Plan), strings.Repeat(" ", planIndent))
	if err != nil {
		return nil, fmt.Errorf("format plan: %w", err)
	}
	var out bytes.Buffer
	err = t.Execute(&out, values{
		Options: o,
		Wasm:    filepath.ToSlash(o.Wasm),
		Plan:    text,
		Header:  o.Plan.Destination == plan.DestinationHeader,

		DestinationHeader: names.HeaderDestination,
		FallbackHeader:    names.HeaderFallback,
		Stripped:          names.Stripped[:],
		RootDownstream:    names.RootDownstream,
		RootAttempt:       names.RootAttempt,
		PickState:         names.StatePick,
		AgentCluster:      AgentCluster,
		VMID:              vmID,
		BodyLimit:         bodyLimitMiB << 20,
		BodyLimitMiB:      bodyLimitMiB,
	})
	if err != nil {
		return nil, fmt.Errorf("render: %w", err)
	}
	return out.Bytes(), nil
}

// values are what the templates see.
type values struct {
	Options
	Wasm   string
	Plan   string
	Header bool // destination mode header, not filter_state

	DestinationHeader, FallbackHeader string
	Stripped                          []string
	RootDownstream, RootAttempt       string
	PickState                         string
	AgentCluster, VMID                string
	BodyLimit, BodyLimitMiB           int
}

// address returns an Envoy address.
func address(a netip.AddrPort) string {
	return fmt.Sprintf("{socket_address: {address: %q, port_value: %d}}", a.Addr(), a.Port())
}
