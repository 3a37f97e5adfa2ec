package traffic

import (
	"fmt"
	"testing"

	"github.com/zerohop/zerohop/e2e/harness"
)

// counterPrefix is what Envoy puts before the names of a Wasm module's stats.
const counterPrefix = "wasmcustom."

// FilterStats returns the filter's counters and gauges by the names that the filter gave them.
func (b *Bed) FilterStats(t *testing.T) map[string]float64 {
	t.Helper()
	stats, err := b.Envoy.Stats(t.Context(), "^"+counterPrefix+"zerohop_")
	if err != nil {
		t.Fatal(err)
	}
	got := make(map[string]float64, len(stats))
	for name, v := range stats {
		got[name[len(counterPrefix):]] = v
	}
	return got
}

// WaitCounters waits until the filter's counters are at least as in want. The filter adds what it counted to Envoy's stats
// by tick.
func (b *Bed) WaitCounters(t *testing.T, want map[string]float64) {
	t.Helper()
	Until(t, "counters", func() error {
		got := b.FilterStats(t)
		for name, n := range want {
			if got[name] < n {
				return fmt.Errorf("%s is %g, want %g", name, got[name], n)
			}
		}
		return nil
	})
}

// Idle waits until no request is on its way through Envoy or in a simulated endpoint.
func (b *Bed) Idle(t *testing.T) {
	t.Helper()
	Until(t, "no request in flight", func() error {
		if n, stats := b.inFlight(t); n != 0 {
			return fmt.Errorf("%g in flight: %v", n, stats)
		}
		return nil
	})
}

// Busy waits until a request is on its way through Envoy.
func (b *Bed) Busy(t *testing.T) {
	t.Helper()
	Until(t, "a request in flight", func() error {
		if n, stats := b.inFlight(t); n == 0 {
			return fmt.Errorf("none in flight: %v", stats)
		}
		return nil
	})
}

// inFlight sums up who is busy, but for the admin interface, the long poll and the stream from the agent.
func (b *Bed) inFlight(t *testing.T) (n float64, stats harness.Stats) {
	t.Helper()
	stats, err := b.Envoy.Stats(t.Context(), `_rq_active$`)
	if err != nil {
		t.Fatal(err)
	}
	for name, v := range stats {
		switch name {
		case "http.admin.downstream_rq_active", "cluster.zerohop_agent.upstream_rq_active", "cluster.zerohop_xds.upstream_rq_active":
		default:
			n += v
		}
	}
	for _, sim := range b.Sims {
		st := sim.Stats()
		n += float64(st.InFlight) + float64(st.Running) + float64(st.Waiting)
	}
	return n, stats
}
