package controlplane

import (
	"fmt"
	"net/http"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zerohop/zerohop/e2e/harness"
	"github.com/zerohop/zerohop/e2e/traffic"
	"github.com/zerohop/zerohop/e2e/vllmsim/simserver"
	"github.com/zerohop/zerohop/shared/names"
	"github.com/zerohop/zerohop/shared/plan"
	"github.com/zerohop/zerohop/xds/config"
	"github.com/zerohop/zerohop/xds/controlplane"
)

// TestModesSwitchUnderLoad goes through the destination modes by plans alone. No request may fail, and each mode has to use
// its cluster.
func TestModesSwitchUnderLoad(t *testing.T) {
	b := start(t, 3, harness.Options{Concurrency: 2})
	b.setEndpoints()
	l := startLoad(t, b.URL(), 8)
	modes := []struct{ mode, cluster string }{
		{plan.DestinationHeader, "zerohop_destination"},
		{plan.DestinationFilterState, "zerohop_destination"},
		{plan.DestinationList, "zerohop_endpoints"},
		{plan.DestinationHeader, "zerohop_destination"},
		{plan.DestinationList, "zerohop_endpoints"},
		{plan.DestinationFilterState, "zerohop_destination"},
	}
	for _, m := range modes {
		p := b.plan(t, inMode(m.mode))
		b.control.SetPlan(p)
		b.waitInForce(t, p, 2)
		l.more(t, 100)
		r := b.Do(t, traffic.Request{Body: []byte(chat)})
		if e := b.Entry(t, r.ID); r.Status != 200 || e.String("cluster") != m.cluster {
			t.Errorf("mode %s: status %d from cluster %s, want %s", m.mode, r.Status, e.String("cluster"), m.cluster)
		}
	}
	if bad := l.end(); len(bad) != 0 {
		t.Errorf("%d of %d requests failed: %q", len(bad), l.count(), bad[0])
	}
}

// listed starts a bed in mode list with n endpoints.
func listed(t *testing.T, n int, edit func(*config.Config)) *bed {
	t.Helper()
	b := start(t, n, harness.Options{})
	b.setEndpoints()
	b.control.waitNode(t, "the endpoints", func(n controlplane.NodeStatus) bool { return n.Endpoints.Acked != "" })
	b.useList(t, edit)
	return b
}

// useList makes the plan one with mode list.
func (b *bed) useList(t *testing.T, edit func(*config.Config)) {
	t.Helper()
	p := b.plan(t, func(c *config.Config) {
		c.Zerohop.DestinationMode = plan.DestinationList
		if edit != nil {
			edit(c)
		}
	})
	b.control.SetPlan(p)
	b.waitInForce(t, p, 1)
}

// TestListGoesOn breaks one endpoint after another. Each request goes down its list, and the endpoint that the filter says
// is the one that served. The model server does not see the list.
func TestListGoesOn(t *testing.T) {
	b := listed(t, 3, func(c *config.Config) { c.Zerohop.Attempts.Retries = plan.RetryUnanswered })
	for broken := range 3 {
		if broken > 0 {
			traffic.Break(t, simserver.Faults{Request: simserver.RequestFault{Mode: simserver.RequestStatus, Status: 503}}, b.Sims[broken-1])
		}
		for range 20 {
			r := b.Do(t, traffic.Request{Body: []byte(chat)})
			if r.Status != 200 {
				t.Fatalf("status %d with %d broken endpoints", r.Status, broken)
			}
			p := b.Pick(t, r.ID)
			if sim := b.Sim(t, p.Endpoint); sim.Name() != r.Endpoint() {
				t.Errorf("the filter says %s served, it was %s", sim.Name(), r.Endpoint())
			}
			arrived := b.Arrivals(r.ID)
			if len(arrived) != p.Attempts {
				t.Errorf("%d attempts arrived, the filter says %d", len(arrived), p.Attempts)
			}
			for _, a := range arrived {
				if got := a.Headers.Get(names.HeaderDestination); got != "" {
					t.Errorf("the model server sees the list %q", got)
				}
			}
		}
	}
	b.Heal(t)
}

// TestListOfUnknown sends a list of which Envoy does not know the first: EDS is behind, as when an endpoint has just come.
func TestListOfUnknown(t *testing.T) {
	b := listed(t, 3, nil)
	b.changeEndpoints(t, []controlplane.Endpoint{{Address: b.Sims[2].Addr()}})
	b.served(t, 12, b.Sims[2].Name())
}

// TestFallbackAvoids checks what Envoy offers its fallback: not a draining endpoint, not one that is said to be unhealthy.
// Envoy knows the endpoints 2 and 3 only, and the plan 0 and 1, so that every request falls back.
func TestFallbackAvoids(t *testing.T) {
	b := listed(t, 4, nil)
	known := b.Sims
	b.Sims = known[:2]
	// Another bound makes it another plan: endpoints alone do not.
	b.useList(t, func(c *config.Config) { c.Zerohop.Bounds.Endpoints = 512 })
	b.Sims = known
	for _, tt := range []struct {
		name   string
		health controlplane.Health
		want   []string
	}{
		{"healthy", controlplane.Healthy, []string{known[2].Name(), known[3].Name()}},
		{"draining", controlplane.Draining, []string{known[2].Name()}},
		{"unhealthy", controlplane.Unhealthy, []string{known[2].Name()}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b.changeEndpoints(t, []controlplane.Endpoint{{Address: known[2].Addr()}, {Address: known[3].Addr(), Health: tt.health}})
			b.served(t, 16, tt.want...)
		})
	}
}

// TestDrainingIsReachable checks that the state of an endpoint concerns the fallback alone: what the filter picks is used.
func TestDrainingIsReachable(t *testing.T) {
	b := listed(t, 2, nil)
	b.changeEndpoints(t, b.members(controlplane.Draining, controlplane.Unhealthy))
	b.served(t, 30, b.Sims[0].Name(), b.Sims[1].Name())
}

// served sends n requests and checks who answers. Envoy says that it has endpoints just before its workers have them, so that
// the check may be early once.
func (b *bed) served(t *testing.T, n int, want ...string) {
	t.Helper()
	if d := cmp.Diff(want, b.servers(t, n)); d == "" {
		return
	}
	if d := cmp.Diff(want, b.servers(t, n)); d != "" {
		t.Error(d)
	}
}

// servers sends n requests and returns who answered, sorted. All have to be answered.
func (b *bed) servers(t *testing.T, n int) []string {
	t.Helper()
	var names []string
	for range n {
		r := b.Do(t, traffic.Request{Body: []byte(chat)})
		if r.Status != 200 {
			t.Fatalf("status %d: %s", r.Status, r.Body)
		}
		names = append(names, r.Endpoint())
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// TestRemovedEndpointFinishes takes endpoints away from Envoy while they serve: what they serve goes on.
func TestRemovedEndpointFinishes(t *testing.T) {
	b := listed(t, 3, nil)
	traffic.Break(t, simserver.Faults{Request: simserver.RequestFault{Mode: simserver.RequestHang}}, b.Sims...)
	const n = 6
	ended := make(chan error, n)
	for range n {
		go func() { ended <- ask(http.DefaultClient, b.URL()) }()
	}
	traffic.Until(t, "the requests to arrive", func() error {
		var got uint64
		for _, sim := range b.Sims {
			got += uint64(sim.Stats().InFlight)
		}
		if got != n {
			return fmt.Errorf("%d of %d", got, n)
		}
		return nil
	})
	b.changeEndpoints(t, b.members(controlplane.Draining, controlplane.Draining, controlplane.Draining))
	b.changeEndpoints(t, []controlplane.Endpoint{{Address: "127.0.0.1:9"}})
	b.Heal(t)
	for range n {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}
