package lifecycletest

import (
	"strings"
	"testing"
	"time"

	"github.com/zerohop/zerohop/filter/hosttest"
	"github.com/zerohop/zerohop/shared/names"
	"github.com/zerohop/zerohop/shared/plan"
	"github.com/zerohop/zerohop/shared/snapshot"
)

// explainedHeld asks about endpoints that should get no request: one drains, and one has failed.
func explainedHeld(t *testing.T, s Subject) {
	eachMode(t, s, 0, func(w *world) {
		w.Agent = &hosttest.Agent{Version: 1, Blob: drained(1, []int{2}, 1, 2)}
		k := asking(w)
		w.Run(time.Second)
		if got := w.ask(k, dry("/v1/chat/completions", ChatBody(short), trustedSource)); len(got.Held) != 1 || got.Held[0].Address != Address(2) || got.Held[0].Why != "draining" || got.Held[0].LeftMs != 0 {
			w.t.Errorf("held %+v", got.Held)
		}
		r := dead(Chat(ChatBody(short)), 1)
		w.do(k, &r, hosttest.ToEndpoint)
		got := w.ask(k, dry("/v1/chat/completions", ChatBody(short), trustedSource))
		held := map[string]string{}
		for _, h := range got.Held {
			held[h.Address] = h.Why
			if (h.Why == "cooling") != (h.LeftMs > 0 && h.LeftMs <= 500) {
				w.t.Errorf("%+v", h)
			}
		}
		if len(held) != 2 || held[Address(1)] != "cooling" || held[Address(2)] != "draining" {
			w.t.Errorf("held %+v", got.Held)
		}
		e := explain(Chat(ChatBody(short)))
		said := explainHeaders(w.do(k, &e, hosttest.ToEndpoint))[names.HeaderHeld]
		if !strings.Contains(said, Address(2)+"=draining") || !strings.Contains(said, Address(1)+"=cooling left_ms=") {
			w.t.Errorf("%s: %q", names.HeaderHeld, said)
		}
	})
}

// explainedDenial asks about requests that an admitter refuses: it is named, with the number that it went by.
func explainedDenial(t *testing.T, s Subject) {
	eachMode(t, s, 0, func(w *world) {
		w.Agent = &hosttest.Agent{Version: 1, Blob: Loaded(1, func(_ int, e *snapshot.Endpoint) { e.Waiting = 10 }, 1, 2)}
		use(w.plan, "shed", "probabilistic-admitter")
		w.plan.Objectives = []plan.Objective{{Name: "batch", Priority: -1}}
		k := asking(w)
		w.Run(time.Second)
		batch := func(r hosttest.Request) hosttest.Request { return with(r, names.HeaderObjective, "batch") }
		got := w.ask(k, batch(dry("/v1/chat/completions", ChatBody(short), trustedSource)))
		if d := got.Denied; got.Outcome != "denied" || d == nil || d.Plugin != "shed" || d.Type != "probabilistic-admitter" || d.Value != 2 || d.Threshold < 0.319 || d.Threshold > 0.320 {
			w.t.Errorf("outcome %s, denied %+v", got.Outcome, d)
		}
		if got := w.ask(k, dry("/v1/chat/completions", ChatBody(short), trustedSource)); got.Denied != nil {
			w.t.Errorf("not refused, and denied by %+v", got.Denied)
		}
		r := explain(batch(Chat(ChatBody(short))))
		if said := explainHeaders(w.do(k, &r, hosttest.ToClient))[names.HeaderDenied]; said != "shed value=2 threshold=0.319577" {
			w.t.Errorf("%s: %q", names.HeaderDenied, said)
		}
	})
}

// explainedSession asks about sessions that have no endpoint yet, that have the one that is picked, and another one.
func explainedSession(t *testing.T, s Subject) {
	for _, weight := range []float64{9, -9} {
		eachMode(t, s, 4, func(w *world) {
			use(w.plan, "session", "session-affinity-scorer", plan.Param{Name: "strategy", Kind: plan.String, Str: "session_id"})
			w.plan.Profiles[0].Scorers = append(w.plan.Profiles[0].Scorers, plan.Scorer{Plugin: "session", Weight: weight})
			k := asking(w)
			said := func(id string) string {
				r := dry("/v1/chat/completions", ChatBody(short), trustedSource)
				if id != "" {
					r = with(r, "x-session-id", id)
				}
				return w.ask(k, r).Session
			}
			if got := said(""); got != "none" {
				w.t.Errorf("without session: %q", got)
			}
			if got := said("a"); got != "unbound" {
				w.t.Errorf("first request: %q", got)
			}
			r := explain(with(Chat(ChatBody(short)), "x-session-id", "a"))
			if match := explainHeaders(w.do(k, &r, hosttest.ToEndpoint))[names.HeaderMatch]; !strings.HasSuffix(match, " session=unbound") {
				w.t.Errorf("%s: %q", names.HeaderMatch, match)
			}
			want := "bound"
			if weight < 0 {
				want = "elsewhere"
			}
			if got := said("a"); got != want {
				w.t.Errorf("weight %v, second request: %q, want %q", weight, got, want)
			}
			if got := said("b"); got != "unbound" {
				w.t.Errorf("another session: %q", got)
			}
		})
	}
}

// dryRunByOtherMethods asks with methods that have no body to ask about.
func dryRunByOtherMethods(t *testing.T, s Subject) {
	w := single(t, s, 3)
	k := asking(w)
	for _, method := range []string{"GET", "PUT", "HEAD"} {
		r := dry("/v1/chat/completions", "", trustedSource)
		for i := range r.Headers {
			if r.Headers[i].Name == ":method" {
				r.Headers[i].Value = method
			}
		}
		res := w.do(k, &r, hosttest.ToClient)
		if res.Status != 405 || res.Local == nil || res.Local.Details != "zerohop_explain_method" || !strings.Contains(string(res.Local.Headers), "allow\x00POST") {
			t.Errorf("%s: status %d, %+v", method, res.Status, res.Local)
		}
		r.Source = "192.0.2.1:1"
		if res := w.do(k, &r, hosttest.ToClient); res.Status != 403 {
			t.Errorf("%s from elsewhere: status %d", method, res.Status)
		}
	}
	w.check()
}
