package failures

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/zerohop/zerohop/e2e/harness"
	"github.com/zerohop/zerohop/e2e/traffic"
	"github.com/zerohop/zerohop/shared/names"
	"github.com/zerohop/zerohop/shared/plan"
)

// TestNoEndpoints starts Envoy with a plan that has no endpoints, and without the agent. The failure mode says what becomes
// of requests, until the agent comes.
func TestNoEndpoints(t *testing.T) {
	traffic.EachMode(t, func(t *testing.T, mode string) {
		t.Run(plan.FailClose, func(t *testing.T) { noEndpoints(t, mode, plan.FailClose, refused) })
		t.Run(plan.FailOpen, func(t *testing.T) { noEndpoints(t, mode, plan.FailOpen, fellBack) })
	})
}

// planEndpoints matches the list of endpoints in a rendered plan.
var planEndpoints = regexp.MustCompile(`"endpoints": \[(?:[^\[\]]|\[[^\]]*\])*\]`)

func withoutEndpoints(bootstrap []byte) ([]byte, error) {
	if n := len(planEndpoints.FindAll(bootstrap, -1)); n != 1 {
		return nil, fmt.Errorf("%d lists of endpoints in the bootstrap, want 1", n)
	}
	return planEndpoints.ReplaceAll(bootstrap, []byte(`"endpoints": []`)), nil
}

// fallbackName is what the fallback server calls itself.
const fallbackName = "fallback"

func noEndpoints(t *testing.T, mode, failureMode string, check func(*testing.T, *traffic.Bed, *traffic.Response)) {
	leaked := make(chan string, 100)
	fallback := traffic.Backend(t, fallbackName, func(w http.ResponseWriter, r *http.Request) {
		for _, name := range names.Stripped {
			if v := r.Header.Values(name); len(v) != 0 {
				leaked <- fmt.Sprintf("%s: %v", name, v)
			}
		}
		fmt.Fprint(w, fallbackName)
	})
	b := traffic.Start(t, traffic.Options{Sim: traffic.Instant(), Options: harness.Options{
		DestinationMode: mode, FailureMode: failureMode, Fallback: []string{fallback.Address},
		WithoutAgent: true, Edit: withoutEndpoints,
	}})
	body := traffic.ChatBody("hello")
	requests := []traffic.Request{
		{Body: body},
		{Body: body, HTTP2: true},
		{Body: body, Unsized: true},
		{Body: body, Trailer: http.Header{"X-Late": {"too"}}},
		{Body: body, Trailer: http.Header{"X-Late": {"too"}}, HTTP2: true},
		{Body: []byte("hello")},
		{Method: http.MethodGet, Path: "/v1/models"},
		{Method: http.MethodGet, Path: "/v1/models", HTTP2: true},
	}
	for _, req := range requests {
		r := b.Do(t, req)
		check(t, b, r)
		if p := b.Pick(t, r.ID); p.Endpoint != "-" || p.Reason != "agent_unreachable" || p.Attempts != 0 {
			t.Errorf("picked %+v, want nothing for want of an agent", p)
		}
	}
	b.WaitCounters(t, map[string]float64{"zerohop_fallback_agent_unreachable_total": float64(len(requests))})
	if err := b.StartAgent(t.Context()); err != nil {
		t.Fatal(err)
	}
	traffic.Until(t, "the agent's endpoints", func() error {
		r := b.Do(t, traffic.Request{Body: body})
		if r.Endpoint() == "" {
			return fmt.Errorf("status %d by nobody", r.Status)
		}
		if p := b.Pick(t, r.ID); p.Reason != "scored" || b.Sim(t, p.Endpoint).Name() != r.Endpoint() {
			t.Errorf("served by %s, picked %+v", r.Endpoint(), p)
		}
		return nil
	})
	b.Agree(t)
	select {
	case header := <-leaked:
		t.Errorf("the fallback got %s", header)
	default:
	}
}

// refused checks the answer under FailClose: a reason for machines in a header, one for people in an OpenAI error.
func refused(t *testing.T, b *traffic.Bed, r *traffic.Response) {
	t.Helper()
	var body struct {
		Error struct{ Message, Type, Code string }
	}
	if err := json.Unmarshal(r.Body, &body); err != nil {
		t.Errorf("body %q: %v", r.Body, err)
	}
	if r.Status != http.StatusServiceUnavailable || r.Header.Get(names.HeaderDropReason) != "rejected-agent-unreachable" ||
		r.Header.Get("Content-Type") != "application/json" || body.Error.Code != "agent_unreachable" || body.Error.Message == "" {
		t.Errorf("status %d, headers %v, body %s", r.Status, r.Header, r.Body)
	}
	if got := b.Entry(t, r.ID).String("details"); !strings.Contains(got, "zerohop_agent_unreachable") {
		t.Errorf("the access log gives %q as the reason", got)
	}
}

// fellBack checks the answer under FailOpen.
func fellBack(t *testing.T, _ *traffic.Bed, r *traffic.Response) {
	t.Helper()
	if r.Status != http.StatusOK || string(r.Body) != fallbackName {
		t.Errorf("status %d, body %q, want 200 by the fallback", r.Status, r.Body)
	}
}
