package sessionaffinityfilter

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

// left returns what is left for a request with the given header.
func left(b *plugintest.Bed, header, value string) []int {
	b.Cycle.Now++
	b.Request(plugintest.Req{Headers: map[string]string{header: value}})
	return b.Filter()
}

func TestToken(t *testing.T) {
	b := bed(t, nil, plugintest.EP{Name: "ns/a"}, plugintest.EP{Name: "ns/b"}, plugintest.EP{Name: "ns/c"})
	token := func(name string) string { return base64.StdEncoding.EncodeToString([]byte(name)) }
	all := []int{0, 1, 2}
	for _, tt := range []struct {
		name, value string
		want        []int
	}{
		{"b", token("ns/b"), []int{1}}, {"c", token("ns/c"), []int{2}}, {"gone", token("ns/d"), all}, {"garbage", "??", all}, {"none", "", all},
	} {
		if got := left(b, "x-session-token", tt.value); !slices.Equal(got, tt.want) {
			t.Errorf("%s: left %v, want %v", tt.name, got, tt.want)
		}
	}
	if got := b.Served(2)["x-session-token"]; got != token("ns/c") {
		t.Errorf("the response of c has the token %q", got)
	}
}

func TestSessionID(t *testing.T) {
	b := bed(t, byIDs, plugintest.EP{Name: "ns/a"}, plugintest.EP{Name: "ns/b"}, plugintest.EP{Name: "ns/c"})
	if got := left(b, "x-session-id", "s"); !slices.Equal(got, []int{0, 1, 2}) {
		t.Errorf("unbound: left %v", got)
	}
	b.Pick(2)
	if got := left(b, "x-session-id", "s"); !slices.Equal(got, []int{2}) {
		t.Errorf("bound: left %v", got)
	}
	b.Endpoints([]plugintest.EP{{Name: "ns/a"}, {Name: "ns/b"}})
	if got := left(b, "x-session-id", "s"); !slices.Equal(got, []int{0, 1}) {
		t.Errorf("its endpoint has gone: left %v", got)
	}
	b.Pick(0)
	if got := left(b, "x-session-id", "s"); !slices.Equal(got, []int{0}) {
		t.Errorf("bound again: left %v", got)
	}
	if got := bed(t, byIDs).Filter(); len(got) != 0 {
		t.Errorf("no endpoint: left %v", got)
	}
}

func TestAllocations(t *testing.T) {
	for name, params := range map[string]plan.Params{"token": nil, "id": byIDs} {
		b := bed(t, params, plugintest.EP{}, plugintest.EP{})
		left(b, "x-session-id", "s")
		b.Pick(1)
		f, cand := b.Plugin.(scorers.Filter), b.Candidates()
		if n := testing.AllocsPerRun(100, func() { f.Filter(&b.Cycle, cand) }); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}
