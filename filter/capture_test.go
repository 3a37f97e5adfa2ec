package filter_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zerohop/zerohop/filter"
	"github.com/zerohop/zerohop/filter/hosttest"
	"github.com/zerohop/zerohop/filter/hosttest/lifecycletest"
	"github.com/zerohop/zerohop/scorers"
	"github.com/zerohop/zerohop/shared/names"
	"github.com/zerohop/zerohop/shared/plan"
)

// capturing returns a worker whose filter keeps the named headers. Its host takes results away, as Envoy does.
func capturing(t *testing.T, parity string, wanted ...string) (*hosttest.Process, *hosttest.Worker, *filter.VM) {
	t.Helper()
	p := hosttest.NewProcess()
	w := p.AddWorker(hosttest.NewNative)
	w.Host.Strict, w.Strict = true, true
	pl := lifecycletest.Plan(plan.DestinationHeader, 3)
	pl.Parity = parity
	if !w.LoadBoth(plan.Append(nil, pl)) {
		t.Fatalf("plan refused: %v", p.Logs)
	}
	v := w.Module().(hosttest.Native).VM
	v.WatchHeaders(wanted...)
	return p, w, v
}

// all returns the values of the first n headers; "-" for an absent one.
func all(h *scorers.Headers, n int) []string {
	var out []string
	for i := range n {
		if b := h.Get(scorers.HeaderID(i)); b != nil {
			out = append(out, string(b))
		} else {
			out = append(out, "-")
		}
	}
	return out
}

// TestCapture looks at what is kept of request headers until the decision, which comes after the body.
func TestCapture(t *testing.T) {
	long := "x-" + strings.Repeat("n", 100)
	wanted := []string{"cookie", "x-session-token", long}
	tests := []struct {
		name    string
		headers []string
		want    []string
		dropped int64
	}{
		{"none", nil, []string{"-", "-", "-"}, 0},
		{"all", []string{"x-session-token", "abc", "cookie", "a=b; c=d", long, "1"}, []string{"a=b; c=d", "abc", "1"}, 0},
		{"equal length, other name", []string{"accept", "*", "x-session-tokem", "abc"}, []string{"-", "-", "-"}, 0},
		{"longer than a long name", []string{long + "n", "1", long[:len(long)-1], "2"}, []string{"-", "-", "-"}, 0},
		{"last of equal names", []string{"cookie", "first", "cookie", "last"}, []string{"last", "-", "-"}, 0},
		{"blanks", []string{"cookie", " \t a b \t"}, []string{"a b", "-", "-"}, 0},
		{"empty", []string{"cookie", ""}, []string{"", "-", "-"}, 0},
		{"longest", []string{"cookie", strings.Repeat("c", 1024)}, []string{strings.Repeat("c", 1024), "-", "-"}, 0},
		{"too long", []string{"cookie", strings.Repeat("c", 1025), "x-session-token", "abc"}, []string{"-", "abc", "-"}, 1},
		{"too long after one that fits", []string{"cookie", "c", "cookie", strings.Repeat("c", 1025)}, []string{"-", "-", "-"}, 1},
		{
			"too much together",
			[]string{"cookie", strings.Repeat("c", 1024), "x-session-token", strings.Repeat("t", 1024), long, "1"},
			[]string{strings.Repeat("c", 1024), strings.Repeat("t", 1024), "-"},
			1,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, w, v := capturing(t, plan.ParityNone, wanted...)
			r := lifecycletest.Chat(lifecycletest.ChatBody("hello"))
			r.Chunk = 9
			r.Headers = append(r.Headers, hosttest.Pairs(tt.headers...)...)
			var got []string
			r.At, r.Do = hosttest.GotChunk, func() { got = all(v.Captured(), len(wanted)) }
			res := w.Do(&r)
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("kept (-want +got):\n%s", d)
			}
			for i := 0; i < len(tt.headers); i += 2 {
				if !res.Sent.Has(tt.headers[i]) {
					t.Errorf("the endpoint did not see %s", tt.headers[i])
				}
			}
			if l := leftovers(w.Module()); l != "" {
				t.Errorf("left over: %s", l)
			}
			p.Run(2e8)
			if n := p.Metric("zerohop_dropped_headers_total").Value; n != tt.dropped {
				t.Errorf("%d values dropped, want %d", n, tt.dropped)
			}
			if len(p.Faults)+len(p.Panics) != 0 {
				t.Errorf("faults %v, panics %v", p.Faults, p.Panics)
			}
		})
	}
}

// TestCaptureCookie asks for two cookies: they are kept whatever stands beside them, and in whichever header.
func TestCaptureCookie(t *testing.T) {
	many := "a=" + strings.Repeat("c", 3000) + "; "
	tests := []struct {
		name    string
		headers []string
		want    []string
		dropped int64
	}{
		{"none", []string{"cookie", "a=b"}, []string{"-", "-"}, 0},
		{"both in one header", []string{"cookie", "sid=1; b=2; uid=3"}, []string{"1", "3"}, 0},
		{"behind many others", []string{"cookie", many + "sid=1"}, []string{"1", "-"}, 0},
		{"in two headers", []string{"cookie", many + "uid=3", "cookie", "b=2; sid=1"}, []string{"1", "3"}, 0},
		{"first of equal names", []string{"cookie", "sid=1; sid=2", "cookie", "sid=3"}, []string{"1", "-"}, 0},
		{"empty", []string{"cookie", "sid=", "cookie", "sid=3"}, []string{"", "-"}, 0},
		{"name of a header", []string{"cookie:sid", "1", "sid", "2"}, []string{"-", "-"}, 0},
		{"too long itself", []string{"cookie", "sid=" + strings.Repeat("s", 1025) + "; uid=3"}, []string{"-", "3"}, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, w, v := capturing(t, plan.ParityNone, "cookie:sid", "cookie:uid")
			r := lifecycletest.Chat(lifecycletest.ChatBody("hello"))
			r.Headers = append(r.Headers, hosttest.Pairs(tt.headers...)...)
			var got []string
			r.At, r.Do = hosttest.GotHeaders, func() { got = all(v.Captured(), 2) }
			w.Do(&r)
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("kept (-want +got):\n%s", d)
			}
			p.Run(2e8)
			if n := p.Metric("zerohop_dropped_headers_total").Value; n != tt.dropped {
				t.Errorf("%d values dropped, want %d", n, tt.dropped)
			}
		})
	}
}

// TestCaptureReload reloads while a request is received: what both plans want stays.
func TestCaptureReload(t *testing.T) {
	_, w, v := capturing(t, plan.ParityNone, "x-a", "x-b", "x-c")
	r := lifecycletest.Chat(lifecycletest.ChatBody("hello"))
	r.Headers = append(r.Headers, hosttest.Pairs("x-a", "1", "x-b", "2", "x-d", "4")...)
	var got []string
	r.At, r.Do = hosttest.GotHeaders, func() {
		v.WatchHeaders("x-d", "x-b", "x-c", "x-a")
		got = all(v.Captured(), 4)
	}
	w.Do(&r)
	if d := cmp.Diff([]string{"-", "2", "-", "1"}, got); d != "" {
		t.Errorf("kept (-want +got):\n%s", d)
	}
}

// TestCapturesBusy opens more requests than headers are kept for: the last goes on without.
func TestCapturesBusy(t *testing.T) {
	p, w, v := capturing(t, plan.ParityNone, "x-a")
	r := lifecycletest.Chat(lifecycletest.ChatBody("hello"))
	r.Headers = append(r.Headers, hosttest.Pairs("x-a", "1")...)
	r.Reset = hosttest.GotHeaders
	open := make([]*hosttest.Stream, filter.MaxCaptures+1)
	for i := range open {
		open[i] = w.Open(&r)
		open[i].Receive()
	}
	if n := v.OpenCaptures(); n != filter.MaxCaptures {
		t.Errorf("headers of %d requests are kept, want %d", n, filter.MaxCaptures)
	}
	for _, s := range open {
		s.Close()
	}
	if n := v.OpenCaptures(); n != 0 {
		t.Errorf("headers of %d requests are kept after all have ended", n)
	}
	p.Run(2e8)
	if n := p.Metric("zerohop_dropped_headers_total").Value; n != 1 {
		t.Errorf("%d values dropped, want 1", n)
	}
}

// TestSystemOwned asserts that what is meant for a scheduler does not reach a model server, except under parity epp.
func TestSystemOwned(t *testing.T) {
	for _, parity := range []string{plan.ParityNone, plan.ParityEPP} {
		t.Run(parity, func(t *testing.T) {
			_, w, v := capturing(t, parity, names.HeaderObjective)
			r := lifecycletest.Chat(lifecycletest.ChatBody("hello"))
			for _, name := range names.SystemOwned {
				r.Headers = append(r.Headers, hosttest.Field{Name: name, Value: "v"})
			}
			kept := ""
			r.At, r.Do = hosttest.GotHeaders, func() { kept = string(v.Captured().Get(0)) }
			res := w.Do(&r)
			for _, name := range names.SystemOwned {
				if got, want := res.Sent.Has(name), parity == plan.ParityEPP; got != want {
					t.Errorf("the endpoint saw %s: %v, want %v", name, got, want)
				}
			}
			if kept != "v" {
				t.Errorf("a plugin reads %q", kept)
			}
		})
	}
}
