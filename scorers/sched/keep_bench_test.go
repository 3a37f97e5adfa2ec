package sched

import (
	"fmt"
	"testing"
)

// BenchmarkKeep measures what it costs a request that its prompt is kept, and a retry that it is moved.
func BenchmarkKeep(b *testing.B) {
	for _, blocks := range []int{24, 240, 1600} {
		hashes := make([]uint64, blocks)
		b.Run(fmt.Sprint(blocks, "/put"), func(b *testing.B) {
			var k keeper
			k.held = []uint32{0}
			b.ReportAllocs()
			for b.Loop() {
				k.put([]int32{0}, hashes)
			}
		})
		b.Run(fmt.Sprint(blocks, "/move"), func(b *testing.B) {
			s := newScheduler(b, testPlan(2))
			var d Decision
			p := promptOf(hashes)
			for i := range p.IDs {
				p.IDs[i] = uint64(i)
			}
			s.Decide(1, p, &d)
			s.Commit(1, p, &d)
			b.ReportAllocs()
			for b.Loop() {
				d.Attempt = 0
				slot := 1 - d.Cur
				s.Retry(2, &d, slot, s.Gen(slot))
			}
		})
	}
}
