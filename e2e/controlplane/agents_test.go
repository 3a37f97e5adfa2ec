package controlplane

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/zerohop/zerohop/e2e/harness"
	"github.com/zerohop/zerohop/e2e/traffic"
)

// TestTwoAgents has two agents of one configuration behind each of Envoy's two clusters for them, which take turns. Either takes the
// other's snapshots for old ones. Requests are decided as with one agent, also after that which Envoy has its plan from is killed.
func TestTwoAgents(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a real Envoy")
	}
	sims := harness.SimsForTest(t, 4, traffic.Instant())
	second := startSecond(t, sims.Endpoints())
	b := traffic.Start(t, traffic.Options{Options: harness.Options{
		Endpoints: sims.Endpoints(), Concurrency: 2, Edit: func(bootstrap []byte) ([]byte, error) {
			edited, err := withMember(string(bootstrap), "zerohop_agent", second.http)
			if err != nil {
				return nil, err
			}
			edited, err = withMember(edited, "zerohop_xds", second.xds)
			return []byte(edited), err
		},
	}})
	b.Sims = sims
	takeTurns(t, b)
	leading, left := leadingFirst(t, b, second)
	l := startLoad(t, b.URL(), 4)
	for _, disturb := range []func(){func() {}, leading.kill} {
		disturb()
		l.more(t, 100)
		keepsPrefixes(t, b)
	}
	// The one that is left is told what the workers do, sends them their plan, and tells of what changes.
	knownTo(t, left.url)
	traffic.Until(t, "Envoy to take its plan from the agent that is left", func() error { return left.leads() })
	left.edit(sims.Endpoints()[1:])
	served := func() uint64 { return sims[0].Stats().Requests }
	traffic.Until(t, "requests to stay away from an endpoint that has gone", func() error {
		was := served()
		l.more(t, 40)
		if n := served() - was; n > 0 {
			return fmt.Errorf("it got %d of 40", n)
		}
		return nil
	})
	if bad := l.end(); len(bad) != 0 {
		t.Errorf("%d of %d requests failed: %q", len(bad), l.count(), bad[0])
	}
	stats := b.FilterStats(t)
	for _, name := range []string{"zerohop_snapshot_errors_total", "zerohop_delta_errors_total", "zerohop_panics_total"} {
		if n := stats[name]; n != 0 {
			t.Errorf("%s is %g", name, n)
		}
	}
	b.Agree(t)
}

// oneOfTwo is an agent of two as the test deals with it.
type oneOfTwo struct {
	url  string
	kill func()
	edit func([]harness.Endpoint) // writes its endpoint file
}

// leadingFirst returns the bed's agent and the second one, that first which Envoy has its plan from.
func leadingFirst(t *testing.T, b *traffic.Bed, second *secondAgent) (leading, left oneOfTwo) {
	t.Helper()
	leading = oneOfTwo{url: b.AgentURL(), kill: b.Agent.Kill, edit: func(list []harness.Endpoint) {
		if err := b.WriteEndpoints(list); err != nil {
			t.Error(err)
		}
	}}
	left = oneOfTwo{url: "http://" + second.http, kill: second.Kill, edit: func(list []harness.Endpoint) {
		replace(t, second.endpoints, string(harness.EndpointsYAML(list)))
	}}
	traffic.Until(t, "Envoy to have its plan from an agent", func() error {
		if left.leads() == nil {
			leading, left = left, leading
			return nil
		}
		return leading.leads()
	})
	return leading, left
}

// leads returns nil if Envoy is connected to the agent's control plane and has accepted its plan.
func (a *oneOfTwo) leads() error {
	st, err := agentStatus(a.url)
	if err != nil {
		return err
	}
	for _, n := range st.Nodes {
		if n.Connected && st.Revision != "" && n.Plan.Acked == st.Revision {
			return nil
		}
	}
	return fmt.Errorf("nodes are %+v", st.Nodes)
}

// takeTurns waits until both agents have answered polls, and many.
func takeTurns(t *testing.T, b *traffic.Bed) {
	t.Helper()
	answers := regexp.MustCompile(`(?m)^zerohop_agent::127\.0\.0\.1:\d+::rq_success::\d{2,}$`)
	traffic.Until(t, "ten answers of each agent", func() error {
		page, err := b.Envoy.AdminGet(t.Context(), "/clusters")
		if err != nil {
			return err
		}
		return equal(len(answers.FindAll(page, -1)), 2)
	})
}

// keepsPrefixes sends chats twice. None may go elsewhere the second time, nor be decided without a full score.
func keepsPrefixes(t *testing.T, b *traffic.Bed) {
	t.Helper()
	for i := range 12 {
		r := traffic.Request{Body: traffic.ChatBody(traffic.Text(uint64(i), 3000))}
		first := b.Pick(t, b.Do(t, r).ID)
		second := b.Pick(t, b.Do(t, r).ID)
		if second.Endpoint != first.Endpoint || second.Matched != second.Total || second.Total == 0 || first.Reason != "scored" || second.Reason != "scored" {
			t.Errorf("picked %+v, and the second time %+v", first, second)
		}
	}
}

// secondAgent is an agent beside that of a bed, with an endpoint file of its own.
type secondAgent struct {
	*harness.Process
	http, xds, endpoints string
}

// startSecond starts another agent, and waits until it is ready.
func startSecond(t *testing.T, endpoints []harness.Endpoint) *secondAgent {
	t.Helper()
	tools, err := harness.FindTools()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	a := &secondAgent{endpoints: write(t, dir, "endpoints.yaml", string(harness.EndpointsYAML(endpoints)))}
	ports, err := harness.FreePorts(2)
	if err != nil {
		t.Fatal(err)
	}
	a.http, a.xds = ports[0], ports[1]
	a.Process, err = harness.StartProcess(dir, "second-agent", tools.Binary, "agent", "--config-file", filepath.Join(tools.Root, "config", "epp.yaml"),
		"--endpoints", a.endpoints, "--listen", a.http, "--xds-listen", a.xds)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		a.Stop()
		if t.Failed() {
			var log strings.Builder
			a.WriteLog(&log)
			t.Log(log.String())
		}
	})
	traffic.Until(t, "the second agent to be ready", func() error {
		resp, err := http.Get("http://" + a.http + "/readyz")
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		return equal(resp.StatusCode, http.StatusOK)
	})
	return a
}

// knownTo waits until an agent has reports of the one Envoy.
func knownTo(t *testing.T, url string) {
	t.Helper()
	traffic.Until(t, "reports to "+url, func() error {
		resp, err := http.Get(url + "/metrics")
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		page, err := io.ReadAll(resp.Body)
		if err == nil && !strings.Contains(string(page), "zerohop_agent_reporting_envoys 1\n") {
			err = errors.New("no Envoy reports")
		}
		return err
	})
}

// withMember adds an endpoint to the members of a cluster in a bootstrap.
func withMember(bootstrap, cluster, address string) (string, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return "", err
	}
	begin := strings.Index(bootstrap, "  - name: "+cluster+"\n")
	if begin < 0 {
		return "", fmt.Errorf("the bootstrap has no cluster %s", cluster)
	}
	const members = "      - lb_endpoints:\n"
	at := strings.Index(bootstrap[begin:], members)
	if at < 0 {
		return "", fmt.Errorf("the cluster %s is written in another way:\n%.500s", cluster, bootstrap[begin:])
	}
	at += begin + len(members)
	return bootstrap[:at] + fmt.Sprintf("        - endpoint: {address: {socket_address: {address: %q, port_value: %s}}}\n", host, port) + bootstrap[at:], nil
}
