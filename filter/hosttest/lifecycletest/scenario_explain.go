package lifecycletest

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/zerohop/zerohop/filter/hosttest"
	"github.com/zerohop/zerohop/shared/names"
	"github.com/zerohop/zerohop/shared/plan"
	"github.com/zerohop/zerohop/shared/snapshot"
)

// trustedSource is the address of a client that may ask, in trustedNetworks.
const trustedSource = "10.9.0.1:5000"

var trustedNetworks = []string{"127.0.0.0/8", "10.9.0.0/16", "fd00::/8"}

// explain makes a request ask for an explanation, from a client that may.
func explain(r hosttest.Request) hosttest.Request {
	r.Headers = append(r.Headers[:len(r.Headers):len(r.Headers)], hosttest.Field{Name: names.HeaderExplain, Value: names.ExplainHeaders})
	r.Source = trustedSource
	return r
}

// asking returns a world whose filter explains picks to trustedNetworks.
func asking(w *world) *hosttest.Worker {
	w.plan.Explain.Networks = trustedNetworks
	return w.worker()
}

// explainHeaders returns the explaining headers of a response by name.
func explainHeaders(res *hosttest.Result) map[string]string {
	out := map[string]string{}
	for _, f := range res.Response {
		if strings.HasPrefix(f.Name, "x-zerohop-") {
			if _, twice := out[f.Name]; twice {
				out[f.Name] += " TWICE"
			}
			out[f.Name] += f.Value
		}
	}
	return out
}

// explainedInHeaders looks at the response headers of explained requests, refused ones included.
func explainedInHeaders(t *testing.T, s Subject) {
	profile := "default handler=single reason=%s parity=none revision=0123456789abcdef"
	own := func(r hosttest.Request) hosttest.Request { // the model server says such things too
		r.Reply = func(string, int) hosttest.Reply {
			return hosttest.Reply{Chunks: 1, Headers: hosttest.Pairs(names.HeaderPick, "forged", names.HeaderProfile, "forged")}
		}
		return r
	}
	tests := []struct {
		name      string
		request   hosttest.Request
		reason    string
		ties      int
		attempt   int
		match     string
		endpoints int
	}{
		{"scored", Chat(ChatBody(short)), "scored", 4, 1, "matched=0 total=8 universal=0 block=64 tokens=501", 4},
		{"retried", dead(Chat(ChatBody(short)), 1), "scored", 4, 2, "matched=0 total=8 universal=0 block=64 tokens=501", 4},
		{"forged by the model server", own(Chat(ChatBody(short))), "scored", 4, 1, "matched=0 total=8 universal=0 block=64 tokens=501", 4},
		{"no body", Models(), "unknown_path", 4, 1, "matched=0 total=0 universal=0 block=64 tokens=0", 4},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			eachMode(t, s, tt.endpoints, func(w *world) {
				k := asking(w)
				r := explain(tt.request)
				res := w.do(k, &r, hosttest.ToEndpoint)
				got := explainHeaders(res)
				for i := 1; i <= 4; i++ {
					name := fmt.Sprintf("%s-%d", names.HeaderScore, i)
					if !strings.Contains(got[name], " default/pod-") || !strings.Contains(got[name], " queue=") || !strings.Contains(got[name], "*3") {
						w.t.Errorf("%s: %q", name, got[name])
					}
					delete(got, name)
				}
				if in := got[names.HeaderInputs]; !strings.HasPrefix(in, "snapshot_ms=-; 10.0.0.") || strings.Count(in, "scrape_ms=- fresh=0") != 4 {
					w.t.Errorf("inputs %q", in)
				}
				delete(got, names.HeaderInputs)
				want := map[string]string{
					names.HeaderExplain:    names.ExplainHeaders,
					names.HeaderProfile:    fmt.Sprintf(profile, tt.reason),
					names.HeaderCandidates: "candidates=4 left=4",
					names.HeaderMatch:      tt.match,
					names.HeaderPick:       fmt.Sprintf("%s ties=%d attempt=%d", res.Hosts[len(res.Hosts)-1], tt.ties, tt.attempt),
				}
				if d := cmp.Diff(want, got); d != "" {
					w.t.Errorf("headers (-want +got):\n%s", d)
				}
				if res.Sent.Has(names.HeaderExplain) {
					w.t.Errorf("the endpoint saw %s", names.HeaderExplain)
				}
			})
		})
	}
	t.Run("refused", func(t *testing.T) {
		w := single(t, s, 0)
		k := asking(w)
		r := explain(Chat(ChatBody(short)))
		got := explainHeaders(w.do(k, &r, hosttest.ToClient))
		if !strings.HasPrefix(got[names.HeaderProfile], "- handler=single reason=agent_unreachable") || got[names.HeaderPick] != "- ties=0 attempt=0" {
			t.Errorf("headers %q", got)
		}
		w.check()
	})
	t.Run("bad body under parity", func(t *testing.T) {
		w := single(t, s, 2)
		w.plan.Parity = plan.ParityEPP
		k := asking(w)
		r := explain(Chat("x"))
		got := explainHeaders(w.do(k, &r, hosttest.ToClient))
		if !strings.HasPrefix(got[names.HeaderProfile], "- handler=single reason=not_json parity=epp") || got[names.HeaderCandidates] != "" {
			t.Errorf("headers %q", got)
		}
		w.check()
	})
}

// explainRefused asserts that nothing is explained where explaining is off, and to nobody else.
func explainRefused(t *testing.T, s Subject) {
	tests := []struct {
		name    string
		on      bool
		source  string
		value   string
		sent    bool // the header reaches the model server
		refused int64
	}{
		{"off", false, trustedSource, names.ExplainHeaders, true, 0},
		{"foreign", true, "192.0.2.1:4000", names.ExplainHeaders, false, 1},
		{"foreign IPv6", true, "[2001:db8::1]:4000", names.ExplainHeaders, false, 1},
		{"no address", true, "/run/socket", names.ExplainHeaders, false, 1},
		{"another value", true, trustedSource, "everything", false, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := single(t, s, 3)
			if tt.on {
				w.plan.Explain.Networks = trustedNetworks
			}
			k := w.worker()
			r := Chat(ChatBody(short))
			r.Headers = append(r.Headers, hosttest.Field{Name: names.HeaderExplain, Value: tt.value})
			r.Source = tt.source
			res := w.do(k, &r, hosttest.ToEndpoint)
			if got := explainHeaders(res); len(got) != 0 {
				t.Errorf("explained: %q", got)
			}
			if got := res.Sent.Has(names.HeaderExplain); got != tt.sent {
				t.Errorf("the endpoint saw %s: %v", names.HeaderExplain, got)
			}
			d := dry("/v1/chat/completions", ChatBody(short), tt.source)
			switch res := k.Do(&d); {
			case !tt.on && res.Reason() != "unknown_path": // the route keeps it from model servers
				t.Errorf("dry run: pick %q", res.Pick)
			case tt.on && tt.refused > 0 && (res.Status != 403 || strings.Contains(res.Local.Body, "10.0.0.")):
				t.Errorf("dry run: status %d, %+v", res.Status, res.Local)
			}
			w.check()
			w.wantMetric("zerohop_explain_refused_total", 2*tt.refused)
		})
	}
}

// explainBusy opens more explained requests than there is room for.
func explainBusy(t *testing.T, s Subject) {
	w := single(t, s, 3)
	k := asking(w)
	r := explain(Models())
	open := make([]*hosttest.Stream, 65)
	for i := range open {
		open[i] = k.Open(&r)
		open[i].Receive()
	}
	for i := range open {
		open[i].Forward()
		got := explainHeaders(open[i].Close())
		if i < 64 && got[names.HeaderExplain] != names.ExplainHeaders || i == 64 && (got[names.HeaderExplain] != names.ExplainBusy || len(got) != 1) {
			t.Errorf("request %d: %q", i, got)
		}
	}
	w.check()
}

// dry returns a dry run of a request.
func dry(path, body, source string) hosttest.Request {
	r := post(names.PathExplain+"?x=1&path="+path, body)
	r.Source = source
	return r
}

// dryAnswer is the answer of a dry run.
type dryAnswer struct {
	Outcome, Profile, Handler, Parity, Revision string
	Status                                      int
	Fallback                                    bool
	Snapshot                                    struct {
		Version string
		AgeMs   int
	}
	Request struct {
		Model                                                       string
		Tokens, MaxTokens, BlockTokens, Blocks, Universal, Priority int
		Headers                                                     map[string]bool
	}
	Candidates, Left, Ties int
	Held                   []struct {
		Endpoint, Address, Why string
		LeftMs                 int
	}
	Denied *struct {
		Plugin, Type     string
		Value, Threshold float64
	}
	Session string
	Filters []struct {
		Plugin, Type  string
		Before, After int
	}
	Removed    []struct{ Endpoint, Address, By string }
	Saturation []struct {
		Plugin string
		Value  float64
	}
	Scorers []struct {
		Plugin, Type string
		Weight       float64
	}
	Best []struct {
		Endpoint, Address           string
		Total                       float64
		Matched                     int
		Scores                      []float64
		Waiting, Queue, Running, KV float64
		InFlight, InFlightTokens    int
		ScrapeMs                    *int
		Fresh                       bool
	}
	Inactive []struct{ Name, Type string }
}

// ask plays a dry run and returns its answer.
func (w *world) ask(k *hosttest.Worker, r hosttest.Request) dryAnswer {
	w.t.Helper()
	res := w.do(k, &r, hosttest.ToClient)
	var a dryAnswer
	if res.Local == nil {
		w.t.Fatalf("no answer; pick %q", res.Pick)
	}
	dec := json.NewDecoder(strings.NewReader(res.Local.Body))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&a); err != nil {
		w.t.Fatalf("answer %s: %v", res.Local.Body, err)
	}
	if res.Status != 200 || res.Local.Details != "zerohop_explain" || !strings.Contains(string(res.Local.Headers), names.ExplainDryRun) {
		w.t.Errorf("status %d, details %s, headers %q", res.Status, res.Local.Details, res.Local.Headers)
	}
	return a
}

// dryRun looks at the answer of a dry run among endpoints of different loads.
func dryRun(t *testing.T, s Subject) {
	eachMode(t, s, 0, func(w *world) {
		w.plan.Inactive = []plan.Inactive{{Name: "flow \"x\"", Type: "fcfs"}}
		w.Agent = &hosttest.Agent{Version: 7, Blob: Loaded(7, func(i int, e *snapshot.Endpoint) {
			e.Waiting, e.Running, e.KVUsage = uint32(i), uint32(2*i), float32(i)/10
		}, 1, 2, 3, 4, 5, 6)}
		k := asking(w)
		w.Run(time.Second)
		r := dry("%2Fv1%2fchat/completions", ChatBody(short+`é`), trustedSource)
		r.Chunk = 700
		a := w.ask(k, r)
		if a.Outcome != "scored" || a.Status != 200 || a.Fallback || a.Profile != "default" || a.Handler != "single" || a.Parity != "none" || a.Revision != "0123456789abcdef" {
			w.t.Errorf("answer %+v", a)
		}
		if a.Snapshot.Version != "7" || a.Snapshot.AgeMs == 0 {
			w.t.Errorf("snapshot %+v", a.Snapshot)
		}
		if q := a.Request; q.Model != "m" || q.Tokens < 500 || q.MaxTokens != 16 || q.BlockTokens != 64 || q.Blocks != 8 || len(q.Headers) != 0 {
			w.t.Errorf("request %+v", q)
		}
		if a.Candidates != 6 || a.Left != 6 || len(a.Best) != 5 || a.Ties != 1 || len(a.Scorers) != 3 || len(a.Filters) != 0 {
			w.t.Fatalf("answer %+v", a)
		}
		for i, b := range a.Best {
			if b.Address != Address(i+1) || b.Endpoint != name(i+1) || b.Waiting < float64(i+1) || b.Queue != float64(i+1) || b.Running != float64(2*i+2) || b.ScrapeMs == nil || !b.Fresh {
				w.t.Errorf("best %d: %+v", i+1, b)
			}
			total := 0.0
			for j, score := range b.Scores {
				total += score * a.Scorers[j].Weight
			}
			if d := total - b.Total; d > 1e-9 || d < -1e-9 {
				w.t.Errorf("best %d: total %v, sum of the scores %v", i+1, b.Total, total)
			}
		}
		if len(a.Inactive) != 1 || a.Inactive[0].Name != `flow "x"` {
			w.t.Errorf("inactive %+v", a.Inactive)
		}
		w.wantMetric("zerohop_picks_total", 0)
	})
}

// dryRunWithoutEndpoint asks what would become of a request that nobody can serve.
func dryRunWithoutEndpoint(t *testing.T, s Subject) {
	for _, mode := range []string{plan.FailClose, plan.FailOpen} {
		t.Run(mode, func(t *testing.T) {
			w := single(t, s, 0)
			w.plan.FailureMode = mode
			k := asking(w)
			a := w.ask(k, dry("/v1/completions", CompletionsBody(short), trustedSource))
			if a.Outcome != "agent_unreachable" || a.Status != 503 || a.Fallback != (mode == plan.FailOpen) || len(a.Best) != 0 || a.Profile != "" {
				t.Errorf("answer %+v", a)
			}
			w.check()
			w.wantMetric("zerohop_fallback_agent_unreachable_total", 0)
		})
	}
}

// dryRunUnderParity asks about a body that would be refused.
func dryRunUnderParity(t *testing.T, s Subject) {
	w := single(t, s, 2)
	w.plan.Parity = plan.ParityEPP
	k := asking(w)
	a := w.ask(k, dry("/v1/chat/completions", "x", trustedSource))
	if a.Outcome != "not_json" || a.Status != 400 || a.Parity != "epp" || a.Candidates != 0 || a.Profile != "" || len(a.Best) != 0 {
		t.Errorf("answer %+v", a)
	}
	if a := w.ask(k, dry("/v1/models", "", trustedSource)); a.Outcome != "unknown_path" || a.Status != 200 || len(a.Best) != 2 {
		t.Errorf("answer %+v", a)
	}
	w.check()
}

// dryRunRemembersNothing sends the same requests with and without dry runs between them: the picks are the same.
func dryRunRemembersNothing(t *testing.T, s Subject) {
	picks := func(ask bool) []string {
		w := single(t, s, 5)
		k := asking(w)
		out := make([]string, 0, 30)
		for i := range cap(out) {
			text := Text(fmt.Sprint("request", i%7), 1000)
			if ask {
				for range 2 {
					w.ask(k, dry("/v1/chat/completions", ChatBody(text), trustedSource))
				}
			}
			r := Chat(ChatBody(text))
			res := w.do(k, &r, hosttest.ToEndpoint)
			pick, _, _ := strings.Cut(string(res.Pick), " decision_us")
			out = append(out, pick)
			w.Advance(time.Millisecond)
		}
		w.check()
		w.wantMetric("zerohop_picks_total", 30)
		return out
	}
	if d := cmp.Diff(picks(false), picks(true)); d != "" {
		t.Errorf("picks without and with dry runs (-without +with):\n%s", d)
	}
}
