package simtest

import (
	"container/list"
	"testing"

	"github.com/zerohop/zerohop/e2e/replay/mooncake"
	"github.com/zerohop/zerohop/scorers/sched"
)

// cache is the prefix cache of an endpoint that computes in no time: an LRU of trace blocks. Equal ids stand for equal
// prefixes.
type cache struct {
	blocks   map[uint32]*list.Element
	order    *list.List // most recently used first
	capacity int
}

func newCache(tokens int) *cache {
	return &cache{blocks: map[uint32]*list.Element{}, order: list.New(), capacity: tokens / mooncake.BlockTokens}
}

// match returns how many leading blocks are cached.
func (c *cache) match(blocks []uint32) int {
	for i, b := range blocks {
		if c.blocks[b] == nil {
			return i
		}
	}
	return len(blocks)
}

// add caches blocks, the tail as the least recently used of them, as engines free it first.
func (c *cache) add(blocks []uint32) {
	for i := len(blocks) - 1; i >= 0; i-- {
		if e := c.blocks[blocks[i]]; e != nil {
			c.order.MoveToFront(e)
			continue
		}
		if c.order.Len() == c.capacity {
			delete(c.blocks, c.order.Remove(c.order.Back()).(uint32))
		}
		c.blocks[blocks[i]] = c.order.PushFront(blocks[i])
	}
}

// place sends the requests to caches by pick, and reports hits and balance.
func place(reqs []request, capacity int, pick func(i int, caches []*cache, uncached []float64) int) outcome {
	caches := make([]*cache, endpoints)
	for i := range caches {
		caches[i] = newCache(capacity)
	}
	requests, uncached := make([]float64, endpoints), make([]float64, endpoints)
	var hits, total float64
	for i := range reqs {
		e := pick(i, caches, uncached)
		m := caches[e].match(reqs[i].Blocks)
		caches[e].add(reqs[i].Blocks)
		hits += float64(m)
		total += float64(len(reqs[i].Blocks))
		requests[e]++
		uncached[e] += float64(len(reqs[i].Blocks) - m)
	}
	return outcome{hit: hits / total, busiest: imbalance(requests), uncached: imbalance(uncached)}
}

// greedy knows the caches: the longest match beyond the block that all requests share, then the least uncached load.
func greedy(reqs []request) func(int, []*cache, []float64) int {
	return func(i int, caches []*cache, uncached []float64) int {
		best, longest := 0, -1
		for e, c := range caches {
			m := max(0, c.match(reqs[i].Blocks)-1)
			if m > longest || m == longest && uncached[e] < uncached[best] {
				best, longest = e, m
			}
		}
		return best
	}
}

// TestPlacement compares placement alone with round robin and with the greedy reference. Endpoints that answer at once show no
// load, so that the default profile places cold requests at random, and the limit on the busiest is that of prefix only. Seed 1
// is the worst of 24 for it.
func TestPlacement(t *testing.T) {
	reqs := trace(t)
	type limits struct{ hit, busiest float64 }
	tests := []struct {
		name     string
		capacity int
		weights  [3]float64 // of the default profile's scorers
		want     limits
	}{
		{"3.07 M tokens, default profile", 3_072_000, [3]float64{2, 2, 3}, limits{.205, 1.5}},
		{"3.07 M tokens, prefix only", 3_072_000, [3]float64{0, 0, 1}, limits{.205, 1.5}},
		{"307 200 tokens, default profile", 307_200, [3]float64{2, 2, 3}, limits{.08, 1.5}},
		{"307 200 tokens, prefix only", 307_200, [3]float64{0, 0, 1}, limits{.08, 1.5}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			rr := place(reqs, tt.capacity, func(i int, _ []*cache, _ []float64) int { return i % endpoints })
			best := place(reqs, tt.capacity, greedy(reqs))
			got := place(reqs, tt.capacity, instant(t, reqs, tt.capacity, tt.weights))
			t.Logf("hit rate: round robin %.4f, greedy %.4f, scheduler %.4f; busiest %.3f, uncached %.3f",
				rr.hit, best.hit, got.hit, got.busiest, got.uncached)
			if got.hit < tt.want.hit || got.busiest > tt.want.busiest {
				t.Errorf("hit rate %.4f, busiest %.3f; want at least %.4f and at most %.3f", got.hit, got.busiest, tt.want.hit, tt.want.busiest)
			}
		})
	}
}

// instant routes with the scheduler to endpoints that answer and finish at once.
func instant(t *testing.T, reqs []request, capacity int, weights [3]float64) func(int, []*cache, []float64) int {
	w := newWorld(capacity)
	s, err := sched.New(profile(weights[0], weights[1], weights[2]), 1)
	if err != nil {
		t.Fatal(err)
	}
	s.Apply(w.view(), w.nanos(), w.nanos())
	p := &scheduler{s: s}
	return func(i int, _ []*cache, _ []float64) int {
		var f flight
		w.now = reqs[i].At
		e := p.pick(w, &reqs[i], &f)
		s.Status(w.nanos(), &f.d, 200)
		s.FirstByte(&f.d)
		s.Done(w.nanos(), &f.d, false)
		return e
	}
}
