package harness

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"net"
	"os/exec"
	"slices"
	"strings"
)

// render makes Envoy's bootstrap by the command that users run.
func (s *Stack) render(ctx context.Context, admin string) ([]byte, error) {
	args := []string{
		"render", "envoy",
		"--config-file", s.configFile(), "--endpoints", s.endpointsFile(),
		"--listen", s.Listen, "--admin", admin, "--agent", s.agentAddr, "--agent-xds", s.controlPlane(), "--wasm", s.tools.Module,
	}
	if s.opts.Edge {
		args = append(args, "--no-agent")
	}
	if s.opts.NodeID != "" {
		args = append(args, "--node-id", s.opts.NodeID)
	}
	if s.opts.NodeCluster != "" {
		args = append(args, "--node-cluster", s.opts.NodeCluster)
	}
	if s.opts.DestinationMode != "" {
		args = append(args, "--destination-mode", s.opts.DestinationMode)
	}
	if s.opts.ScrapeInterval > 0 {
		args = append(args, "--scrape-interval", s.opts.ScrapeInterval.String())
	}
	if s.opts.FailureMode != "" {
		args = append(args, "--failure-mode", s.opts.FailureMode)
	}
	if len(s.opts.Fallback) > 0 {
		args = append(args, "--fallback", strings.Join(s.opts.Fallback, ","))
	}
	args = append(args, s.opts.RenderArgs...)
	var out, errOut bytes.Buffer
	cmd := exec.CommandContext(ctx, s.tools.Binary, args...)
	cmd.Stdout, cmd.Stderr = &out, &errOut
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("zerohop %s: %w\n%s", strings.Join(args, " "), err, errOut.Bytes())
	}
	if s.opts.Edit == nil {
		return out.Bytes(), nil
	}
	b, err := s.opts.Edit(out.Bytes())
	if err != nil {
		return nil, fmt.Errorf("edit bootstrap: %w", err)
	}
	return b, nil
}

// controlPlane returns where Envoy looks for its ADS.
func (s *Stack) controlPlane() string {
	if s.opts.ControlPlane != "" {
		return s.opts.ControlPlane
	}
	return s.xdsAddr
}

// EndpointsYAML writes endpoints in the form of the EPP's endpoint file.
func EndpointsYAML(endpoints []Endpoint) []byte {
	if len(endpoints) == 0 {
		return []byte("endpoints: []\n") // a key without a value is not a list
	}
	var b bytes.Buffer
	b.WriteString("endpoints:\n")
	for _, e := range endpoints {
		host, port, err := net.SplitHostPort(e.Address)
		if err != nil {
			host, port = e.Address, "" // the agent reports it with the field name
		}
		fmt.Fprintf(&b, "- {name: %q, address: %q, port: %q", e.Name, host, port)
		if len(e.Labels) > 0 {
			var labels []string
			for _, key := range slices.Sorted(maps.Keys(e.Labels)) {
				labels = append(labels, fmt.Sprintf("%q: %q", key, e.Labels[key]))
			}
			b.WriteString(", labels: {" + strings.Join(labels, ", ") + "}")
		}
		b.WriteString("}\n")
	}
	return b.Bytes()
}
