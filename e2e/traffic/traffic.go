// Package traffic holds what the tests in its folders share: a bed of a real Envoy with simulated or scripted endpoints,
// clients that speak HTTP/1.1 and HTTP/2 down to single frames, and a reader of what Envoy's access log says about the
// pick. Each folder is a package of tests, named after what it shows:
//
//	bodies     request bodies of any size, framing and content arrive unchanged and are understood as they should be
//	steering   no client decides where its request goes, and no endpoint sees what is ours
//	failures   endpoints, agent and filter fail, and requests go on as the failure rules say
//	listed     in destination mode list Envoy retries by the list, and the filter knows who served
//	reports    what workers did reaches the agent
//	explained  picks are explained to whom it may be
//	responses  answers pass as they are, and clients that leave leave nothing behind
//
// Starting an Envoy compiles the module for about three seconds, so tests share a bed where they can.
package traffic

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/zerohop/zerohop/e2e/harness"
	"github.com/zerohop/zerohop/e2e/vllmsim/simserver"
	"github.com/zerohop/zerohop/shared/plan"
)

// patience bounds every wait. It is far above what anything takes, and only reached by a failing test.
const patience = 30 * time.Second

// The paths of the two dialects.
const (
	PathChat        = "/v1/chat/completions"
	PathCompletions = "/v1/completions"
)

// Bed is a stack with its endpoints and clients. Its methods fail the test that they are given, which may be a subtest.
type Bed struct {
	*harness.Stack
	Sims harness.Sims // empty if the options name other endpoints

	h1, h2 *client
}

// Options describe a bed. The zero value is three simulated endpoints that answer at once, in header mode.
type Options struct {
	harness.Options                  // Endpoints, if any, replace the simulated ones
	Sims            int              // 0 means 3
	Sim             simserver.Config // of each simulated endpoint
}

// Start starts a bed for t.
func Start(t *testing.T, o Options) *Bed {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a real Envoy")
	}
	b := &Bed{h1: newClient(t, false), h2: newClient(t, true)}
	if o.Endpoints == nil {
		if o.Sims == 0 {
			o.Sims = 3
		}
		b.Sims = harness.SimsForTest(t, o.Sims, o.Sim)
		o.Endpoints = b.Sims.Endpoints()
	}
	b.Stack = harness.ForTest(t, o.Options)
	return b
}

// Instant configures simulated endpoints that take any body and keep a record of what arrived.
func Instant() simserver.Config { return simserver.Config{Instant: true, Records: 4096} }

// EachMode runs f as a subtest for each way of telling Envoy the destination.
func EachMode(t *testing.T, f func(t *testing.T, mode string)) {
	t.Helper()
	for _, mode := range []string{plan.DestinationHeader, plan.DestinationFilterState, plan.DestinationList} {
		t.Run(mode, func(t *testing.T) { f(t, mode) })
	}
}

// Until waits until ok returns nil, and fails the test if that takes unreasonably long.
func Until(t *testing.T, what string, ok func() error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := harness.Until(ctx, what, ok); err != nil {
		t.Fatal(err)
	}
}

// Receive waits for what happens, and fails the test if that takes unreasonably long.
func Receive(t *testing.T, what string, from <-chan struct{}) {
	t.Helper()
	select {
	case <-from:
	case <-time.After(patience):
		t.Fatalf("wait for %s: not within %v", what, patience)
	}
}

// Arrival is one request as a simulated endpoint got it.
type Arrival struct {
	Sim *simserver.Server
	simserver.Record
}

// Arrivals returns the requests with this id that reached simulated endpoints, retries included, endpoint by endpoint.
func (b *Bed) Arrivals(id string) []Arrival {
	var got []Arrival
	for _, sim := range b.Sims {
		for _, r := range sim.Records() {
			if strings.HasSuffix(r.Path, "?id="+id) {
				got = append(got, Arrival{sim, r})
			}
		}
	}
	return got
}

// Sim returns the simulated endpoint at an address.
func (b *Bed) Sim(t *testing.T, addr string) *simserver.Server {
	t.Helper()
	for _, sim := range b.Sims {
		if sim.Addr() == addr {
			return sim
		}
	}
	t.Fatalf("no simulated endpoint has address %q", addr)
	return nil
}

// Break makes endpoints fail as f says until Heal.
func Break(t *testing.T, f simserver.Faults, sims ...*simserver.Server) {
	t.Helper()
	for _, s := range sims {
		if err := s.SetFaults(f); err != nil {
			t.Fatal(err)
		}
	}
}

// Heal ends all faults of the simulated endpoints.
func (b *Bed) Heal(t *testing.T) {
	t.Helper()
	Break(t, simserver.Faults{}, b.Sims...)
}
