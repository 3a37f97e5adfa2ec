package lifecycletest

import (
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/zerohop/zerohop/filter/hosttest"
	"github.com/zerohop/zerohop/shared/names"
	"github.com/zerohop/zerohop/shared/plan"
	"github.com/zerohop/zerohop/shared/snapshot"
)

// with adds a header to a request.
func with(r hosttest.Request, name, value string) hosttest.Request {
	r.Headers = append(r.Headers[:len(r.Headers):len(r.Headers)], hosttest.Field{Name: name, Value: value})
	return r
}

// use adds a plugin to a plan.
func use(p *plan.Plan, name, typ string, params ...plan.Param) {
	p.Plugins = append(p.Plugins, plan.Plugin{Name: name, Type: typ, Parameters: params})
}

// profileByHeader chooses the profile by a header, which is gone when the body has come.
func profileByHeader(t *testing.T, s Subject) {
	tests := []struct {
		name, header, profile, reason string
		route                         hosttest.Route
	}{
		{"none", "", "default", "scored", hosttest.ToEndpoint},
		{"default", "default", "default", "scored", hosttest.ToEndpoint},
		{"other", "other", "other", "scored", hosttest.ToEndpoint},
		{"blanks", "  other\t", "other", "scored", hosttest.ToEndpoint},
		{"unknown", "third", "-", "no_profile", hosttest.ToClient},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			eachMode(t, s, 3, func(w *world) {
				use(w.plan, "by-header", "header-profile-handler",
					plan.Param{Name: "headerName", Kind: plan.String, Str: "X-Profile"}, plan.Param{Name: "defaultProfile", Kind: plan.String, Str: "default"})
				w.plan.ProfileHandler = "by-header"
				other := w.plan.Profiles[0]
				other.Name = "other"
				w.plan.Profiles = append(w.plan.Profiles, other)
				k := w.worker()
				r := dead(Chat(ChatBody(short)), 1)
				r.Chunk = 100
				if tt.header != "" {
					r = with(with(r, "x-profile", "first"), "x-profile", tt.header)
				}
				res := w.do(k, &r, tt.route)
				if got := hosttest.Pick(string(res.Pick), "profile"); got != tt.profile || res.Reason() != tt.reason {
					w.t.Errorf("pick %q, want profile %s, reason %s", res.Pick, tt.profile, tt.reason)
				}
				if tt.route == hosttest.ToClient {
					wantRefusal(w.t, res, 429, "no_profile")
				} else if got, _ := res.Sent.First("x-profile"); tt.header != "" && got != "first" {
					w.t.Errorf("the endpoint saw x-profile %q", got)
				}
			})
		})
	}
}

// wantRefusal asserts a local answer with a status and the code of an error.
func wantRefusal(t *testing.T, res *hosttest.Result, status int, code string) {
	t.Helper()
	if res.Local == nil || res.Status != status || !strings.Contains(res.Local.Body, `"code":"`+code+`"`) || res.Endpoint() != "-" {
		t.Errorf("status %d, answer %+v, pick %q; want %d, %s", res.Status, res.Local, res.Pick, status, code)
	}
}

// admissionDenied refuses what may be shed while the pool is saturated, whatever the failure mode.
func admissionDenied(t *testing.T, s Subject) {
	for _, parity := range []string{plan.ParityNone, plan.ParityEPP} {
		t.Run(parity, func(t *testing.T) {
			eachMode(t, s, 0, func(w *world) {
				use(w.plan, "shed", "probabilistic-admitter")
				w.plan.Objectives = []plan.Objective{{Name: "batch", Priority: -1}, {Name: "chat", Priority: 1}}
				w.plan.Parity, w.plan.FailureMode = parity, plan.FailOpen
				w.Agent = &hosttest.Agent{Version: 1, Blob: Loaded(1, func(_ int, e *snapshot.Endpoint) { e.Waiting, e.KVUsage = 500, 1 }, 1, 2)}
				k := w.worker()
				w.Run(time.Second)
				status := 429
				if parity == plan.ParityEPP {
					status = 500
				}
				for _, name := range []string{names.HeaderObjective, names.HeaderObjectiveOld} {
					batch := with(Chat(ChatBody(short)), name, "batch")
					res := w.do(k, &batch, hosttest.ToClient)
					wantRefusal(w.t, res, status, "denied")
					if res.Reason() != "denied" || hosttest.Pick(string(res.Pick), "profile") != "-" || hosttest.Pick(string(res.Pick), "candidates") != "2" {
						w.t.Errorf("pick %q", res.Pick)
					}
				}
				for _, name := range []string{"chat", "unknown", ""} {
					r := with(Chat(ChatBody(short)), names.HeaderObjective, name)
					res := w.do(k, &r, hosttest.ToEndpoint)
					if got := res.Sent.Has(names.HeaderObjective); got != (parity == plan.ParityEPP) {
						w.t.Errorf("the endpoint saw the objective: %v", got)
					}
				}
				w.Run(200 * time.Millisecond)
				w.wantMetric("zerohop_fallback_denied_total", 2)
			})
		})
	}
}

// filteredOut leaves no endpoint, by a filter that takes what a header names.
func filteredOut(t *testing.T, s Subject) {
	const header = "test-epp-endpoint-selection"
	for _, mode := range []string{plan.FailClose, plan.FailOpen} {
		t.Run(mode, func(t *testing.T) {
			eachMode(t, s, 3, func(w *world) {
				use(w.plan, "named", "header-based-testing-filter")
				w.plan.Profiles[0].Filters = []string{"named"}
				w.plan.FailureMode, w.plan.Explain.Networks = mode, trustedNetworks
				k := w.worker()
				r := explain(with(Chat(ChatBody(short)), header, "10.0.0.2"))
				res := w.do(k, &r, hosttest.ToEndpoint)
				w.wantHost(res, 2)
				if got := explainHeaders(res); got[names.HeaderFiltered] != "named:3>1; 10.0.0.1:8000=named,10.0.0.3:8000=named" || got[names.HeaderCandidates] != "candidates=3 left=1" {
					w.t.Errorf("headers %q", got)
				}
				r = explain(with(Chat(ChatBody(short)), header, "10.9.9.9"))
				route := hosttest.ToClient
				if mode == plan.FailOpen {
					route = hosttest.ToFallback
				}
				res = w.do(k, &r, route)
				if route == hosttest.ToClient {
					wantRefusal(w.t, res, 429, "no_eligible_endpoint")
				}
				if got := explainHeaders(res); got[names.HeaderCandidates] != "candidates=3 left=0" || got[names.HeaderPick] != "- ties=0 attempt=0" || !strings.Contains(got[names.HeaderProfile], "reason=filtered_out") {
					w.t.Errorf("headers %q", got)
				}
				a := w.ask(k, with(dry("/v1/chat/completions", ChatBody(short), trustedSource), header, "10.0.0.3"))
				if len(a.Filters) != 1 || a.Filters[0].Type != "header-based-testing-filter" || len(a.Removed) != 2 || a.Removed[0].By != "named" || !a.Request.Headers[header] {
					w.t.Errorf("answer %+v", a)
				}
			})
		})
	}
}

// oneRequestID sends many requests with one x-request-id at once: what is known of a request never depends on what clients
// call it.
func oneRequestID(t *testing.T, s Subject) {
	w := single(t, s, 4)
	k := w.worker()
	open := make([]*hosttest.Stream, 200)
	for i := range open {
		r := with(Chat(ChatBody(Text(string(rune('a'+i%26)), 1000+i))), "x-request-id", "7")
		if i%3 == 0 {
			r.Reset = hosttest.ResponseHeaders
		}
		open[i] = k.Open(&r)
		open[i].Receive()
	}
	ids := map[string]bool{}
	for _, st := range open {
		st.Forward()
	}
	for _, st := range open {
		res := st.Close()
		ids[hosttest.Pick(string(res.Pick), "id")] = true
		if res.Route != hosttest.ToEndpoint || res.Reason() != "scored" {
			t.Errorf("route %s, pick %q", res.Route, res.Pick)
		}
	}
	if len(ids) != len(open) {
		t.Errorf("%d picks, want %d", len(ids), len(open))
	}
	w.check()
}

// serving encodes a snapshot of endpoints that serve one model each.
func serving(version uint64, models ...string) []byte {
	eps := make([]snapshot.Endpoint, 0, len(models))
	f := snapshot.Facts{}
	x := snapshot.Extras{}
	for i, model := range models {
		n, a := []byte(name(i+1)), []byte(Address(i+1))
		e := snapshot.Endpoint{ID: snapshot.EndpointID(n, a), Name: n, Address: a, ScrapeSeq: uint32(version), BlockSize: 16, NumBlocks: 4096}
		eps = append(eps, e)
		f.Endpoints = append(f.Endpoints, snapshot.EndpointFacts{ID: e.ID, Models: []uint64{xxhash.Sum64String(model)}, ModelsKnown: true})
	}
	sheet, err := snapshot.NewSheet(&f)
	if err != nil {
		panic(err) // the facts are the test's own
	}
	x.Sheet = sheet
	b, err := snapshot.AppendExtras(nil, version, eps, &x)
	if err != nil {
		panic(err)
	}
	return b
}

// modelNotServed asks for models that one endpoint and that no endpoint serves.
func modelNotServed(t *testing.T, s Subject) {
	w := single(t, s, 0)
	use(w.plan, "served", "served-model-filter")
	w.plan.Profiles[0].Filters = []string{"served"}
	w.Agent = &hosttest.Agent{Version: 1, Blob: serving(1, "a", "b", "a")}
	k := w.worker()
	w.Run(time.Second)
	for i, model := range []string{"a", "b", "c"} {
		r := Completions(`{"model":"` + model + `","prompt":"` + short + `"}`)
		if model == "c" {
			res := w.do(k, &r, hosttest.ToClient)
			wantRefusal(t, res, 429, "model_not_served")
			if res.Reason() != "model_not_served" || res.Local.Details != "zerohop_model_not_served" {
				t.Errorf("pick %q, details %s", res.Pick, res.Local.Details)
			}
			continue
		}
		res := w.do(k, &r, hosttest.ToEndpoint)
		if got, want := hosttest.Pick(string(res.Pick), "left"), []string{"2", "1"}[i]; got != want || hosttest.Pick(string(res.Pick), "model") != model {
			t.Errorf("pick %q, want left=%s", res.Pick, want)
		}
	}
	w.check()
	w.wantMetric("zerohop_fallback_model_not_served_total", 1)
}

// sessionTokens follows the token of a session: it names the endpoint that answered, which gets the session's next request.
func sessionTokens(t *testing.T, s Subject) {
	const header = "x-session-token"
	token := func(res *hosttest.Result) string {
		v, _ := res.Response.First(header)
		return v
	}
	for _, attempts := range []bool{true, false} {
		eachMode(t, s, 4, func(w *world) {
			use(w.plan, "sticky", "session-affinity-filter")
			w.plan.Profiles[0].Filters = []string{"sticky"}
			k := w.worker()
			k.NoAttempts = !attempts
			plain := Chat(ChatBody(short))
			for i := range 20 {
				first := plain
				if i%2 == 1 { // the model server sends such a header too
					first.Reply = func(string, int) hosttest.Reply {
						return hosttest.Reply{Chunks: 1, Headers: hosttest.Pairs(header, "forged")}
					}
				}
				res := w.do(k, &first, hosttest.ToEndpoint)
				host, got := res.Hosts[0], token(res)
				if want := base64.StdEncoding.EncodeToString([]byte(nameOf(host))); got != want {
					w.t.Fatalf("token %q of %s, want %q", got, host, want)
				}
				for range 3 {
					next := with(plain, header, got)
					if res := w.do(k, &next, hosttest.ToEndpoint); res.Hosts[0] != host || token(res) != got {
						w.t.Errorf("the session went from %s to %v, token %q", host, res.Hosts, token(res))
					}
				}
				if !attempts {
					continue
				}
				moved := with(dead(plain, 1), header, got) // the endpoint is down: another answers, and keeps the session
				res = w.do(k, &moved, hosttest.ToEndpoint)
				if want := base64.StdEncoding.EncodeToString([]byte(nameOf(res.Hosts[1]))); res.Hosts[0] != host || token(res) != want {
					w.t.Errorf("after a retry at %v the token is %q, want %q", res.Hosts, token(res), want)
				}
				w.Advance(1e11) // past the cool-down
			}
			gone := with(plain, header, base64.StdEncoding.EncodeToString([]byte("default/pod-99")))
			if res := w.do(k, &gone, hosttest.ToEndpoint); token(res) == "" || hosttest.Pick(string(res.Pick), "left") != "4" {
				w.t.Errorf("token of an endpoint that is gone: pick %q, token %q", res.Pick, token(res))
			}
		})
	}
	w := single(t, s, 0)
	use(w.plan, "sticky", "session-affinity-filter")
	w.plan.Profiles[0].Filters = []string{"sticky"}
	k := w.worker()
	r := Chat(ChatBody(short))
	if res := w.do(k, &r, hosttest.ToClient); token(res) != "" {
		t.Errorf("a refusal has the token %q", token(res))
	}
	w.check()
}

// nameOf returns the name of the endpoint at an address.
func nameOf(address string) string {
	for i := 1; ; i++ {
		if Address(i) == address {
			return name(i)
		}
	}
}
