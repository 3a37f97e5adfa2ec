package controlplane

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/zerohop/zerohop/e2e/harness"
	"github.com/zerohop/zerohop/e2e/traffic"
	"github.com/zerohop/zerohop/xds/access"
)

// agentName is in the agent's certificate.
const agentName = "agent.test"

// TestGuardedAgent connects Envoy to an agent that asks who it is, by what "zerohop render envoy" writes for that: plans
// arrive over gRPC and reports over HTTP.
func TestGuardedAgent(t *testing.T) {
	dir := t.TempDir()
	ca := harness.NewCA(t, dir, "ca")
	agent, client := ca.Issue(t, "agent", agentName), ca.Issue(t, "envoy", "envoy.test")
	const token = "a-token-that-nobody-guesses"
	tokenFile := write(t, dir, "token", token+"\n")
	overTLS := []string{"--agent-tls-ca", ca.File, "--agent-tls-sni", agentName}
	tests := []struct {
		name   string
		policy access.Options
		flags  []string
	}{
		{"token", access.Options{BearerTokenFile: tokenFile}, []string{"--agent-token-file", tokenFile}},
		{"token over TLS", access.Options{CertFile: agent.CertFile, KeyFile: agent.KeyFile, BearerTokenFile: tokenFile}, append(overTLS, "--agent-token-file", tokenFile)},
		{
			"client certificate",
			access.Options{CertFile: agent.CertFile, KeyFile: agent.KeyFile, ClientCAFile: ca.File},
			append(overTLS, "--agent-tls-cert", client.CertFile, "--agent-tls-key", client.KeyFile),
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := startGuarded(t, 2, harness.Options{RenderArgs: tt.flags}, policy(t, tt.policy))
			b.setEndpoints()
			p := b.plan(t, weight(7))
			b.control.SetPlan(p)
			b.waitInForce(t, p, 1)
			b.control.waitAcked(t, p)
			dump, err := b.Envoy.AdminGet(t.Context(), "/config_dump?include_eds")
			if err != nil {
				t.Fatal(err)
			}
			if bytes.Contains(dump, []byte(token)) {
				t.Error("the token stands in Envoy's config dump")
			}
		})
	}
}

// TestWrongCredentials checks that an Envoy that cannot show who it is gets nothing, and goes on with its bootstrap.
func TestWrongCredentials(t *testing.T) {
	dir := t.TempDir()
	right, wrong := write(t, dir, "right", "a-token-that-nobody-guesses"), write(t, dir, "wrong", "another-token-altogether")
	b := startGuarded(t, 2, harness.Options{RenderArgs: []string{"--agent-token-file", wrong}}, policy(t, access.Options{BearerTokenFile: right}))
	b.setEndpoints()
	b.control.SetPlan(b.plan(t, weight(7)))
	for _, name := range []string{"cluster.zerohop_xds.upstream_rq_200", "cluster.zerohop_agent.upstream_rq_401"} {
		traffic.Until(t, name, func() error {
			stats, err := b.Envoy.Stats(t.Context(), "^cluster.zerohop_(xds|agent)")
			if err == nil && stats[name] == 0 {
				err = fmt.Errorf("%s", stats)
			}
			return err
		})
	}
	for _, n := range b.control.Nodes() {
		if n.Plan.Sent != "" || n.Connected {
			t.Errorf("the stranger got %+v", n)
		}
	}
	if r := b.Do(t, traffic.Request{Body: []byte(chat)}); r.Status != 200 {
		t.Errorf("status %d: %s", r.Status, r.Body)
	}
}

func policy(t *testing.T, o access.Options) *access.Policy {
	t.Helper()
	p, err := access.New(o, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	file := filepath.Join(dir, name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
