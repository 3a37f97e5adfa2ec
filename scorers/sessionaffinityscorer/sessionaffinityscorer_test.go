package sessionaffinityscorer

import (
	"encoding/base64"
	"slices"
	"testing"

	"github.com/zerohop/zerohop/scorers"
	"github.com/zerohop/zerohop/scorers/plugintest"
	"github.com/zerohop/zerohop/shared/plan"
)

var byIDs = plan.Params{{Name: "strategy", Kind: plan.String, Str: "session_id"}}

func bed(t *testing.T, params plan.Params, eps ...plugintest.EP) *plugintest.Bed {
	t.Helper()
	b, err := plugintest.New(&Spec, params, eps, plugintest.Req{})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// score returns the scores of a request with the given header.
func score(b *plugintest.Bed, header, value string) []float64 {
	b.Cycle.Now++
	b.Request(plugintest.Req{Headers: map[string]string{header: value}})
	return b.Score()
}

func TestS35(t *testing.T) {
	b := bed(t, nil, plugintest.EP{Name: "/pod-a"}, plugintest.EP{Name: "/pod-b"})
	token := func(name string) string { return base64.StdEncoding.EncodeToString([]byte(name)) }
	for _, tt := range []struct {
		name, header, value string
		want                []float64
	}{
		{"b", "x-session-token", token("/pod-b"), []float64{0, 1}},
		{"gone", "x-session-token", token("/pod-c"), []float64{0, 0}},
		{"garbage", "x-session-token", "no base64", []float64{0, 0}},
		{"none", "x-other", token("/pod-b"), []float64{0, 0}},
	} {
		if got := score(b, tt.header, tt.value); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
	if got := b.Served(1)["x-session-token"]; got != token("/pod-b") {
		t.Errorf("the response of b has the token %q", got)
	}
}

func TestSessionID(t *testing.T) {
	b := bed(t, byIDs, plugintest.EP{Unscraped: true}, plugintest.EP{Waiting: 99}, plugintest.EP{})
	for step, want := range [][]float64{{0, 0, 0}, {0, 1, 0}, {0, 1, 0}} {
		if got := score(b, "x-session-id", "s"); !slices.Equal(got, want) {
			t.Errorf("request %d: %v, want %v", step, got, want)
		}
		b.Pick(1)
	}
	if got := score(b, "x-other", "s"); !slices.Equal(got, []float64{0, 0, 0}) {
		t.Errorf("no session: %v", got)
	}
	if got := bed(t, byIDs).Score(); len(got) != 0 {
		t.Errorf("no endpoint: %v", got)
	}
}

// TestHooks wants only the hooks that a strategy needs, for each costs something on every request.
func TestHooks(t *testing.T) {
	for name, params := range map[string]plan.Params{"token": nil, "id": byIDs} {
		plugin := bed(t, params).Plugin
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
	for name, params := range map[string]plan.Params{"token": nil, "id": byIDs} {
		b := bed(t, params, plugintest.EP{}, plugintest.EP{})
		score(b, "x-session-id", "s")
		b.Pick(1)
		s, cand, out := b.Plugin.(scorers.Scorer), b.Candidates(), make([]float64, 2)
		if n := testing.AllocsPerRun(100, func() { s.Score(&b.Cycle, cand, out) }); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}
