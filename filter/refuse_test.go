package filter

import (
	"strings"
	"testing"

	"github.com/zerohop/zerohop/scorers/sched"
	"github.com/zerohop/zerohop/shared/plan"
)

// refusingHost notes the local answer.
type refusingHost struct {
	*fakeHost
	status        int
	details, body string
	headers       string
	fallback      bool
}

func (h *refusingHost) Respond(status int, details, body string, headers []byte) {
	h.status, h.details, h.body, h.headers = status, details, strings.Clone(body), string(headers)
}

func (h *refusingHost) ReplaceRequestHeader(name string, _ []byte) { h.fallback = true }

// TestRefuse looks at what becomes of a request by outcome, parity and failure mode.
func TestRefuse(t *testing.T) {
	some := func(in *intake) { in.version = 1 }
	never := func(in *intake) { in.version = 0 }
	old := func(in *intake) { in.version, in.old = 1, true }
	tests := []struct {
		name    string
		outcome sched.Reason
		parity  string
		body    bool
		status  int
		code    string
		drop    string
		reason  reason
		always  bool // refused in failure mode FailOpen too
		know    func(*intake)
	}{
		{"no endpoint", sched.NoEndpoint, plan.ParityNone, true, 503, "no_endpoints", "rejected-no-endpoints", reasonNoEndpoints, false, some},
		{"no endpoint and no body", sched.NoEndpoint, plan.ParityNone, false, 503, "no_endpoints", "rejected-no-endpoints", reasonNoEndpoints, false, some},
		{"no endpoint, epp", sched.NoEndpoint, plan.ParityEPP, true, 503, "no_endpoints", "rejected-no-endpoints", reasonNoEndpoints, false, some},
		{"no endpoint and no body, epp", sched.NoEndpoint, plan.ParityEPP, false, 500, "no_endpoints", "", reasonNoEndpoints, false, some},
		{"agent unreachable", sched.NoEndpoint, plan.ParityNone, true, 503, "agent_unreachable", "rejected-agent-unreachable", reasonAgentUnreachable, false, never},
		{"agent unreachable and no body, epp", sched.NoEndpoint, plan.ParityEPP, false, 500, "no_endpoints", "", reasonAgentUnreachable, false, never},
		{"snapshot too old", sched.NoEndpoint, plan.ParityNone, true, 503, "snapshot_too_old", "rejected-snapshot-too-old", reasonSnapshotTooOld, false, old},
		{"filtered out", sched.FilteredOut, plan.ParityNone, true, 429, "no_eligible_endpoint", "rejected-saturated", reasonFilteredOut, false, some},
		{"filtered out, epp", sched.FilteredOut, plan.ParityEPP, true, 429, "no_eligible_endpoint", "rejected-saturated", reasonFilteredOut, false, some},
		{"no profile", sched.NoProfile, plan.ParityNone, true, 429, "no_profile", "rejected-saturated", reasonNoProfile, false, some},
		{"denied", sched.Denied, plan.ParityNone, true, 429, "denied", "rejected-saturated", reasonDenied, true, some},
		{"denied, epp", sched.Denied, plan.ParityEPP, true, 500, "denied", "", reasonDenied, true, some},
	}
	for _, tt := range tests {
		for _, mode := range []string{plan.FailClose, plan.FailOpen} {
			t.Run(tt.name+"/"+mode, func(t *testing.T) {
				v, fake := configured(t)
				h := &refusingHost{fakeHost: fake}
				v.host = h
				v.plan.Parity, v.plan.FailureMode = tt.parity, mode
				ref := v.newStream(10)
				s := &v.streams[ref]
				s.hasBody = tt.body
				tt.know(&v.intake)
				act := v.refuse(s, ref, tt.outcome)
				if s.reason != tt.reason || v.stats.fallback[tt.reason] != 1 {
					t.Errorf("reason %s, counted %d", reasonNames[s.reason], v.stats.fallback[tt.reason])
				}
				if mode == plan.FailOpen && !tt.always {
					if act != Continue || !h.fallback || h.status != 0 || s.phase != phaseDecided {
						t.Errorf("action %d, fallback %v, status %d", act, h.fallback, h.status)
					}
					return
				}
				if act != Pause || h.status != tt.status || h.fallback || s.phase != phaseRefused {
					t.Errorf("action %d, status %d, fallback %v", act, h.status, h.fallback)
				}
				if !strings.Contains(h.body, `"code":"`+tt.code+`"`) || !strings.HasPrefix(h.details, "zerohop_") {
					t.Errorf("details %s, body %s", h.details, h.body)
				}
				if got := strings.Contains(h.headers, "rejected-"); got != (tt.drop != "") || !strings.Contains(h.headers, tt.drop) {
					t.Errorf("headers %q, want reason %q", h.headers, tt.drop)
				}
			})
		}
	}
}
