package fleet

import (
	"testing"

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
