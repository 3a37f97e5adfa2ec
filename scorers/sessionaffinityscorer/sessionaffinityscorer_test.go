package sessionaffinityscorer

import (
	"slices"
	"testing"

	"github.com/zerohop/zerohop/scorers"
	"github.com/zerohop/zerohop/scorers/plugintest"
	"github.com/zerohop/zerohop/shared/plan"
)

// score returns the scores of a request with the given header.
func score(b *plugintest.Bed, header, value string) []float64 {
	b.Send(header, value)
	return b.Score()
}

func TestS35(t *testing.T) {
	b := plugintest.Must(t, &Spec, nil, plugintest.EP{Name: "/pod-a"}, plugintest.EP{Name: "/pod-b"})
	for _, tt := range []struct {
		name, header, value string
		want                []float64
	}{
		{"b", "x-session-token", plugintest.Token("/pod-b"), []float64{0, 1}},
		{"gone", "x-session-token", plugintest.Token("/pod-c"), []float64{0, 0}},
		{"garbage", "x-session-token", "no base64", []float64{0, 0}},
		{"none", "x-other", plugintest.Token("/pod-b"), []float64{0, 0}},
	} {
		if got := score(b, tt.header, tt.value); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
	if got := b.Served(1)["x-session-token"]; got != plugintest.Token("/pod-b") {
		t.Errorf("the response of b has the token %q", got)
	}
}

func TestSessionID(t *testing.T) {
	b := plugintest.Must(t, &Spec, plugintest.BySessionID(), plugintest.EP{Unscraped: true}, plugintest.EP{Waiting: 99}, plugintest.EP{})
	for step, want := range [][]float64{{0, 0, 0}, {0, 1, 0}, {0, 1, 0}} {
		if got := score(b, "x-session-id", "s"); !slices.Equal(got, want) {
			t.Errorf("request %d: %v, want %v", step, got, want)
		}
		b.Pick(1)
	}
	if got := score(b, "x-other", "s"); !slices.Equal(got, []float64{0, 0, 0}) {
		t.Errorf("no session: %v", got)
	}
	if got := plugintest.Must(t, &Spec, plugintest.BySessionID()).Score(); len(got) != 0 {
		t.Errorf("no endpoint: %v", got)
	}
}

// TestHooks wants only the hooks that a strategy needs, for each costs something on every request.
func TestHooks(t *testing.T) {
	for name, params := range map[string]plan.Params{"token": nil, "id": plugintest.BySessionID()} {
		plugin := plugintest.Must(t, &Spec, params).Plugin
		_, server := plugin.(scorers.Server)
		_, picked := plugin.(scorers.PickWatcher)
		_, sweeper := plugin.(scorers.Sweeper)
		_, watcher := plugin.(scorers.SlotWatcher)
		_, keeper := plugin.(scorers.Keeper)
		if id := name == "id"; server == id || picked != id || sweeper != id || watcher != id || keeper != id {
			t.Errorf("%s: response headers %v, picks %v, sweeps %v, slots %v, state %v", name, server, picked, sweeper, watcher, keeper)
		}
	}
}

func TestAllocations(t *testing.T) {
	plugintest.SessionAllocations(t, &Spec, func(b *plugintest.Bed) func() {
		s, cand, out := b.Plugin.(scorers.Scorer), b.Candidates(), make([]float64, 2)
		return func() { s.Score(&b.Cycle, cand, out) }
	})
}
