// Package bodies shows on a real Envoy that request bodies of any size, framing and content reach an endpoint byte for byte,
// and are understood as they should be.
package bodies

import (
	"net/http"
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
		t.Run("counters", func(t *testing.T) {
			b.Agree(t)
			if n := b.FilterStats(t)["zerohop_cooldowns_total"]; n != 0 {
				t.Errorf("%g endpoints were cooled down, want none: all are healthy", n)
			}
		})
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
