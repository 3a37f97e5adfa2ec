package controlplane

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/zerohop/zerohop/e2e/harness"
	"github.com/zerohop/zerohop/e2e/traffic"
	"github.com/zerohop/zerohop/shared/names"
	"github.com/zerohop/zerohop/shared/plan"
	"github.com/zerohop/zerohop/xds/config"
)

// oldAfter is how old a snapshot may become in TestOldSnapshot: less than a configuration may say, so that it is soon over, and more
// than the two seconds after which an agent without news confirms what it sent.
const oldAfter = 4 * time.Second

// fellBackTo is what the fallback server answers.
const fellBackTo = "fallback"

// TestOldSnapshot takes the agent away for longer than its endpoints may be used: the failure mode says what becomes of requests,
// until the agent is back. Once it is dead, and once it hangs and keeps its connections.
func TestOldSnapshot(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a real Envoy")
	}
	fallback := traffic.Backend(t, fellBackTo, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, fellBackTo) })
	b := &bed{control: startControl(t, "", nil)}
	b.Bed = traffic.Start(t, traffic.Options{Sims: 2, Sim: traffic.Instant(), Options: harness.Options{
		ControlPlane: b.control.address, Fallback: []string{fallback.Address}, // the agent's own plan is never asked for
	}})
	b.setEndpoints()
	tests := []struct {
		mode     string
		away     func() error
		back     func() error
		answered func(*testing.T, *bed, *traffic.Response)
	}{
		{
			plan.FailClose,
			func() error { b.Agent.Kill(); return nil },
			func() error { return b.StartAgent(t.Context()) },
			refusedAsOld,
		},
		{plan.FailOpen, func() error { return b.Agent.Pause() }, func() error { return b.Agent.Resume() }, fellBackAsOld},
	}
	for i, tt := range tests {
		t.Run(tt.mode, func(t *testing.T) {
			p := b.plan(t, func(c *config.Config) {
				c.Zerohop.FailureMode, c.Zerohop.Agent.MaxSnapshotAge = tt.mode, oldAfter
			})
			b.control.SetPlan(p)
			b.waitReported(t, p)
			b.inUse(t)
			away := time.Now()
			if err := tt.away(); err != nil {
				t.Fatal(err)
			}
			r := b.waitOld(t, away)
			tt.answered(t, b, r)
			if d := b.Entry(t, r.ID).String("details"); tt.mode == plan.FailClose && !strings.Contains(d, "zerohop_snapshot_too_old") {
				t.Errorf("the access log gives %q as the reason", d)
			}
			b.WaitCounters(t, map[string]float64{"zerohop_fallback_snapshot_too_old_total": float64(i + 1)})
			if err := tt.back(); err != nil {
				t.Fatal(err)
			}
			b.inUse(t)
		})
	}
	b.Agree(t)
}

// waitReported waits until the agent knows of every VM that it runs p.
func (b *bed) waitReported(t *testing.T, p *plan.Plan) {
	t.Helper()
	traffic.Until(t, "the plan at all workers", func() error {
		st, err := agentStatus(b.AgentURL())
		if err != nil {
			return err
		}
		for _, n := range st.Nodes {
			for _, w := range n.Workers {
				if w.Revision != p.Revision {
					return fmt.Errorf("a worker has %s, not %s", w.Revision, p.Revision)
				}
			}
			if len(n.Workers) == 2 {
				return nil
			}
		}
		return fmt.Errorf("nodes are %+v", st.Nodes)
	})
}

// inUse waits until requests are served by the endpoints.
func (b *bed) inUse(t *testing.T) {
	t.Helper()
	traffic.Until(t, "the endpoints to be used", func() error {
		r := b.Do(t, traffic.Request{Body: []byte(chat)})
		if p := b.Pick(t, r.ID); r.Status != http.StatusOK || r.Endpoint() == "" || p.Reason != "scored" {
			return fmt.Errorf("status %d by %q, picked %+v", r.Status, r.Endpoint(), p)
		}
		return nil
	})
}

// waitOld sends requests until the endpoints are too old to be used, which is not to be before oldAfter, and returns the answer to
// the first that says so.
func (b *bed) waitOld(t *testing.T, away time.Time) *traffic.Response {
	t.Helper()
	var r *traffic.Response
	traffic.Until(t, "the endpoints to be too old", func() error {
		r = b.Do(t, traffic.Request{Body: []byte(chat)})
		p := b.Pick(t, r.ID)
		if p.Reason == "snapshot_too_old" && p.Endpoint == "-" && p.Attempts == 0 {
			return nil
		}
		if r.Status != http.StatusOK || r.Endpoint() == "" {
			t.Errorf("status %d by %q, picked %+v, while the endpoints may be used", r.Status, r.Endpoint(), p)
		}
		return fmt.Errorf("picked %+v", p)
	})
	// The last answer of the agent may be as old as the longest wait for news.
	if d, least := time.Since(away), oldAfter-2*time.Second; d < least {
		t.Errorf("too old after %v, want %v at least", d, least)
	}
	return r
}

// refusedAsOld checks the answer under FailClose: a reason for machines in a header, one for people in an OpenAI error.
func refusedAsOld(t *testing.T, _ *bed, r *traffic.Response) {
	t.Helper()
	var body struct {
		Error struct{ Message, Type, Code string }
	}
	if err := json.Unmarshal(r.Body, &body); err != nil {
		t.Errorf("body %q: %v", r.Body, err)
	}
	if r.Status != http.StatusServiceUnavailable || r.Header.Get(names.HeaderDropReason) != "rejected-snapshot-too-old" ||
		r.Header.Get("Content-Type") != "application/json" || body.Error.Code != "snapshot_too_old" || body.Error.Message == "" || body.Error.Type == "" {
		t.Errorf("status %d, headers %v, body %s", r.Status, r.Header, r.Body)
	}
}

// fellBackAsOld checks the answer under FailOpen.
func fellBackAsOld(t *testing.T, _ *bed, r *traffic.Response) {
	t.Helper()
	if r.Status != http.StatusOK || string(r.Body) != fellBackTo {
		t.Errorf("status %d, body %q, want 200 by the fallback", r.Status, r.Body)
	}
}
