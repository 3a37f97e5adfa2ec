package fleet

import (
	"testing"

	"github.com/cespare/xxhash/v2"

	"github.com/zerohop/zerohop/scorers"
)

// TestModelsAsked follows whether the source of endpoints asks them for their models, through sources and plans.
func TestModelsAsked(t *testing.T) {
	tab, l := New(8, stale), fleetOf(2)
	want := func(what string, asked bool) {
		t.Helper()
		if got := tab.View().Models.Asked; got != asked {
			t.Errorf("%s: asked %v, want %v", what, got, asked)
		}
	}
	reads := &scorers.Wants{Models: true}
	tab.Want(reads)
	want("nothing has come", false)
	f := &told{of: make([]fact, 2)}
	applyFacts(tab, l, f)
	want("a snapshot for others", false)
	f.asks = true
	applyFacts(tab, l, f)
	want("a snapshot whose models are not known", true)
	tab.Want(reads)
	want("another plan", false)
	applyFacts(tab, l, f)
	want("the next snapshot", true)
	f.asks = false
	applyFacts(tab, l, f)
	want("a snapshot without", false)
	f.of[0].models = []string{"m"}
	applyFacts(tab, l, f)
	want("a snapshot with models", true)
}

// TestModelsOutliveTheirSource has another source that asks endpoints and has no answer yet: what is known stays, by endpoint,
// until there is one.
func TestModelsOutliveTheirSource(t *testing.T) {
	tab, l := New(8, stale), fleetOf(3)
	tab.Want(&scorers.Wants{Models: true})
	f := &told{asks: true, of: []fact{{models: []string{"a", "b"}}, {}, {models: []string{"c"}}}}
	knows := func(what string, want ...string) {
		t.Helper()
		applyFacts(tab, l, f)
		v := tab.View()
		for i, s := range tab.order {
			got := "-"
			if v.Models.IsKnown(s) {
				got = ""
				for _, m := range []string{"a", "b", "c", "d"} {
					if v.Models.Has(s, xxhash.Sum64String(m)) {
						got += m
					}
				}
			}
			if got != want[i] {
				t.Errorf("%s: endpoint %d serves %q, want %q", what, i, got, want[i])
			}
		}
	}
	knows("the first source", "ab", "-", "c")
	f.of = make([]fact, 3)
	knows("another one", "ab", "-", "c")
	knows("another one, again", "ab", "-", "c")
	f.of[0].models, f.of[1].models = []string{"d"}, []string{}
	knows("answers come", "d", "", "c")
	l = list{l[0], l[1], endpoint(9)}
	f.of = make([]fact, 3)
	knows("another endpoint", "d", "", "-")
	f.asks = false
	knows("nobody asks", "-", "-", "-")
}
