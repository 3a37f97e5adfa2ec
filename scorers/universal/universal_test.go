package universal

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// chainOf returns the running hash of blocks.
func chainOf(blocks ...int) []uint64 {
	out := make([]uint64, len(blocks))
	h := uint64(1)
	for i, b := range blocks {
		h = (h ^ uint64(b)) * 0x9E3779B97F4A7C15
		h ^= h >> 29
		out[i] = h
	}
	return out
}

// prompt returns head followed by n blocks that nobody else has.
func prompt(head []int, n int, unique *int) []uint64 {
	blocks := append([]int(nil), head...)
	for range n {
		*unique++
		blocks = append(blocks, 1_000_000+*unique)
	}
	return chainOf(blocks...)
}

func TestUniversal(t *testing.T) {
	system := []int{1, 2, 3, 4, 5}
	other := []int{1, 2, 9, 9}
	tests := []struct {
		name     string
		requests int
		head     func(i int) []int
		want     int // universal blocks of a new request with head system
	}{
		{"below the sample", MinSample - 1, func(int) []int { return system }, 0},
		{"everyone", MinSample, func(int) []int { return system }, 5},
		{"nobody", 200, func(i int) []int { return []int{100 + i} }, 0},
		{"two thirds", 200, func(i int) []int {
			if i%3 == 0 {
				return []int{100 + i}
			}
			return system
		}, 5},
		{"one third", 200, func(i int) []int {
			if i%3 != 0 {
				return []int{100 + i}
			}
			return system
		}, 0},
		{"everyone shares the head, two thirds the rest", 400, func(i int) []int {
			if i%3 == 0 {
				return other
			}
			return system
		}, 5},
		{"everyone shares the head, a quarter each the rest", 200, func(i int) []int {
			return []int{1, 2, 50 + i%4}
		}, 2},
		{"first request is an outlier", MinSample + 3, func(i int) []int {
			if i == 0 {
				return []int{77}
			}
			return system
		}, 5},
		{"forgotten after a change", 300, func(i int) []int {
			if i < 100 {
				return system
			}
			return []int{8, 8, 8}
		}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f, unique := New(64), 0
			for i := range tt.requests {
				f.Observe(prompt(tt.head(i), 3, &unique))
			}
			if got := f.Len(prompt(system, 3, &unique)); got != tt.want {
				t.Errorf("universal blocks = %d, want %d", got, tt.want)
			}
		})
	}
}

func TestResetForgets(t *testing.T) {
	f := New(8)
	for range 2 * MinSample {
		f.Observe(chainOf(1, 2))
	}
	f.Reset(1)
	if got := f.Len(chainOf(1, 2)); got != 0 {
		t.Errorf("universal blocks after Reset = %d", got)
	}
	for range 2 * MinSample {
		f.Observe(chainOf(1, 2))
	}
	if got := f.Len(chainOf(1, 2)); got != 1 {
		t.Errorf("universal blocks = %d with a bound of 1", got)
	}
}

// TestMedian compares the incremental median of a reference with counting.
func TestMedian(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f, chain := New(30), chainOf(make([]int, 30)...)
		for range references {
			f.enter(chain)
		}
		f.since = math.MinInt32 // no other reference
		r := &f.refs[0]
		var all []int
		all = append(all, 30)
		for _, l := range rapid.SliceOfN(rapid.IntRange(0, 30), 0, 3*Window).Draw(t, "lengths") {
			f.Observe(chain[:l])
			all = append(all, l)
			last := all[max(0, len(all)-Window):]
			want := 0
			for u := 1; u <= 30 && len(last) >= MinSample; u++ {
				reach := 0
				for _, v := range last {
					if v >= u {
						reach++
					}
				}
				if 2*reach >= len(last) {
					want = u
				}
			}
			if r.universal != want {
				t.Fatalf("universal = %d, want %d of %v", r.universal, want, last)
			}
		}
	})
}

func TestSteadyStateAllocatesNothing(t *testing.T) {
	f, unique := New(64), 0
	chains := make([][]uint64, 100)
	for i := range chains {
		chains[i] = prompt([]int{1, 2, i % 7}, 61, &unique)
	}
	n := 0
	request := func() {
		f.Len(chains[n%len(chains)])
		f.Observe(chains[n%len(chains)])
		n++
	}
	for range 500 {
		request()
	}
	if got := testing.AllocsPerRun(1000, request); got != 0 {
		t.Errorf("%v allocations per request", got)
	}
}

func BenchmarkObserve(b *testing.B) {
	f, unique := New(2048), 0
	chains := make([][]uint64, 100)
	for i := range chains {
		chains[i] = prompt([]int{1, 2, i % 7}, 2000, &unique)
	}
	n := 0
	for b.Loop() {
		f.Observe(chains[n%len(chains)])
		n++
	}
}
