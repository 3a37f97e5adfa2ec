package controlplane

import (
	"bytes"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/zerohop/zerohop/e2e/harness"
	"github.com/zerohop/zerohop/e2e/traffic"
	"github.com/zerohop/zerohop/shared/names"
	"github.com/zerohop/zerohop/shared/plan"
	"github.com/zerohop/zerohop/xds/controlplane"
)

// planEndpoints matches the list of endpoints in a rendered plan.
var planEndpoints = regexp.MustCompile(`"endpoints": \[(?:[^\[\]]|\[[^\]]*\])*\]`)

func withoutEndpoints(bootstrap []byte) ([]byte, error) {
	if n := len(planEndpoints.FindAll(bootstrap, -1)); n != 1 {
		return nil, fmt.Errorf("%d lists of endpoints in the bootstrap, want 1", n)
	}
	return planEndpoints.ReplaceAll(bootstrap, []byte(`"endpoints": []`)), nil
}

// TestBootstrapWithRefusedPlan checks that Envoy does not start on a plan that the module cannot run, and says why.
func TestBootstrapWithRefusedPlan(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a real Envoy")
	}
	s, err := harness.Start(t.Context(), harness.Options{
		Endpoints: []harness.Endpoint{{Name: "a", Address: "127.0.0.1:1"}}, WithoutAgent: true,
		Edit: func(b []byte) ([]byte, error) {
			return bytes.Replace(b, []byte(`"version": 1,`), []byte(`"version": 99,`), 1), nil
		},
	})
	if err == nil {
		s.Close()
		t.Fatal("Envoy started")
	}
	if !strings.Contains(err.Error(), "this plan has version 99, which needs a newer zerohop.wasm") {
		t.Errorf("%v", err)
	}
}

// TestRefusedPlanKeepsFailureMode sends as the first plan one that the module cannot run, and that has the other failure mode: the
// one in the bootstrap holds.
func TestRefusedPlanKeepsFailureMode(t *testing.T) {
	for _, tt := range []struct{ mode, other string }{{plan.FailClose, plan.FailOpen}, {plan.FailOpen, plan.FailClose}} {
		t.Run(tt.mode, func(t *testing.T) {
			fallback := traffic.Backend(t, "fallback", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "fallback") })
			b := start(t, 1, harness.Options{
				Concurrency: 1, FailureMode: tt.mode, Fallback: []string{fallback.Address}, Edit: withoutEndpoints,
			})
			check := func(when string) {
				t.Helper()
				r := b.Do(t, traffic.Request{Body: []byte(chat)})
				reason := r.Header.Get(names.HeaderDropReason)
				if tt.mode == plan.FailOpen && (r.Status != http.StatusOK || string(r.Body) != "fallback") ||
					tt.mode == plan.FailClose && (r.Status != http.StatusServiceUnavailable || !strings.HasPrefix(reason, "rejected-")) {
					t.Errorf("%s: status %d, reason %q, body %q", when, r.Status, reason, r.Body)
				}
			}
			check("before a plan")
			p := b.plan(t, weight(20))
			p.FailureMode = tt.other
			p.Plugins = append(p.Plugins, plan.Plugin{Name: "x", Type: "no-such-scorer"})
			b.control.SetPlan(p)
			b.control.waitNode(t, "the refusal", func(n controlplane.NodeStatus) bool { return n.Rejects() && n.Plan.Sent == p.Revision })
			check("after a plan that was refused")
		})
	}
}
