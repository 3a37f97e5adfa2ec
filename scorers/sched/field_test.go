package sched

import (
	"fmt"
	"slices"
	"testing"

	"github.com/zerohop/zerohop/scorers"
	"github.com/zerohop/zerohop/shared/plan"
)

// Cases from the field, with several workers that share what they know.

// stickyPlan returns a plan of n endpoints with the profile of config/sticky-until-saturated.yaml, without its exploration.
func stickyPlan(n int) *plan.Plan {
	p := testPlan(n)
	p.Plugins = append(
		p.Plugins,
		plan.Plugin{Name: "sticky", Type: "prefix-cache-affinity-filter", Parameters: plan.Params{
			{Name: "affinityThreshold", Num: .8}, {Name: "maxTTFTPenaltyMs", Num: guardMs}, {Name: "peakPrefillThroughput", Num: prefillRate},
		}},
		plan.Plugin{Name: "load", Type: "inflight-load-producer"},
		plan.Plugin{Name: "tokens", Type: "token-load-scorer"},
		plan.Plugin{Name: "requests", Type: "active-request-scorer"},
	)
	p.Profiles[0].Filters = []string{"sticky"}
	p.Profiles[0].Scorers = []plan.Scorer{{Plugin: "tokens", Weight: 3}, {Plugin: "requests", Weight: 2}, {Plugin: "kv", Weight: 1}}
	return p
}

const (
	guardMs     = 5000
	prefillRate = 1000 // tokens in a second
)

// TestSiblingsOfANewPrefix sends eight requests with one new prefix within five milliseconds, the next one on the next of four
// workers. They go to one endpoint, though it has all of them in flight and others are idle, unless its uncached tokens in
// flight exceed the load guard. Workers that have not looked at what the others did may each send their first one elsewhere.
func TestSiblingsOfANewPrefix(t *testing.T) {
	tests := []struct {
		name   string
		plan   *plan.Plan
		blocks int // of the common prefix, of 64 tokens each
		own    int // blocks of each request behind it
		most   int // endpoints
		least  int
		blind  bool // nobody looks
	}{
		// The prefix scores 3 × 20/21, the shortest queue 2 more than the longest.
		{"default profile", testPlan(4), 20, 1, 1, 1, false},
		// 1 280 uncached tokens at most, and 64 more for each: 1.7 s at 1 000 tokens in a second.
		{"sticky, within the guard", stickyPlan(4), 20, 1, 1, 1, false},
		// 6 400 tokens are 6.4 s of work.
		{"sticky, beyond the guard", stickyPlan(4), 100, 1, 4, 2, false},
		{"default profile, within one interval", testPlan(8), 20, 1, 4, 1, true},
		{"sticky, within one interval", stickyPlan(8), 20, 1, 4, 1, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			const workers = 4
			x := newProcess(t, workers, tt.plan)
			for i, s := range x.s {
				publish(t, s, tt.plan, 1, 990*ms, make([]metrics, len(tt.plan.Endpoints))...)
				x.write(i, 990*ms)
			}
			used := map[string]int{}
			for k := range 8 {
				now := 1000*ms + uint64(k)*600_000
				ids := make([]uint64, tt.blocks+tt.own)
				for b := range ids {
					ids[b] = uint64(b + 1)
					if b >= tt.blocks {
						ids[b] = uint64(1000*(k+1) + b)
					}
				}
				if !tt.blind {
					x.look(k % workers)
				}
				used[x.at(x.send(k%workers, now, ids, ""))]++
			}
			if len(used) < tt.least || len(used) > tt.most {
				t.Errorf("eight siblings are at %v, want %d to %d endpoints", used, tt.least, tt.most)
			}
		})
	}
}

// chats sends the turns of many chats, each on the next worker, which learn from each other what is two milliseconds old, and
// returns the share of blocks that were found in an index with room for half of them.
func chats(t *testing.T, workers int, seed uint64) float64 {
	const (
		endpoints, count, turns = 8, 40, 12
		perTurn                 = 6 // blocks
	)
	p := testPlan(endpoints)
	p.Prefix.LRUCapacityPerServer = count * turns * perTurn / endpoints / 2
	x := newProcess(t, workers, p)
	rand := scorers.NewRand(seed)
	var next [count]int // turn of each chat
	var matched, total int
	type under struct {
		q   *request
		end uint64
	}
	var flight []under
	now, looked := uint64(1000*ms), make([]uint64, workers)
	for k := range count * turns {
		now += 1_500_000
		for len(flight) > 0 && flight[0].end <= now {
			x.s[flight[0].q.worker].Done(now, &flight[0].q.d, false)
			x.write(flight[0].q.worker, now)
			flight = flight[1:]
		}
		c := rand.Intn(count)
		next[c]++
		ids := make([]uint64, next[c]*perTurn)
		for b := range ids {
			ids[b] = uint64(c+1)<<32 | uint64(b)
		}
		w := k % workers
		if now-looked[w] >= 2*ms {
			x.look(w)
			looked[w] = now
		}
		q := x.send(w, now, ids, "")
		matched, total = matched+int(q.d.Match[0]), total+int(q.d.Total)
		x.s[w].FirstByte(&q.d)
		flight = append(flight, under{q, now + 20*ms})
	}
	return float64(matched) / float64(total)
}

// TestTurnsAlternateOverWorkers compares the hit rate of chats whose turns come to four workers in turn with that of one worker.
func TestTurnsAlternateOverWorkers(t *testing.T) {
	one, four := 0.0, 0.0
	const seeds = 8
	for seed := range uint64(seeds) {
		one, four = one+chats(t, 1, seed+1)/seeds, four+chats(t, 4, seed+1)/seeds
	}
	t.Logf("hit rate: one worker %.4f, four %.4f", one, four)
	if one < .3 {
		t.Fatalf("one worker finds %.4f, too little to compare with", one)
	}
	if four < .97*one {
		t.Errorf("four workers find %.4f, one finds %.4f", four, one)
	}
}

// TestSimultaneousRequests sends 200 cold requests to eight endpoints whose caches are unequally full, with a snapshot that stays
// as it is, over workers each of which looks at what the others did once while so many requests come, at its own time.
func TestSimultaneousRequests(t *testing.T) {
	const endpoints, requests = 8, 200
	p := testPlan(endpoints)
	var m []metrics
	for i := range endpoints {
		m = append(m, metrics{kv: .1 * float32(i)})
	}
	for _, tt := range []struct{ workers, every int }{{1, 1}, {4, 4}, {4, 20}, {4, 80}, {16, 16}, {16, 64}} {
		t.Run(fmt.Sprintf("%d workers, looking once in %d", tt.workers, tt.every), func(t *testing.T) {
			worst := 0
			for seed := range uint64(10) {
				x := newProcess(t, tt.workers, p)
				for i, s := range x.s {
					s.rand = scorers.NewRand(seed*10 + uint64(i) + 1)
					publish(t, s, p, 1, 999*ms, m...)
					x.write(i, 999*ms)
				}
				used := map[string]int{}
				for k := range requests {
					w, own := k%tt.workers, k/tt.workers // the next one of this worker
					between := tt.every / tt.workers
					if (own+w*between/tt.workers)%between == 0 {
						x.look(w)
					}
					used[x.at(x.send(w, 1000*ms+uint64(k), []uint64{uint64(k + 1), uint64(k + 2)}, ""))]++
				}
				busiest := 0
				for _, n := range used {
					busiest = max(busiest, n)
				}
				if limit := requests * 12 / endpoints / 10; busiest > limit {
					t.Errorf("seed %d: %v, the busiest has %d, want at most %d", seed, used, busiest, limit)
				}
				worst = max(worst, busiest)
			}
			t.Logf("the busiest has at most %d", worst)
		})
	}
}

// TestOneLateScrapeOfASingleEndpoint has an endpoint alone whose scrape gets older and older: requests go there all the same.
func TestOneLateScrapeOfASingleEndpoint(t *testing.T) {
	p := testPlan(1)
	x := newProcess(t, 2, p)
	for i, s := range x.s {
		publish(t, s, p, 1, 1000*ms, metrics{waiting: 3})
		x.write(i, 1000*ms)
	}
	for k, now := range []uint64{1001 * ms, 1900 * ms, 5000 * ms, 500_000 * ms} {
		x.look(k % 2)
		if q := x.send(k%2, now, []uint64{uint64(k)}, ""); q.d.Cur < 0 {
			t.Errorf("at %d ms nothing is picked: reason %d", now/ms, q.d.Reason)
		}
	}
}

// TestSessionsOverWorkers has the turns of sessions come to four workers in turn: each stays where its first turn went.
func TestSessionsOverWorkers(t *testing.T) {
	x := newProcess(t, 4, sessionPlan(5, "session_id"))
	homes := map[string][]string{}
	for k := range 120 {
		now := uint64(1000+3*k) * ms
		session := fmt.Sprint("session ", k%12)
		x.look(k % 4)
		q := x.send(k%4, now, []uint64{uint64(k)}, session)
		if home := x.at(q); !slices.Contains(homes[session], home) {
			homes[session] = append(homes[session], home)
		}
		x.s[q.worker].Done(now+ms, &q.d, false)
		x.write(q.worker, now+ms)
	}
	for session, at := range homes {
		if len(at) != 1 {
			t.Errorf("%s was at %v", session, at)
		}
	}
}
