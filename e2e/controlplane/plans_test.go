package controlplane

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/zerohop/zerohop/e2e/harness"
	"github.com/zerohop/zerohop/e2e/traffic"
	"github.com/zerohop/zerohop/shared/plan"
	"github.com/zerohop/zerohop/xds/config"
	"github.com/zerohop/zerohop/xds/controlplane"
)

// readyWithin is what the bootstrap promises about Envoy's start without an agent, compilation of the module included.
const readyWithin = 5 * time.Second

// TestStartWithoutControlPlane checks that Envoy serves on the plan in its bootstrap, and takes over another one when the
// control plane comes.
func TestStartWithoutControlPlane(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a real Envoy")
	}
	ports, err := harness.FreePorts(1)
	if err != nil {
		t.Fatal(err)
	}
	b := &bed{reports: &reports{}}
	b.Bed = traffic.Start(t, traffic.Options{Sim: traffic.Instant(), Options: harness.Options{ControlPlane: ports[0], WithoutAgent: true}})
	b.ReadyWithin(t, readyWithin)
	if r := b.Do(t, traffic.Request{Body: []byte(chat)}); r.Status != 200 {
		t.Errorf("status %d without a control plane", r.Status)
	}
	b.reports.serve(t, b.AgentURL()[len("http://"):])
	first := b.plan(t, nil)
	b.waitInForce(t, first, 1)
	b.control = startControl(t, ports[0], nil)
	second := b.plan(t, weight(5))
	b.control.SetPlan(second)
	b.setEndpoints()
	b.waitInForce(t, second, 1)
}

// weight edits a configuration so that its plan is another.
func weight(w float64) func(*config.Config) {
	return func(c *config.Config) { c.Profiles[0].Scorers[0].Weight = w }
}

// workers is how many workers an Envoy has that is sent plans under load.
const workers = 2

// TestUnderLoad sends plans while requests are served.
func TestUnderLoad(t *testing.T) {
	b := start(t, 3, harness.Options{Concurrency: workers})
	b.setEndpoints()
	t.Run("plans reach all workers", func(t *testing.T) { plansReach(t, b) })
	t.Run("modes switch", func(t *testing.T) { modesSwitch(t, b) })
}

// plansReach edits the plan. No request may fail, and every worker has to follow.
func plansReach(t *testing.T, b *bed) {
	l := startLoad(t, b.URL(), 8)
	for i := range 5 {
		p := b.plan(t, weight(float64(i+10)))
		b.control.SetPlan(p)
		b.waitInForce(t, p, workers)
		b.control.waitAcked(t, p)
		l.more(t, 50)
	}
	if bad := l.end(); len(bad) != 0 {
		t.Errorf("%d of %d requests failed: %q", len(bad), l.count(), bad[0])
	}
}

// TestRefusedPlans sends plans that the module cannot run. The one before stays in force, requests go on, and the control
// plane says why.
func TestRefusedPlans(t *testing.T) {
	b := start(t, 2, harness.Options{Concurrency: 1})
	b.setEndpoints()
	good := b.plan(t, weight(7))
	b.control.SetPlan(good)
	b.waitInForce(t, good, 1)
	l := startLoad(t, b.URL(), 4)
	tests := []struct {
		name string
		edit func(*plan.Plan)
		why  string // what the filter says in Envoy's log
	}{
		{
			"unknown plugin type", func(p *plan.Plan) { p.Plugins = append(p.Plugins, plan.Plugin{Name: "x", Type: "no-such-scorer"}) },
			`plugin type "no-such-scorer" is not registered`,
		},
		{
			"newer than the module", func(p *plan.Plan) { p.Version = plan.Version + 1 },
			fmt.Sprintf("this plan has version %d, which needs a newer zerohop.wasm", plan.Version+1),
		},
	}
	for i, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := b.plan(t, weight(float64(20+i)))
			tt.edit(p)
			b.control.SetPlan(p)
			n := b.control.waitNode(t, "the refusal", func(n controlplane.NodeStatus) bool { return n.Rejects() && n.Plan.Sent == p.Revision })
			if nack := n.Plan.Nack; !strings.Contains(nack.Reason, "Wasm plugin zerohop") {
				t.Errorf("refusal %+v", nack)
			}
			if n.Plan.Acked != good.Revision {
				t.Errorf("accepted is %s, want %s", n.Plan.Acked, good.Revision)
			}
			if log := b.envoyLog(); !strings.Contains(log, tt.why) {
				t.Errorf("Envoy's log lacks %q:\n%s", tt.why, log)
			}
			l.more(t, 50)
			b.waitInForce(t, good, 1)
		})
	}
	if got := b.control.Refusals()["zerohop"]; got != uint64(len(tests)) {
		t.Errorf("%d refusals counted, want %d", got, len(tests))
	}
	// A refusal is not the end: the next plan is taken.
	next := b.plan(t, weight(8))
	b.control.SetPlan(next)
	b.waitInForce(t, next, 1)
	if bad := l.end(); len(bad) != 0 {
		t.Errorf("%d of %d requests failed: %q", len(bad), l.count(), bad[0])
	}
}

// TestControlPlaneRestart takes the control plane away and brings another one, with another plan, to the same address.
func TestControlPlaneRestart(t *testing.T) {
	b := start(t, 2, harness.Options{})
	b.setEndpoints()
	first := b.plan(t, weight(7))
	b.control.SetPlan(first)
	b.waitInForce(t, first, 1)
	l := startLoad(t, b.URL(), 4)
	b.control.stop()
	l.more(t, 100)
	b.control = startControl(t, b.control.address, nil)
	second := b.plan(t, weight(8))
	b.control.SetPlan(second)
	b.setEndpoints()
	b.waitInForce(t, second, 1)
	l.more(t, 100)
	if bad := l.end(); len(bad) != 0 {
		t.Errorf("%d of %d requests failed: %q", len(bad), l.count(), bad[0])
	}
}

// TestSeveralEnvoys connects two Envoys of different groups to one control plane.
func TestSeveralEnvoys(t *testing.T) {
	b := start(t, 2, harness.Options{NodeID: "first", NodeCluster: "east"})
	b.setEndpoints()
	ctx, cancel := contextWithPatience()
	defer cancel()
	if _, err := b.AddEnvoy(ctx, "second", "west"); err != nil {
		t.Fatal(err)
	}
	p := b.plan(t, weight(7))
	b.control.SetPlan(p)
	traffic.Until(t, "both to accept", func() error {
		var got []string
		for _, n := range b.control.Nodes() {
			if n.Plan.Acked == p.Revision && n.Endpoints.Acked != "" {
				got = append(got, n.Group+"/"+n.ID+" "+n.Envoy)
			}
		}
		return equal(strings.Join(got, ", "), "east/first "+harness.EnvoyVersion+", west/second "+harness.EnvoyVersion)
	})
	bad := b.plan(t, func(c *config.Config) { c.Plugins[0].Type = "no-such-scorer" })
	b.control.SetPlan(bad)
	traffic.Until(t, "both to refuse", func() error {
		r := b.control.Refusals()
		if r["east"] != 1 || r["west"] != 1 {
			return equal(r, map[string]uint64{"east": 1, "west": 1})
		}
		return nil
	})
}

// envoyLog returns what Envoy has logged.
func (b *bed) envoyLog() string {
	var log strings.Builder
	b.Envoy.WriteLog(&log)
	return log.String()
}

// TestModuleIsNotNamed runs an Envoy whose bootstrap does not say where the module is: it is told of, and serves by its bootstrap.
func TestModuleIsNotNamed(t *testing.T) {
	b := start(t, 2, harness.Options{Edit: func(bootstrap []byte) ([]byte, error) {
		edited := regexp.MustCompile(`(?m)^  metadata:\n    zerohop: .*\n`).ReplaceAll(bootstrap, nil)
		if bytes.Equal(edited, bootstrap) {
			return nil, errors.New("the bootstrap has no metadata")
		}
		return edited, nil
	}})
	b.setEndpoints()
	b.control.SetPlan(b.plan(t, weight(7)))
	n := b.control.waitNode(t, "what it lacks", func(n controlplane.NodeStatus) bool { return n.Lacks != "" && n.Endpoints.Acked != "" })
	if !n.Rejects() || n.Plan.Sent != "" {
		t.Errorf("%+v", n)
	}
	if r := b.Do(t, traffic.Request{Body: []byte(chat)}); r.Status != 200 {
		t.Errorf("status %d: %s", r.Status, r.Body)
	}
}
