package controlplane

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/zerohop/zerohop/e2e/harness"
	"github.com/zerohop/zerohop/e2e/traffic"
	"github.com/zerohop/zerohop/e2e/vllmsim/simserver"
	"github.com/zerohop/zerohop/shared/plan"
)

// TestCooledDownIsNotOffered breaks an endpoint in mode list. The filter cools it down and reports that, the agent tells
// Envoy, and Envoy's own fallback leaves the endpoint out until it is well again.
func TestCooledDownIsNotOffered(t *testing.T) {
	b := traffic.Start(t, traffic.Options{Sims: 4, Sim: traffic.Instant(), Options: harness.Options{Config: []byte(listMode)}})
	inForceEverywhere(t, b, "", 1)
	waitHealth(t, b, b.Sims[0].Addr(), "HEALTHY")
	l := startLoad(t, b.URL(), 4)
	traffic.Break(t, simserver.Faults{Request: simserver.RequestFault{Mode: simserver.RequestReset}}, b.Sims[0])
	waitHealth(t, b, b.Sims[0].Addr(), "UNHEALTHY")
	waitHealth(t, b, b.Sims[1].Addr(), "HEALTHY")
	b.Heal(t)
	waitHealth(t, b, b.Sims[0].Addr(), "HEALTHY")
	if bad := l.end(); len(bad) != 0 {
		t.Errorf("%d of %d requests failed: %q", len(bad), l.count(), bad[0])
	}
}

// waitHealth waits until Envoy has an endpoint of the cluster for lists in that state.
func waitHealth(t *testing.T, b *traffic.Bed, address, want string) {
	t.Helper()
	traffic.Until(t, address+" to be "+want, func() error {
		page, err := b.Envoy.AdminGet(t.Context(), "/clusters?format=json")
		if err != nil {
			return err
		}
		got, err := edsHealth(page, address)
		if err == nil && got != want {
			err = fmt.Errorf("it is %s", got)
		}
		return err
	})
}

// edsHealth reads a host's state from Envoy's page of clusters.
func edsHealth(page []byte, address string) (string, error) {
	var doc struct {
		Clusters []struct {
			Name  string `json:"name"`
			Hosts []struct {
				Address struct {
					Socket struct {
						Address string `json:"address"`
						Port    int    `json:"port_value"`
					} `json:"socket_address"`
				} `json:"address"`
				Health struct {
					EDS string `json:"eds_health_status"`
				} `json:"health_status"`
			} `json:"host_statuses"`
		} `json:"cluster_statuses"`
	}
	if err := json.Unmarshal(page, &doc); err != nil {
		return "", err
	}
	for _, c := range doc.Clusters {
		for _, h := range c.Hosts {
			if c.Name == "zerohop_endpoints" && fmt.Sprintf("%s:%d", h.Address.Socket.Address, h.Address.Socket.Port) == address {
				return h.Health.EDS, nil
			}
		}
	}
	return "", errors.New("Envoy does not know it")
}

// TestRefusalIsTold pairs the agent with a module that is too new for its plans, and looks for the refusal wherever an
// operator would: in "zerohop status", in the agent's metrics, and in its log.
func TestRefusalIsTold(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a module and starts a real Envoy")
	}
	b := traffic.Start(t, traffic.Options{Sims: 2, Sim: traffic.Instant(), Options: harness.Options{
		NodeCluster: "east", RenderArgs: []string{"--wasm", laterModule(t, plan.Version+1)}, Edit: withLaterPlan,
	}})
	traffic.Until(t, "the refusal in the status", func() error {
		if st, err := agentStatus(b.AgentURL()); err != nil || len(st.Nodes) == 0 || !st.Nodes[0].Rejects() {
			return fmt.Errorf("status %+v, %w", st, err)
		}
		st, text, err := zerohopStatus(b)
		if err == nil || !strings.Contains(text, "1 of 1 Envoys refuse") {
			return fmt.Errorf("status %+v, %q, %w", st, text, err)
		}
		if n := st.Nodes[0]; n.Group != "east" || !n.Rejects() || !strings.Contains(n.Plan.Nack.Reason, "Wasm plugin zerohop") {
			t.Errorf("node %+v", n)
		}
		return nil
	})
	page := agentPage(t, b, "/metrics")
	for _, line := range []string{`zerohop_agent_xds_nacks_total{group="east"} 1`, `zerohop_agent_xds_rejecting_nodes{group="east"} 1`} {
		if !strings.Contains(page, line+"\n") {
			t.Errorf("the agent's metrics lack %s", line)
		}
	}
	var log strings.Builder
	b.Agent.WriteLog(&log)
	if n := strings.Count(log.String(), "Envoy refuses a configuration"); n != 1 {
		t.Errorf("the agent logs the refusal %d times:\n%s", n, &log)
	}
	if r := b.Do(t, traffic.Request{Body: []byte(chat)}); r.Status != http.StatusOK {
		t.Errorf("status %d: %s", r.Status, r.Body)
	}
}

// agentPage returns a page of the agent's.
func agentPage(t *testing.T, b *traffic.Bed, path string) string {
	t.Helper()
	address, err := url.JoinPath(b.AgentURL(), path)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	page, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(page)
}
