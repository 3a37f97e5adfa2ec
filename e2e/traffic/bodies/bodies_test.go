// Package bodies shows on a real Envoy that request bodies of any size, framing and content reach an endpoint byte for byte,
// and are understood as they should be.
package bodies

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/zerohop/zerohop/e2e/harness"
	"github.com/zerohop/zerohop/e2e/traffic"
)

// TestBodies runs all of this package on one Envoy per destination mode, and compares the counters with the access log at
// the end.
func TestBodies(t *testing.T) {
	traffic.EachMode(t, func(t *testing.T, mode string) {
		b := traffic.Start(t, traffic.Options{Options: harness.Options{DestinationMode: mode}, Sim: traffic.Instant()})
		t.Run("framing", func(t *testing.T) { framing(t, b) })
		t.Run("content", func(t *testing.T) { content(t, b) })
		t.Run("identity", func(t *testing.T) { identity(t, b) })
		t.Run("limit", func(t *testing.T) { limit(t, b) })
		t.Run("prefix", func(t *testing.T) { prefix(t, b) })
		t.Run("stats", func(t *testing.T) { stats(t, b) })
	})
}

// stats looks at what no single request shows. All endpoints are healthy, and no client sent anything of ours.
func stats(t *testing.T, b *traffic.Bed) {
	b.Agree(t)
	got := b.FilterStats(t)
	for name, want := range map[string]float64{
		"zerohop_endpoints": float64(len(b.Sims)), "zerohop_leases_total": 1, "zerohop_snapshot_errors_total": 0,
		"zerohop_poll_errors_total": 0, "zerohop_cooldowns_total": 0, "zerohop_retries_total": 0,
		"zerohop_stripped_requests_total": 0, "zerohop_overflow_endpoints": 0,
	} {
		if v, ok := got[name]; !ok || v != want {
			t.Errorf("%s is %g (known: %v), want %g", name, v, ok, want)
		}
	}
	if got["zerohop_snapshots_total"] == 0 || got["zerohop_body_bytes_total"] < maxBody {
		t.Errorf("no snapshots or no bodies: %v", got)
	}
	want := fmt.Sprintf("zerohop_decision_us_count{} %g\n", got["zerohop_picks_total"])
	traffic.Until(t, "all decision times", func() error { // Envoy adds up histograms every five seconds
		page, err := b.Envoy.AdminGet(t.Context(), "/stats/prometheus?usedonly&filter=zerohop_decision_us")
		if err == nil && !strings.Contains(string(page), want) {
			err = fmt.Errorf("want %q in\n%s", want, page)
		}
		return err
	})
}

// served checks that one endpoint answered the request, got this body, and was picked for this reason.
func served(t *testing.T, b *traffic.Bed, r *traffic.Response, body []byte, reason string) traffic.Pick {
	t.Helper()
	if r.Status != http.StatusOK {
		t.Fatalf("status %d, want 200: %.300s", r.Status, r.Body)
	}
	arrived(t, b, r.ID, body)
	p := b.Pick(t, r.ID)
	if p.Reason != reason {
		t.Errorf("reason %s, want %s", p.Reason, reason)
	}
	if got := b.Sim(t, p.Endpoint).Name(); got != r.Endpoint() {
		t.Errorf("the access log says %s, but %s answered", got, r.Endpoint())
	}
	if p.Attempts != 1 {
		t.Errorf("%d attempts, want 1", p.Attempts)
	}
	return p
}

// arrived checks that exactly one request with this id reached an endpoint, with this body.
func arrived(t *testing.T, b *traffic.Bed, id string, body []byte) {
	t.Helper()
	got := b.Arrivals(id)
	if len(got) != 1 {
		t.Fatalf("%d requests arrived, want 1", len(got))
	}
	if got[0].BodyLength != len(body) || got[0].BodySHA256 != traffic.Sum(body) {
		t.Errorf("%d bytes with sum %s arrived, want %d with %s", got[0].BodyLength, got[0].BodySHA256, len(body), traffic.Sum(body))
	}
}
