package fleet

import (
	"testing"

	"pgregory.net/rapid"
)

// sent is a request in the property test.
type sent struct {
	slot   int32
	gen    uint32
	serial uint32
	tokens int32
	id     uint64
	held   int32 // tokens that stay booked until the end
	first  bool
}

// TestLoadIsReleasedOnce sends requests to endpoints that come and go, and compares the table with counting.
func TestLoadIsReleasedOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const n = 5
		tab, all := New(n, stale), fleetOf(n)
		apply(tab, all, 0, 0)
		var requests []*sent
		now, seq := uint64(1), uint32(0)
		// lost says whether the endpoint that a request was sent to has been away since.
		lost := func(r *sent) bool { return !tab.Valid(r.slot, r.gen) }
		draw := func(t *rapid.T) (int, *sent) {
			if len(requests) == 0 {
				t.Skip("none")
			}
			i := rapid.IntRange(0, len(requests)-1).Draw(t, "request")
			return i, requests[i]
		}
		t.Repeat(map[string]func(*rapid.T){
			"send": func(t *rapid.T) {
				if len(tab.Live()) == 0 {
					t.Skip("nobody")
				}
				s := rapid.SampledFrom(tab.Live()).Draw(t, "slot")
				tokens := int32(rapid.IntRange(0, 1000).Draw(t, "tokens"))
				r := &sent{slot: s, gen: tab.Gen(s), tokens: tokens, id: tab.View().ID[s]}
				if rapid.Bool().Draw(t, "held") {
					r.held = tokens
				}
				r.serial = tab.Begin(now, s, tokens)
				requests = append(requests, r)
			},
			"first byte": func(t *rapid.T) {
				if _, r := draw(t); !r.first {
					tab.FirstByte(r.slot, r.gen, r.tokens-r.held, r.serial)
					r.first = true
				}
			},
			"end": func(t *rapid.T) {
				i, r := draw(t)
				if !r.first {
					tab.FirstByte(r.slot, r.gen, r.tokens-r.held, r.serial)
				}
				tab.End(r.slot, r.gen, r.held)
				requests = append(requests[:i], requests[i+1:]...)
			},
			"apply": func(t *rapid.T) {
				var l list
				for _, e := range all {
					if rapid.IntRange(0, 4).Draw(t, "absent") > 0 {
						if rapid.Bool().Draw(t, "scraped") {
							seq++
							e = scrapedAs(e, seq, 1, 0)
						}
						l = append(l, e)
					}
				}
				apply(tab, l, now, now)
			},
			"time passes": func(t *rapid.T) { now += uint64(rapid.IntRange(1, 3000).Draw(t, "ms")) * ms },
			"": func(t *rapid.T) {
				tab.Refresh(now)
				v := tab.View()
				count, pending, tokens := map[uint64]int32{}, map[uint64]int32{}, map[uint64]int64{}
				for _, r := range requests {
					if lost(r) {
						continue
					}
					if v.ID[r.slot] != r.id {
						t.Fatalf("slot %d at generation %d holds another endpoint", r.slot, r.gen)
					}
					count[r.id]++
					tokens[r.id] += int64(r.held)
					if !r.first {
						pending[r.id]++
						tokens[r.id] += int64(r.tokens - r.held)
					}
				}
				for s := range v.ID {
					id := v.ID[s]
					if v.InFlight[s] != count[id] || v.InFlightTokens[s] != tokens[id] || tab.places[s].pending != pending[id] {
						t.Fatalf("slot %d: %d in flight, %d pending, %d tokens; want %d, %d, %d",
							s, v.InFlight[s], tab.places[s].pending, v.InFlightTokens[s], count[id], pending[id], tokens[id])
					}
					if tab.places[s].since < 0 || tab.places[s].since > tab.places[s].pending || v.Waiting[s] < 0 {
						t.Fatalf("slot %d: since %d of %d pending, waiting %v", s, tab.places[s].since, tab.places[s].pending, v.Waiting[s])
					}
				}
			},
		})
	})
}
