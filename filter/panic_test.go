package filter_test

import (
	"strings"
	"testing"
	"time"

	"github.com/zerohop/zerohop/filter/hosttest"
	"github.com/zerohop/zerohop/filter/hosttest/lifecycletest"
	"github.com/zerohop/zerohop/shared/names"
	"github.com/zerohop/zerohop/shared/plan"
)

// TestPanicAnywhere lets each host call of a request panic in turn, as a bug at that place would: the request goes on, to
// an endpoint or to the fallback cluster, and nothing is left behind.
func TestPanicAnywhere(t *testing.T) {
	for _, mode := range []string{plan.DestinationHeader, plan.DestinationFilterState, plan.DestinationList} {
		for name, r := range panicRequests() {
			t.Run(mode+"/"+name, func(t *testing.T) {
				for n := 1; panicAt(t, mode, r, n); n++ {
					if n > 1000 {
						t.Fatal("the request never gets through")
					}
				}
			})
		}
	}
}

func panicRequests() map[string]hosttest.Request {
	chat := lifecycletest.Chat(lifecycletest.ChatBody(lifecycletest.Text("panic", 4000)))
	chat.Chunk = 1500
	retried := chat
	retried.Trailers = hosttest.Pairs("x-checksum", "1")
	retried.Reply = func(_ string, attempt int) hosttest.Reply {
		return hosttest.Reply{Fail: attempt == 0, Chunks: 2}
	}
	explained := retried
	explained.Headers = append(explained.Headers[:len(chat.Headers):len(chat.Headers)], hosttest.Field{Name: names.HeaderExplain, Value: names.ExplainHeaders})
	return map[string]hosttest.Request{
		"explained":         explained,
		"chat":              chat,
		"retry":             retried,
		"no body":           lifecycletest.Models(),
		"our headers":       lifecycletest.Forged(chat),
		"our trailers":      lifecycletest.ForgedTrailers(chat),
		"not understood":    lifecycletest.Chat("x"),
		"reset by the peer": {Headers: chat.Headers, Body: chat.Body, Reset: hosttest.ResponseHeaders},
	}
}

// panicAt panics at the n-th host call of r, and reports whether r makes that many.
func panicAt(t *testing.T, mode string, r hosttest.Request, n int) bool {
	t.Helper()
	p := hosttest.NewProcess()
	w := p.AddWorker(hosttest.NewNative)
	pl := lifecycletest.Plan(mode, 3)
	pl.Explain.Networks, pl.Log.Chain = []string{"0.0.0.0/0"}, true
	if !w.LoadBoth(plan.Append(nil, pl)) {
		t.Fatalf("plan refused: %v", p.Logs)
	}
	calls, at := 0, ""
	w.Host.OnCall = func(name string) {
		if calls++; calls == n {
			at = name
			panic("injected")
		}
	}
	res := w.Do(&r)
	w.Host.OnCall = nil
	p.Run(200 * time.Millisecond)
	if calls < n {
		return false
	}
	if res.Route != hosttest.ToEndpoint && res.Route != hosttest.ToFallback {
		t.Errorf("panic at call %d, %s: route %q", n, at, res.Route)
	}
	for _, h := range res.Hosts {
		if h[:3] != "10." {
			t.Errorf("panic at call %d, %s: sent to %s", n, at, h)
		}
	}
	if res.Sent.Has(names.HeaderFallback) && res.Route != hosttest.ToFallback {
		t.Errorf("panic at call %d, %s: an endpoint saw %s", n, at, names.HeaderFallback)
	}
	releasing := strings.Contains(p.Panics[0], "endStream") // what breaks the release itself cannot be released
	if l := leftovers(w.Module()); l != "" && !releasing {
		t.Errorf("panic at call %d, %s: left over: %s", n, at, l)
	}
	if got := p.Metric("zerohop_panics_total").Value; got != 1 {
		t.Errorf("panic at call %d, %s: %d panics counted", n, at, got)
	}
	if len(p.Faults) != 0 {
		t.Errorf("panic at call %d, %s: faults %v", n, at, p.Faults)
	}
	return true
}
