package scan

import (
	"math/rand/v2"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// FuzzScan compares the scanner, at random splits, with encoding/json. Bodies that encoding/json refuses must not make it
// panic or hang, and must come out alike at every split.
func FuzzScan(f *testing.F) {
	for _, c := range cases {
		f.Add(c.body, c.api == Completions, uint64(1))
	}
	f.Fuzz(func(t *testing.T, text string, completions bool, seed uint64) {
		api := Chat
		if completions {
			api = Completions
		}
		rng := rand.New(rand.NewPCG(seed, 0))
		limit := 1 + rng.IntN(60)
		parts := Scanner{scratch: &Scratch{expectLate: seed&1 != 0}}
		whole := Scanner{scratch: &Scratch{expectLate: seed&1 != 0}}
		other := Scanner{scratch: &Scratch{expectLate: seed&1 == 0}}
		got := scanIn(&parts, api, text, func() int { return rng.IntN(limit) })
		if want := scanIn(&whole, api, text, func() int { return len(text) }); !equal(got, want) {
			t.Errorf("splits differ: %s", cmp.Diff(want, got))
		}
		checkOracle(t, api, text, scanIn(&other, api, text, func() int { return len(text) }))
		checkOracle(t, api, text, got)
	})
}

// checkOracle compares an outcome with what encoding/json makes of the body.
func checkOracle(t *testing.T, api API, text string, got outcome) {
	t.Helper()
	if !utf8.ValidString(text) { // passed on as it is, while encoding/json replaces it
		return
	}
	if want, ok := oracle(api, []byte(text)); ok && !equal(got, want) {
		t.Errorf("differs from encoding/json on %q: %s", text, cmp.Diff(want, got))
	}
}
