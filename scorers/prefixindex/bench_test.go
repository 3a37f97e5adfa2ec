package prefixindex

import (
	"strconv"
	"testing"
)

// spread returns n well-mixed chain hashes that depend on id.
func spread(id uint64, n int) []uint64 {
	out := make([]uint64, n)
	h := id
	for i := range out {
		h = (h + 0x9E3779B97F4A7C15) * 0xBF58476D1CE4E5B9
		h ^= h >> 31
		out[i] = h
	}
	return out
}

func BenchmarkMatch(b *testing.B) {
	for _, slots := range []int{16, 64, 100, 1000} {
		for _, blocks := range []int{100, 2048} {
			b.Run(strconv.Itoa(slots)+"x"+strconv.Itoa(blocks), func(b *testing.B) {
				x := New(slots*blocks + 1<<16)
				x.SetCapacities(make64(slots, blocks))
				chain := spread(1, blocks)
				for s := range slots {
					x.Record(chain, int32(s))
				}
				match := make([]int32, slots)
				b.ReportAllocs()
				for b.Loop() {
					clear(match)
					x.Match(chain, match)
				}
			})
		}
	}
}

// BenchmarkMatchStaggered matches a chain of which each endpoint holds another length.
func BenchmarkMatchStaggered(b *testing.B) {
	const slots, blocks = 1000, 2048
	x := New(slots * blocks)
	x.SetCapacities(make64(slots, blocks))
	chain := spread(1, blocks)
	for s := range slots {
		x.Record(chain[:blocks*(s+1)/slots], int32(s))
	}
	match := make([]int32, slots)
	for b.Loop() {
		clear(match)
		x.Match(chain, match)
	}
}

func BenchmarkRecord(b *testing.B) {
	const blocks, capacity = 1600, 31250
	b.Run("new", func(b *testing.B) {
		x := New(capacity)
		x.SetCapacities([]int{capacity})
		chain := make([]uint64, blocks)
		n := uint64(0)
		record := func() {
			for i := range chain {
				n++
				chain[i] = n * 0xD6E8FEB86659FD93
			}
			x.Record(chain, 0)
		}
		for range 100 {
			record()
		}
		b.ReportAllocs()
		for b.Loop() {
			record()
		}
	})
	b.Run("again", func(b *testing.B) {
		x := New(capacity)
		x.SetCapacities([]int{capacity})
		chains := make([][]uint64, 8)
		for i := range chains {
			chains[i] = spread(uint64(i), blocks)
		}
		i := 0
		b.ReportAllocs()
		for b.Loop() {
			x.Record(chains[i%len(chains)], 0)
			i++
		}
	})
	b.Run("shared", func(b *testing.B) {
		x := New(8 * capacity)
		x.SetCapacities(make64(8, capacity))
		chains := make([][]uint64, 64)
		for i := range chains {
			chains[i] = spread(uint64(i), blocks)
		}
		i := 0
		b.ReportAllocs()
		for b.Loop() {
			x.Record(chains[i%len(chains)], int32(i%7))
			i++
		}
	})
}
