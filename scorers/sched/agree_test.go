package sched

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestWorkersComeToAgree has workers route requests and tell each other in any order. In the end each holds in its index what one
// scheduler would that saw all picks, the plugins remember the same, and each believes the sum of what is in flight.
func TestWorkersComeToAgree(t *testing.T) {
	p := sessionPlan(4, "session_id", "no-hit-lru-scorer")
	rapid.Check(t, func(r *rapid.T) {
		const n = 3
		x := newProcess(t, n, p)
		one := newScheduler(t, p)
		var live []*request
		now, lossy := uint64(1000*ms), false
		worker := func(r *rapid.T) int { return rapid.IntRange(0, n-1).Draw(r, "worker") }
		r.Repeat(map[string]func(*rapid.T){
			"send": func(r *rapid.T) {
				now += ms
				ids := rapid.SliceOfN(rapid.Uint64Range(1, 3), 0, 5).Draw(r, "blocks")
				q := x.send(worker(r), now, ids, rapid.SampledFrom([]string{"", "s", "t", "u"}).Draw(r, "session"))
				live = append(live, q)
				chain := promptOf(ids)
				one.request(now, chain)
				one.lookUp(chain, &Decision{})
				one.index.Record(chain.IDs, slotOf(t, one, x.at(q)))
			},
			"first byte": func(r *rapid.T) {
				if len(live) > 0 {
					q := rapid.SampledFrom(live).Draw(r, "request")
					x.s[q.worker].FirstByte(&q.d)
					x.write(q.worker, now)
				}
			},
			"end": func(r *rapid.T) {
				if len(live) > 0 {
					i := rapid.IntRange(0, len(live)-1).Draw(r, "request")
					q := live[i]
					x.s[q.worker].Done(now, &q.d, false)
					x.s[q.worker].Done(now, &q.d, false)
					x.write(q.worker, now)
					live = slices.Delete(live, i, i+1)
				}
			},
			"hear": func(r *rapid.T) {
				if i, peer := worker(r), worker(r); i != peer {
					x.hear(i, peer)
				}
			},
			"fold": func(r *rapid.T) {
				if i, peer := worker(r), worker(r); i != peer {
					x.fold(i, peer, rapid.IntRange(1, 4).Draw(r, "records"))
				}
			},
			"lose": func(r *rapid.T) {
				if i, peer := worker(r), worker(r); i != peer && rapid.IntRange(0, 9).Draw(r, "rarely") == 0 && x.seen[i][peer] < len(x.log[peer].records) {
					x.seen[i][peer]++
					lossy = true
				}
			},
			"peer is silent": func(r *rapid.T) {
				if i, peer := worker(r), worker(r); i != peer {
					x.s[i].Leave(peer)
				}
			},
			"": func(r *rapid.T) {
				for _, s := range x.s {
					sane(r, s)
				}
			},
		})
		x.exchange(now)
		want, first := sorted(blocks(one)), events(x.s[0])
		truth := map[string]load{}
		for _, q := range live {
			l := truth[x.at(q)]
			l.InFlight++
			if q.d.State&holdsPrefill != 0 {
				l.Tokens += int64(q.d.Charged)
			}
			truth[x.at(q)] = l
		}
		for i, s := range x.s {
			if got := sorted(blocks(s)); !lossy {
				if diff := cmp.Diff(want, got); diff != "" {
					r.Fatalf("index of worker %d (-one scheduler +got):\n%s", i, diff)
				}
				if diff := cmp.Diff(first, events(s)); diff != "" {
					r.Fatalf("plugins of worker %d (-worker 0 +got):\n%s", i, diff)
				}
			} else {
				for name, held := range got {
					for _, h := range held {
						if !slices.Contains(want[name], h) {
							r.Fatalf("worker %d believes that %s holds %x, which nobody sent there", i, name, h)
						}
					}
				}
			}
			if diff := cmp.Diff(truth, booked(s)); diff != "" {
				r.Fatalf("in flight at worker %d (-true sum +got):\n%s", i, diff)
			}
		}
		for _, q := range live {
			x.s[q.worker].Done(now, &q.d, false)
		}
		x.exchange(now)
		for i, s := range x.s {
			if left := booked(s); len(left) > 0 {
				r.Fatalf("worker %d at rest: %v", i, left)
			}
		}
		if x.results[Folded] > 0 && len(x.results) > 1 {
			r.Fatalf("results of folding: %v", x.results)
		}
	})
}

// TestFoldedInOrder folds picks in the order in which they were made, in an index that has to evict: order and evictions are
// those of one scheduler that saw all.
func TestFoldedInOrder(t *testing.T) {
	p := testPlan(3)
	p.Prefix.LRUCapacityPerServer = 7
	rapid.Check(t, func(r *rapid.T) {
		x, one := newProcess(t, 3, p), newScheduler(t, p)
		for i := range rapid.IntRange(1, 40).Draw(r, "requests") {
			now := uint64(i+1) * ms
			ids := rapid.SliceOfN(rapid.Uint64Range(1, 3), 1, 5).Draw(r, "blocks")
			q := x.send(rapid.IntRange(0, 2).Draw(r, "worker"), now, ids, "")
			chain := promptOf(ids)
			one.request(now, chain)
			one.lookUp(chain, &Decision{})
			one.index.Record(chain.IDs, slotOf(t, one, x.at(q)))
			x.s[q.worker].Done(now, &q.d, false)
			x.exchange(now)
		}
		for i, s := range x.s {
			if diff := cmp.Diff(blocks(one), blocks(s)); diff != "" {
				r.Fatalf("index of worker %d (-one scheduler +got):\n%s", i, diff)
			}
		}
	})
}

// TestWithdrawalsReachPeers has requests fail and move on to other endpoints, of which the workers tell each other at once: their
// indices and plugins stay the same, evictions included.
func TestWithdrawalsReachPeers(t *testing.T) {
	p := sessionPlan(3, "session_id", "no-hit-lru-scorer")
	p.Prefix.LRUCapacityPerServer = 9
	rapid.Check(t, func(r *rapid.T) {
		x := newProcess(t, 2, p)
		now := uint64(1000 * ms)
		for range rapid.IntRange(1, 25).Draw(r, "requests") {
			now += rapid.Uint64Range(1, 2000).Draw(r, "ms") * ms
			ids := rapid.SliceOfN(rapid.Uint64Range(1, 2), 1, 5).Draw(r, "blocks")
			q := x.send(rapid.IntRange(0, 1).Draw(r, "worker"), now, ids, rapid.SampledFrom([]string{"", "s", "t"}).Draw(r, "session"))
			x.exchange(now)
			s := x.s[q.worker]
			for range rapid.IntRange(0, 2).Draw(r, "retries") {
				now += ms
				if next := s.Next(now, &q.d); next >= 0 {
					s.Retry(now, &q.d, next, s.Gen(next))
					x.exchange(now)
				}
			}
			now += ms
			s.Done(now, &q.d, rapid.Bool().Draw(r, "failed"))
			x.exchange(now)
			if diff := cmp.Diff(blocks(x.s[0]), blocks(x.s[1])); diff != "" {
				r.Fatalf("index (-worker 0 +worker 1):\n%s", diff)
			}
			if diff := cmp.Diff(events(x.s[0]), events(x.s[1])); diff != "" {
				r.Fatalf("plugins (-worker 0 +worker 1):\n%s", diff)
			}
			if diff := cmp.Diff(health(x.s[0]), health(x.s[1])); diff != "" {
				r.Fatalf("health (-worker 0 +worker 1):\n%s", diff)
			}
		}
		for i, s := range x.s {
			if left := booked(s); len(left) > 0 {
				r.Fatalf("worker %d at rest: %v", i, left)
			}
		}
	})
}

// TestHealthIsShared has endpoints fail, recover and be probed on several workers.
func TestHealthIsShared(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		x := newProcess(t, 3, testPlan(3))
		now := uint64(1000 * ms)
		for range rapid.IntRange(1, 25).Draw(r, "requests") {
			now += rapid.Uint64Range(1, 900).Draw(r, "ms") * ms
			i := rapid.IntRange(0, 2).Draw(r, "worker")
			if rapid.Bool().Draw(r, "look") {
				x.look(i)
			}
			q := x.send(i, now, []uint64{1}, "")
			now += ms
			switch rapid.IntRange(0, 3).Draw(r, "end") {
			case 0:
				x.s[i].Done(now, &q.d, true)
			case 1:
				x.s[i].Done(now, &q.d, false)
			default:
				x.s[i].Status(now, &q.d, rapid.SampledFrom([]int{200, 500}).Draw(r, "status"))
				now++
				x.s[i].Done(now, &q.d, false)
			}
		}
		x.exchange(now)
		for i, s := range x.s {
			if diff := cmp.Diff(health(x.s[0]), health(s)); diff != "" {
				r.Fatalf("health at worker %d (-worker 0 +got):\n%s", i, diff)
			}
			usable := 0
			for _, slot := range s.fleet.Live() {
				if !s.fleet.Usable(now, slot) {
					usable++
				}
			}
			if cand, _ := s.fleet.Candidates(now, nil); usable < len(s.fleet.Live()) && len(cand) == 0 {
				r.Fatalf("worker %d has no candidates", i)
			}
		}
	})
}
