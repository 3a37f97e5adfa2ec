package sched

import (
	"strconv"
	"testing"
)

// traffic prepares a scheduler with n endpoints that have seen prompts of the given length, and returns a function that
// routes one more request through its whole life.
func traffic(t testing.TB, n, blocks int) func() {
	p := testPlan(n)
	for i := range p.Endpoints {
		p.Endpoints[i].Address = "10.0." + strconv.Itoa(i/250) + "." + strconv.Itoa(i%250+1) + ":80"
	}
	p.Prefix.LRUCapacityPerServer = max(2*blocks, 64)
	p.Bounds.IndexBlocks = 1 << 17
	s := newScheduler(t, p)
	prompts := make([][]uint64, 16)
	for i := range prompts {
		prompts[i] = make([]uint64, blocks)
		for b := range prompts[i] {
			prompts[i][b] = uint64(i<<20 + b + 1)
			if b < blocks/2 {
				prompts[i][b] = uint64(i%4<<20 + b + 1)
			}
		}
	}
	ids := make([]uint64, blocks)
	starts := []int32{0}
	var d Decision
	now, k := uint64(1*ms), 0
	request := func() {
		now += ms
		copy(ids, prompts[k%len(prompts)])
		k++
		pr := Prompt{Seed: 7, IDs: ids, Starts: starts, Tokens: blocks * 64, BlockTokens: 64}
		s.Decide(now, &pr, &d)
		s.Commit(now, &pr, &d)
		s.Next(now, &d)
		s.Status(now, &d, 200)
		s.FirstByte(&d)
		s.Done(now, &d, false)
	}
	for range 4 * len(prompts) * min(n, 16) {
		request()
	}
	return request
}

func BenchmarkRequest(b *testing.B) {
	for _, n := range []int{4, 16, 100, 1000} {
		for _, blocks := range []int{10, 100, 2048} {
			b.Run(strconv.Itoa(n)+"x"+strconv.Itoa(blocks), func(b *testing.B) {
				request := traffic(b, n, blocks)
				b.ReportAllocs()
				for b.Loop() {
					request()
				}
			})
		}
	}
}

func TestRequestAllocatesNothing(t *testing.T) {
	for _, n := range []int{4, 100} {
		for _, blocks := range []int{10, 2048} {
			t.Run(strconv.Itoa(n)+"x"+strconv.Itoa(blocks), func(t *testing.T) {
				if got := testing.AllocsPerRun(200, traffic(t, n, blocks)); got != 0 {
					t.Errorf("%v allocations per request", got)
				}
			})
		}
	}
}
