package policies

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/zerohop/zerohop/e2e/harness"
	"github.com/zerohop/zerohop/e2e/traffic"
	"github.com/zerohop/zerohop/e2e/vllmsim/simserver"
)

// TestRetriesStayWhereLabelsAllow makes the endpoints fail that may decode. No attempt goes to the one that may not, though it is
// idle and well.
func TestRetriesStayWhereLabelsAllow(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a real Envoy")
	}
	traffic.EachMode(t, func(t *testing.T, mode string) {
		servers := harness.SimsForTest(t, sims, traffic.Instant())
		endpoints := servers.Endpoints()
		for i, role := range []string{"decode", "both", "prefill"} {
			endpoints[i].Labels = map[string]string{"llm-d.ai/role": role}
		}
		b := traffic.Start(t, traffic.Options{Options: harness.Options{
			ConfigFile: "e2e/policies/testdata/roles.yaml", Endpoints: endpoints, DestinationMode: mode,
		}})
		b.Sims = servers
		request := traffic.Request{Body: traffic.ChatBody("hello")}
		traffic.Until(t, "the labels to arrive", func() error {
			if _, pick := send(t, b, request); pick.Left != 2 {
				return fmt.Errorf("%d endpoints left", pick.Left)
			}
			return nil
		})
		before := servers[2].Stats().Requests
		fault := simserver.Faults{Request: simserver.RequestFault{Mode: simserver.RequestStatus, Status: http.StatusServiceUnavailable}}
		for i, broken := range [][]*simserver.Server{servers[:1], servers[1:2], servers[:2]} {
			traffic.Break(t, fault, broken...)
			want := http.StatusOK
			if len(broken) == 2 {
				want = http.StatusServiceUnavailable
			}
			for range 6 {
				if resp := b.Do(t, request); resp.Status != want {
					t.Errorf("case %d: status %d by %q, picked %+v, want %d", i, resp.Status, resp.Endpoint(), b.Pick(t, resp.ID), want)
				}
			}
			b.Heal(t)
		}
		if n := servers[2].Stats().Requests - before; n != 0 {
			t.Errorf("%d attempts went to the endpoint for prefill", n)
		}
	})
}
