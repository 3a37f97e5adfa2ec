package controlplane

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/zerohop/zerohop/e2e/harness"
	"github.com/zerohop/zerohop/e2e/traffic"
	"github.com/zerohop/zerohop/xds/access"
)

// longestRest is how long no poll may come through a rotation. The filter asks again within a second; the machine may be busy,
// and an Envoy that is cut off stays so.
const longestRest = 5 * time.Second

// TestTokenRotation changes the token of a running Envoy, with both valid at the agent meanwhile. Nothing is refused.
func TestTokenRotation(t *testing.T) {
	const before, after = "a-token-that-nobody-guesses", "another-token-altogether"
	agents, envoys := write(t, t.TempDir(), "tokens", before+"\n"), write(t, t.TempDir(), "token", before+"\n")
	rules := policy(t, access.Options{BearerTokenFile: agents})
	b := startGuarded(t, 2, harness.Options{RenderArgs: []string{"--agent-token-file", envoys, "--secrets-dir", t.TempDir()}}, rules)
	b.setEndpoints()
	first := b.plan(t, weight(7))
	b.control.SetPlan(first)
	b.waitInForce(t, first, 1)
	b.reports.waitFrom(t, "Bearer "+before)

	replace(t, agents, before+"\n"+after+"\n")
	b.waitAnswer(t, after, http.StatusNotModified)
	changed := time.Now()
	replace(t, envoys, after+"\n")
	b.reports.waitFrom(t, "Bearer "+after)
	t.Logf("Envoy sends the token %v after the file has it", time.Since(changed).Round(time.Millisecond))
	replace(t, agents, after+"\n")
	b.waitAnswer(t, before, http.StatusUnauthorized)

	b.reconnectControl(t, rules)
	if p := b.reports.waitFrom(t, "Bearer "+after); p.rest > longestRest {
		t.Errorf("no poll for %v", p.rest)
	}
	stats, err := b.Envoy.Stats(t.Context(), "^cluster.zerohop_agent.upstream_rq_401")
	if err != nil {
		t.Fatal(err)
	}
	if n := stats["cluster.zerohop_agent.upstream_rq_401"]; n != 0 {
		t.Errorf("%g polls of Envoy were refused", n)
	}
}

// TestCertificateRotation gives a running Envoy a certificate that expires soon, and another one before it does. A connection
// ends when the certificate has expired that it was opened with.
func TestCertificateRotation(t *testing.T) {
	ca := harness.NewCA(t, t.TempDir(), "ca")
	agent, shown := ca.Issue(t, "agent", agentName), ca.Issue(t, "first", "envoy.test")
	rules := policy(t, access.Options{CertFile: agent.CertFile, KeyFile: agent.KeyFile, ClientCAFile: ca.File})
	b := startGuarded(t, 2, harness.Options{RenderArgs: []string{
		"--agent-tls-ca", ca.File, "--agent-tls-sni", agentName,
		"--agent-tls-cert", shown.CertFile, "--agent-tls-key", shown.KeyFile, "--secrets-dir", t.TempDir(),
	}}, rules)
	b.setEndpoints()
	first := b.plan(t, weight(7))
	b.control.SetPlan(first)
	b.waitInForce(t, first, 1)
	b.reports.waitFrom(t, "first")

	short := ca.IssueFor(t, 10*time.Second, "short", "envoy.test")
	put := func(c *harness.Certificate) {
		rename(t, c.CertFile, shown.CertFile)
		rename(t, c.KeyFile, shown.KeyFile)
	}
	put(short)
	b.reports.hangUpOn("first") // until Envoy has read the files
	b.reports.waitFrom(t, "short")
	put(ca.Issue(t, "long", "envoy.test"))
	p := b.reports.waitFrom(t, "long")
	if before := short.Leaf.NotAfter.Sub(p.at); before > time.Second {
		t.Errorf("the connections ended %v before their certificate expired", before)
	}
	if p.rest > longestRest {
		t.Errorf("no poll for %v", p.rest)
	}
	t.Logf("the longest time without a poll was %v", p.rest.Round(time.Millisecond))
	b.reconnectControl(t, rules)
}

// TestReconnectAfterOutage checks that the time between two attempts stops growing at a second: ten attempts of an Envoy that
// waits ever longer would take minutes.
func TestReconnectAfterOutage(t *testing.T) {
	b := start(t, 2, harness.Options{})
	b.setEndpoints()
	first := b.plan(t, weight(7))
	b.control.SetPlan(first)
	b.control.waitAcked(t, first)
	b.control.stop()
	const failures = "cluster.zerohop_xds.upstream_cx_connect_fail"
	traffic.Until(t, "ten attempts", func() error {
		stats, err := b.Envoy.Stats(t.Context(), "^"+failures)
		if err == nil && stats[failures] < 10 {
			err = fmt.Errorf("there are %g", stats[failures])
		}
		return err
	})
	began := time.Now()
	b.reconnectControl(t, nil)
	t.Logf("Envoy had the next plan everywhere %v after the control plane was back", time.Since(began).Round(time.Millisecond))
}

// reconnectControl serves the control plane anew at its address: Envoy has to show who it is, and takes the next plan.
func (b *bed) reconnectControl(t *testing.T, rules *access.Policy) {
	t.Helper()
	b.control.stop()
	b.control = startControl(t, b.control.address, rules)
	b.setEndpoints()
	p := b.plan(t, weight(9))
	b.control.SetPlan(p)
	b.control.waitAcked(t, p)
	b.waitInForce(t, p, 1)
}

// waitAnswer waits until the agent answers a client with that token by status.
func (b *bed) waitAnswer(t *testing.T, token string, status int) {
	t.Helper()
	traffic.Until(t, "the agent to look at its tokens", func() error {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, b.AgentURL(), nil)
		if err != nil {
			return err
		}
		req.Header.Set("Authorization", "Bearer "+token)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		return equal(resp.StatusCode, status)
	})
}

// replace puts another file in the place of one, as a rotation does.
func replace(t *testing.T, file, text string) {
	t.Helper()
	rename(t, write(t, filepath.Dir(file), filepath.Base(file)+".new", text), file)
}

func rename(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}
