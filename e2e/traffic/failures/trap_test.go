package failures

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/zerohop/zerohop/e2e/traffic"
)

// trap loses the VM: the request that did it fails, and the filter is there again.
func trap(t *testing.T, b *traffic.Bed) {
	for range 3 {
		r := b.Do(t, traffic.Request{Header: http.Header{traffic.HeaderFault: {traffic.FaultTrap}}, Body: traffic.ChatBody("x")})
		if r.Status != http.StatusServiceUnavailable {
			t.Errorf("status %d, want 503", r.Status)
		}
		var p traffic.Pick
		traffic.Until(t, "the filter to decide again", func() error {
			r := b.Do(t, traffic.Request{Body: traffic.ChatBody(text(600))})
			line := b.Entry(t, r.ID).String("pick")
			if line == "" {
				return fmt.Errorf("status %d without a pick", r.Status)
			}
			var err error
			p, err = traffic.ParsePick(line)
			return err
		})
		if p.Endpoint == "-" {
			t.Errorf("picked %+v: the endpoints are lost", p)
		}
	}
}
