package sessionaffinityfilter

import (
	"slices"
	"testing"

	"github.com/zerohop/zerohop/scorers"
	"github.com/zerohop/zerohop/scorers/plugintest"
)

// left returns what is left for a request with the given header.
func left(b *plugintest.Bed, header, value string) []int {
	b.Send(header, value)
	return b.Filter()
}

func TestToken(t *testing.T) {
	b := plugintest.Must(t, &Spec, nil, plugintest.EP{Name: "ns/a"}, plugintest.EP{Name: "ns/b"}, plugintest.EP{Name: "ns/c"})
	all := []int{0, 1, 2}
	for _, tt := range []struct {
		name, value string
		want        []int
	}{
		{"b", plugintest.Token("ns/b"), []int{1}}, {"c", plugintest.Token("ns/c"), []int{2}}, {"gone", plugintest.Token("ns/d"), all}, {"garbage", "??", all}, {"none", "", all},
	} {
		if got := left(b, "x-session-token", tt.value); !slices.Equal(got, tt.want) {
			t.Errorf("%s: left %v, want %v", tt.name, got, tt.want)
		}
	}
	if got := b.Served(2)["x-session-token"]; got != plugintest.Token("ns/c") {
		t.Errorf("the response of c has the token %q", got)
	}
}

func TestSessionID(t *testing.T) {
	b := plugintest.Must(t, &Spec, plugintest.BySessionID(), plugintest.EP{Name: "ns/a"}, plugintest.EP{Name: "ns/b"}, plugintest.EP{Name: "ns/c"})
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
	if got := plugintest.Must(t, &Spec, plugintest.BySessionID()).Filter(); len(got) != 0 {
		t.Errorf("no endpoint: left %v", got)
	}
}

func TestAllocations(t *testing.T) {
	plugintest.SessionAllocations(t, &Spec, func(b *plugintest.Bed) func() {
		f, cand := b.Plugin.(scorers.Filter), b.Candidates()
		return func() { f.Filter(&b.Cycle, cand) }
	})
}
