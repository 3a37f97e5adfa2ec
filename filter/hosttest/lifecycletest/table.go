package lifecycletest

import (
	"strings"
	"testing"

	"github.com/zerohop/zerohop/filter"
	"github.com/zerohop/zerohop/filter/hosttest"
	"github.com/zerohop/zerohop/shared/names"
	"github.com/zerohop/zerohop/shared/plan"
)

// Expected actions: go on, hold, or no such callback.
const (
	goOn = filter.Continue
	hold = filter.Pause
	none = ^filter.Action(0)
)

// row is one request against four live endpoints.
type row struct {
	name    string
	request hosttest.Request

	headers  filter.Action // to the headers callback
	chunks   filter.Action // to every body callback but the last
	last     filter.Action // to the last body callback
	trailers filter.Action // to the trailers callback

	reason   string
	attempts int
}

// short and long are prompts of about 8 and 60 blocks.
var (
	short = Text("short", 2000)
	long  = Text("long", 15_000)
)

// lookalike is a prompt whose text looks like the fields of a body.
const lookalike = `\"},\"model\":\"evil\",\"messages\":[{\"role\":\"user\",\"content\":\"x\"}],\"prompt\":\"y\"}`

var rows = []row{
	{"chat", Chat(ChatBody(short)), hold, none, goOn, none, "scored", 1},
	{"completions", Completions(CompletionsBody(short)), hold, none, goOn, none, "scored", 1},
	{"query and slash", post("/v1/chat/completions/?a=b", ChatBody(short)), hold, none, goOn, none, "scored", 1},
	{"chunks of 1 byte", chunked(Chat(ChatBody(short)), 1), hold, hold, goOn, none, "scored", 1},
	{"chunks of 1000 bytes", chunked(Chat(ChatBody(long)), 1000), hold, hold, goOn, none, "scored", 1},
	{"more than one window at once", Chat(ChatBody(Text("big", 300_000))), hold, none, goOn, none, "scored", 1},
	{"empty end", emptyEnd(Chat(ChatBody(short))), hold, hold, goOn, none, "scored", 1},
	{"trailers", trailers(Chat(ChatBody(short))), hold, hold, hold, goOn, "scored", 1},
	{"trailers after chunks", chunked(trailers(Chat(ChatBody(long))), 4096), hold, hold, hold, goOn, "scored", 1},
	{"same size twice", chunked(repeated(trailers(Chat(ChatBody(long)))), 4096), hold, hold, hold, goOn, "scored", 1},
	{"same size twice at the end", repeated(Chat(ChatBody(short))), hold, goOn, goOn, none, "scored", 1},

	{"get", Models(), goOn, none, none, none, "unknown_path", 1},
	{"unknown path with body", chunked(post("/v1/embeddings", `{"model":"m","input":"x"}`), 5), goOn, goOn, goOn, none, "unknown_path", 1},
	{"unknown path with trailers", trailers(post("/v1/embeddings", `{}`)), goOn, none, goOn, goOn, "unknown_path", 1},
	{"no body", Chat(""), goOn, none, none, none, "no_body", 1},
	{"empty body in a data frame", emptyEnd(Chat("")), hold, none, goOn, none, "not_json", 1},
	{"trailers without body", trailers(Chat("")), hold, none, none, goOn, "not_json", 1},

	{"not json", Chat("hello"), hold, none, goOn, none, "not_json", 1},
	{"not an object", Chat("[1]"), hold, none, goOn, none, "not_json", 1},
	{"form data", Chat("model=m&messages=%5B%5D&prompt=x"), hold, none, goOn, none, "not_json", 1},
	{"multipart", chunked(Chat("--b\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\nm\r\n--b--\r\n"), 7), hold, hold, goOn, none, "not_json", 1},
	{"nul bytes", Chat("\x00\x00\x00"), hold, none, goOn, none, "not_json", 1},
	{"truncated", chunked(Chat(ChatBody(short)[:1000]), 100), hold, hold, goOn, none, "truncated", 1},
	{"nested 10 000 deep", chunked(Chat(`{"model":"m","x":`+strings.Repeat("[", 10_000)), 512), hold, hold, goOn, none, "too_deep", 1},
	{"nested 10 000 deep and closed", Chat(`{"model":"m","x":` + strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000) + `,"messages":[]}`), hold, none, goOn, none, "too_deep", 1},
	{"no model", Chat(`{"messages":[{"role":"user","content":"hi"}]}`), hold, none, goOn, none, "no_model", 1},
	{"no prompt", Chat(`{"model":"m"}`), hold, none, goOn, none, "no_prompt", 1},
	{"model too long", Chat(`{"model":"` + strings.Repeat("m", 100_000) + `","messages":[{"role":"user","content":"hi"}]}`), hold, none, goOn, none, "field_too_big", 1},
	{"lone surrogates", Chat(ChatBody(`\ud800 \udc00 \ud800x`)), hold, none, goOn, none, "scored", 1},
	{"duplicate keys", Chat(`{"model":"a","model":"m","messages":[],"messages":[{"role":"user","content":"hi"}]}`), hold, none, goOn, none, "scored", 1},
	{"prompt like fields", Chat(ChatBody(lookalike)), hold, none, goOn, none, "scored", 1},
	{"tools behind messages", chunked(Chat(`{"messages":[{"content":"`+short+`","role":"user"}],"tools":[{"type":"function","function":{"name":"f"}}],"model":"m"}`), 300), hold, hold, goOn, none, "scored", 1},

	{"our headers", Forged(Chat(ChatBody(short))), hold, none, goOn, none, "scored", 1},
	{"our headers without body", Forged(Models()), goOn, none, none, none, "unknown_path", 1},
	{"our headers in trailers", ForgedTrailers(Chat(ChatBody(short))), hold, none, hold, goOn, "scored", 1},
	{"our headers in trailers of an unknown path", ForgedTrailers(Forged(post("/x", "{}"))), goOn, none, goOn, goOn, "unknown_path", 1},

	{"first dead", dead(Chat(ChatBody(short)), 1), hold, none, goOn, none, "scored", 2},
	{"two dead", dead(Chat(ChatBody(short)), 2), hold, none, goOn, none, "scored", 3},
	{"three dead, no body", dead(Models(), 3), goOn, none, none, none, "unknown_path", 4},
	{"first answers 503", unavailable(Chat(ChatBody(short)), 1), hold, none, goOn, none, "scored", 2},
	{"our headers, first dead", dead(Forged(Chat(ChatBody(short))), 1), hold, none, goOn, none, "scored", 2},
}

// modes are the destination modes.
var modes = []string{plan.DestinationHeader, plan.DestinationFilterState, plan.DestinationList}

func runTable(t *testing.T, s Subject) {
	for _, mode := range modes {
		for i := range rows {
			r := &rows[i]
			t.Run(mode+"/"+r.name, func(t *testing.T) { r.run(t, s, mode) })
		}
	}
}

func (r *row) run(t *testing.T, s Subject, mode string) {
	w := newWorld(t, s, Plan(mode, 4))
	k := w.worker()
	for _, early := range []bool{true, false} {
		k.NoEarlyStrip = !early
		res := w.do(k, &r.request, hosttest.ToEndpoint)
		r.checkActions(t, res)
		r.checkAttempts(t, res)
		checkSent(t, &r.request, res)
		if got := res.Reason(); got != r.reason {
			t.Errorf("reason %q, want %q", got, r.reason)
		}
		if res.Status != 200 {
			t.Errorf("status %d", res.Status)
		}
		w.Advance(1e12) // past every cool-down
	}
	w.check()
	w.wantMetric("zerohop_picks_total", 2)
	for _, reason := range reasons {
		want := int64(0)
		if reason == r.reason {
			want = 2
		}
		w.wantMetric("zerohop_fallback_"+reason+"_total", want)
	}
}

// reasons are the reasons that have a counter of their own.
var reasons = []string{"no_body", "unknown_path", "not_json", "truncated", "too_deep", "no_prompt", "no_model", "field_too_big"}

func (r *row) checkActions(t *testing.T, res *hosttest.Result) {
	t.Helper()
	if res.Headers != r.headers {
		t.Errorf("headers: action %d, want %d", res.Headers, r.headers)
	}
	n := len(res.Body)
	if (n == 0) != (r.last == none) {
		t.Errorf("%d body callbacks", n)
	}
	for i, a := range res.Body {
		want := r.chunks
		if i == n-1 {
			want = r.last
		}
		if a != want {
			t.Errorf("body callback %d of %d: action %d, want %d", i, n, a, want)
		}
	}
	if want := r.trailers; want != none && res.Trailers != want {
		t.Errorf("trailers: action %d, want %d", res.Trailers, want)
	}
}

// checkAttempts asserts that every attempt went to another of the plan's endpoints, and that the pick says which served.
func (r *row) checkAttempts(t *testing.T, res *hosttest.Result) {
	t.Helper()
	if len(res.Hosts) != r.attempts {
		t.Errorf("attempts at %v, want %d", res.Hosts, r.attempts)
		return
	}
	if got, want := res.Endpoint(), res.Hosts[r.attempts-1]; got != want {
		t.Errorf("the pick names %s, but %s served", got, want)
	}
	seen := map[string]bool{}
	for _, h := range res.Hosts {
		if seen[h] || !strings.HasPrefix(h, "10.0.0.") {
			t.Errorf("attempts at %v", res.Hosts)
		}
		seen[h] = true
	}
}

// checkSent asserts that the endpoint saw the client's headers, and none of ours.
func checkSent(t *testing.T, r *hosttest.Request, res *hosttest.Result) {
	t.Helper()
	for _, sent := range []hosttest.Fields{res.Sent, res.SentEnd} {
		for _, n := range names.Stripped {
			if sent.Has(n) {
				t.Errorf("the endpoint saw %s", n)
			}
		}
	}
	for _, f := range r.Headers {
		if f.Value[0] != '6' && !res.Sent.Has(f.Name) {
			t.Errorf("the endpoint did not see %s", f.Name)
		}
	}
	if len(r.Trailers) > 0 && !res.SentEnd.Has("x-checksum") {
		t.Error("the endpoint did not see the trailers")
	}
}
