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

// modesSwitch goes through the destination modes by plans alone. No request may fail, and each mode has to use its cluster.
func modesSwitch(t *testing.T, b *bed) {
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
		b.waitInForce(t, p, workers)
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

// TestList goes through what Envoy and the filter do in mode list, on one Envoy.
func TestList(t *testing.T) {
	b := start(t, 4, harness.Options{})
	b.setEndpoints()
	b.control.waitNode(t, "the endpoints", func(n controlplane.NodeStatus) bool { return n.Endpoints.Acked != "" })
	all := b.Sims
	for i, tt := range []struct {
		name  string
		sims  int // that the plan has, and Envoy at first
		retry string
		run   func(t *testing.T, b *bed, sims harness.Sims)
	}{
		{"draining is reachable", 2, plan.RetryUnsent, drainingIsReachable},
		{"list of unknown", 3, plan.RetryUnsent, listOfUnknown},
		{"fallback avoids", 2, plan.RetryUnsent, fallbackAvoids},
		{"removed endpoint finishes", 3, plan.RetryUnsent, removedEndpointFinishes},
		{"goes on", 3, plan.RetryUnanswered, listGoesOn}, // leaves cool-downs
	} {
		t.Run(tt.name, func(t *testing.T) {
			b.Sims = all[:tt.sims]
			b.changeEndpoints(t, b.members())
			b.useList(t, func(c *config.Config) {
				// Another bound makes it another plan: endpoints alone do not.
				c.Zerohop.Bounds.Endpoints, c.Zerohop.Attempts.Retries = 512+i, tt.retry
			})
			b.Sims = all
			tt.run(t, b, all[:tt.sims])
		})
	}
}

// useList makes the plan one with mode list.
func (b *bed) useList(t *testing.T, edit func(*config.Config)) {
	t.Helper()
	p := b.plan(t, func(c *config.Config) {
		c.Zerohop.DestinationMode = plan.DestinationList
		edit(c)
	})
	b.control.SetPlan(p)
	b.waitInForce(t, p, 1)
}

// listGoesOn breaks one endpoint after another. Each request goes down its list, and the endpoint that the filter says
// is the one that served. The model server does not see the list.
func listGoesOn(t *testing.T, b *bed, sims harness.Sims) {
	for broken := range 3 {
		if broken > 0 {
			traffic.Break(t, simserver.Faults{Request: simserver.RequestFault{Mode: simserver.RequestStatus, Status: 503}}, sims[broken-1])
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

// listOfUnknown sends a list of which Envoy does not know the first: EDS is behind, as when an endpoint has just come.
func listOfUnknown(t *testing.T, b *bed, sims harness.Sims) {
	b.changeEndpoints(t, []controlplane.Endpoint{{Address: sims[2].Addr()}})
	b.served(t, 12, sims[2].Name())
}

// fallbackAvoids checks what Envoy offers its fallback: not a draining endpoint, not one that is said to be unhealthy. Envoy knows
// the endpoints 2 and 3 only, and the plan 0 and 1, so that every request falls back.
func fallbackAvoids(t *testing.T, b *bed, _ harness.Sims) {
	known := b.Sims
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

// drainingIsReachable checks that the state of an endpoint concerns the fallback alone: what the filter picks is used.
func drainingIsReachable(t *testing.T, b *bed, sims harness.Sims) {
	b.changeEndpoints(t, b.members(controlplane.Draining, controlplane.Unhealthy)[:len(sims)])
	b.served(t, 30, sims[0].Name(), sims[1].Name())
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

// removedEndpointFinishes takes endpoints away from Envoy while they serve: what they serve goes on.
func removedEndpointFinishes(t *testing.T, b *bed, sims harness.Sims) {
	traffic.Break(t, simserver.Faults{Request: simserver.RequestFault{Mode: simserver.RequestHang}}, sims...)
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
	b.changeEndpoints(t, b.members(controlplane.Draining, controlplane.Draining, controlplane.Draining)[:len(sims)])
	b.changeEndpoints(t, []controlplane.Endpoint{{Address: "127.0.0.1:9"}})
	b.Heal(t)
	for range n {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}
