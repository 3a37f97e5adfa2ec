package filter

import (
	"testing"

	"github.com/zerohop/zerohop/shared/names"
	"github.com/zerohop/zerohop/shared/plan"
)

// configured returns a VM with both plugins on an imitated host.
func configured(t *testing.T) (*VM, *fakeHost) {
	t.Helper()
	h := newFakeHost()
	v := New(h)
	h.root = names.RootAttempt
	v.Configure(2, 0)
	h.root = names.RootDownstream
	h.configure(plan.DestinationHeader)
	if !v.Configure(1, len(h.config)) {
		t.Fatal("plan refused")
	}
	h.headers = chatHeaders()
	h.body = []byte(`{"model":"m","messages":[{"role":"user","content":"hello"}],"stream":true}`)
	return v, h
}

// TestBlind asserts that requests stop waiting for bodies that Envoy does not show, and wait again when it does.
func TestBlind(t *testing.T) {
	v, h := configured(t)
	ask := func(id uint32) Action {
		v.CreateContext(id, 1)
		return v.RequestHeaders(id, false)
	}
	pass := func(ns uint64) {
		h.now += ns
		v.Tick(1)
	}
	if got := ask(10); got != Pause {
		t.Fatalf("first request: action %v, want to wait for the body", got)
	}
	pass(1e9)
	pass(4e9)
	if got := ask(11); got != Pause {
		t.Errorf("after less than %v ns without a body: action %v", float64(blindAfterNs), got)
	}
	pass(2e9)
	if got := ask(12); got != Continue {
		t.Errorf("after more than %v ns without a body: action %v, want a pick by load", float64(blindAfterNs), got)
	}
	if got := v.stats.fallback[reasonNoBodyCallbacks]; got != 1 {
		t.Errorf("%d requests counted, want 1", got)
	}
	v.RequestBody(10, len(h.body), true)
	pass(1e10)
	if got := ask(13); got != Pause {
		t.Errorf("after a body was shown: action %v, want to wait", got)
	}
}
