package lifecycletest

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/zerohop/zerohop/filter/hosttest"
	"github.com/zerohop/zerohop/shared/plan"
	"github.com/zerohop/zerohop/shared/snapshot"
)

// paritySays is what becomes of a body under parity epp: the code of the error, or "" where the EPP serves it too.
var paritySays = []struct {
	name    string
	request hosttest.Request
	code    string
	reason  string
}{
	{"chat", Chat(ChatBody(short)), "", "scored"},
	{"not json", Chat("hello"), "invalid_json", "not_json"},
	{"not an object", chunked(Chat(`["messages"]`), 3), "invalid_json", "not_json"},
	{"empty", emptyEnd(Chat("")), "invalid_json", "not_json"},
	{"only trailers", trailers(Chat("")), "invalid_json", "not_json"},
	{"truncated", Chat(ChatBody(short)[:500]), "invalid_json", "truncated"},
	{"no messages", Chat(`{"model":"m"}`), "missing_prompt", "no_prompt"},
	{"empty messages", Chat(`{"model":"m","messages":[]}`), "missing_prompt", "no_prompt"},
	{"empty prompt", Completions(`{"model":"m","prompt":""}`), "missing_prompt", "no_prompt"},
	{"prompt of lists", Completions(`{"model":"m","prompt":[[1,2],[3,4]]}`), "missing_prompt", "no_prompt"},
	{"no model", trailers(chunked(Chat(`{"messages":[{"role":"user","content":"hi"}]}`), 9)), "missing_model", "no_model"},
	{"empty model", Completions(`{"model":"","prompt":"x"}`), "missing_model", "no_model"},
	{"model of another type", Completions(`{"model":7,"prompt":"x"}`), "missing_model", "no_model"},
	{"deeper than we look", Chat(`{"model":"m","x":` + strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000) + `,"messages":[{"role":"user"}]}`), "", "too_deep"},
	{"model longer than we keep", Completions(`{"model":"` + strings.Repeat("m", 100_000) + `","prompt":"x"}`), "", "field_too_big"},
	{"get", Models(), "", "unknown_path"},
	{"no body", Chat(""), "", "no_body"},
	{"unknown path", post("/v1/embeddings", "{"), "", "unknown_path"},
}

// parityRefusesBodies asserts that under parity epp a body that the EPP refuses gets 400, with or without endpoints, and that
// the plan without parity lets everything pass.
func parityRefusesBodies(t *testing.T, s Subject) {
	for _, tt := range paritySays {
		t.Run(tt.name, func(t *testing.T) {
			eachMode(t, s, 3, func(w *world) {
				w.plan.Parity = plan.ParityEPP
				k := w.worker()
				if tt.code == "" {
					if res := w.do(k, &tt.request, hosttest.ToEndpoint); res.Reason() != tt.reason {
						w.t.Errorf("reason %q, want %q", res.Reason(), tt.reason)
					}
					return
				}
				res := w.do(k, &tt.request, hosttest.ToClient)
				wantError(w.t, res, 400, tt.code)
				if res.Reason() != tt.reason || res.Endpoint() != "-" {
					w.t.Errorf("pick %q, want reason %s", res.Pick, tt.reason)
				}
				w.Run(200 * time.Millisecond)
				w.wantMetric("zerohop_rejected_bodies_total", 1)
				w.wantMetric("zerohop_fallback_"+tt.reason+"_total", 1)
				w.wantMetric("zerohop_picks_total", 0)
			})
		})
	}
}

// wantError asserts an answer in the shape of OpenAI's errors.
func wantError(t *testing.T, res *hosttest.Result, status int, code string) {
	t.Helper()
	if res.Status != status || res.Local == nil {
		t.Fatalf("status %d, local answer %+v; want %d", res.Status, res.Local, status)
	}
	var body struct {
		Error struct {
			Message, Type string
			Param         *string
			Code          string
		}
	}
	if err := json.Unmarshal([]byte(res.Local.Body), &body); err != nil {
		t.Fatalf("body %s: %v", res.Local.Body, err)
	}
	e := body.Error
	if e.Code != code || e.Type != "invalid_request_error" || e.Message == "" || e.Param != nil {
		t.Errorf("error %+v, want code %s", e, code)
	}
	if !strings.Contains(string(res.Local.Headers), "application/json") {
		t.Errorf("headers %q", res.Local.Headers)
	}
}

// parityWithoutEndpoints asserts that what is wrong with a body is said before anything else.
func parityWithoutEndpoints(t *testing.T, s Subject) {
	w := single(t, s, 0)
	w.plan.Parity, w.plan.FailureMode = plan.ParityEPP, plan.FailOpen
	k := w.worker()
	bad, good := Chat("x"), Chat(ChatBody(short))
	wantError(t, w.do(k, &bad, hosttest.ToClient), 400, "invalid_json")
	w.do(k, &good, hosttest.ToFallback)
	w.check()
}

// parityCountsNoOwnPicks sends a burst between two scrapes: all of it goes to the endpoint that was idle then.
func parityCountsNoOwnPicks(t *testing.T, s Subject) {
	w := single(t, s, 0)
	w.plan.Parity = plan.ParityEPP
	w.Agent = &hosttest.Agent{Version: 1, Blob: Loaded(1, func(i int, e *snapshot.Endpoint) { e.Waiting = uint32(i) }, 1, 2, 3)}
	k := w.worker()
	w.Run(time.Second)
	r := Models()
	open := make([]*hosttest.Stream, 50)
	for i := range open {
		open[i] = k.Open(&r)
		open[i].Receive()
	}
	for i := range open {
		open[i].Forward()
		w.wantHost(open[i].Close(), 1)
	}
	w.check()
}
