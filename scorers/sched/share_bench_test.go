package sched

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/zerohop/zerohop/shared/loads"
	"github.com/zerohop/zerohop/shared/plan"
)

// discard is a log that keeps the newest record only.
type discard struct{ record []byte }

func (d *discard) Append(record []byte) bool {
	d.record = append(d.record[:0], record...)
	return false
}

func (d *discard) Fetch(uint64) bool { return false }

// many returns a plan of n endpoints with room for prompts of the given length.
func many(n, blocks int) *plan.Plan {
	p := testPlan(n)
	for i := range p.Endpoints {
		p.Endpoints[i].Address = "10.0." + strconv.Itoa(i/250) + "." + strconv.Itoa(i%250+1) + ":80"
	}
	p.Prefix.LRUCapacityPerServer = max(2*blocks, 64)
	p.Bounds.IndexBlocks = 1 << 17
	return p
}

// picks returns a scheduler that logs, and a function that makes it pick once.
func picks(t testing.TB, blocks int, l Log) (*Scheduler, func()) {
	s := newScheduler(t, many(16, blocks))
	s.ShareWith(l, 1)
	ids, starts, now, k := make([]uint64, blocks), []int32{0}, uint64(1*ms), uint64(0)
	var d Decision
	return s, func() {
		now += ms
		k++
		for i := range ids {
			ids[i] = k%16<<20 + uint64(i)
		}
		pr := Prompt{Seed: 7, IDs: ids, Starts: starts, Tokens: blocks * 64, BlockTokens: 64}
		s.Decide(now, &pr, &d)
		s.Commit(now, &pr, &d)
		s.Done(now, &d, false)
	}
}

// BenchmarkPick is a request that is decided, committed and done at once, alone and with peers to tell of it.
func BenchmarkPick(b *testing.B) {
	for _, blocks := range []int{24, 240, 1600} {
		for _, l := range []Log{nil, &discard{}} {
			b.Run(fmt.Sprintf("%d blocks, shared=%v", blocks, l != nil), func(b *testing.B) {
				_, pick := picks(b, blocks, l)
				for range 64 {
					pick()
				}
				b.ReportAllocs()
				for b.Loop() {
					pick()
				}
			})
		}
	}
}

// records returns the records of some picks.
func records(t testing.TB, blocks, n int) [][]byte {
	l := &memory{}
	_, pick := picks(t, blocks, l)
	for range n {
		pick()
	}
	return l.records
}

func BenchmarkFold(b *testing.B) {
	for _, blocks := range []int{24, 240, 1600} {
		b.Run(strconv.Itoa(blocks), func(b *testing.B) {
			list := records(b, blocks, 64)
			s := newScheduler(b, many(16, blocks))
			i := 0
			b.ReportAllocs()
			for b.Loop() {
				if s.Fold(list[i%len(list)]) != Folded {
					b.Fatal("a record was refused")
				}
				i++
			}
		})
	}
}

// busyPeers returns a scheduler of n endpoints and two vectors of each peer, between which one endpoint changed or all did.
func busyPeers(t testing.TB, n, peers int, all bool) (*Scheduler, [2][]loads.View) {
	p := many(n, 0)
	s := newScheduler(t, p)
	s.ShareWith(&discard{}, 1)
	var out [2][]loads.View
	for i := range peers {
		for k := range out {
			b := loads.Seal(loads.Resize(nil, n), &loads.Header{Epoch: uint64(i + 1), Layout: 1, At: uint64(k+1) * ms}, nil)
			for e, id := range s.View().ID[:n] {
				x := loads.Entry{ID: id, InFlight: 5, Tokens: 999}
				if k == 1 && (all || e == i%n) {
					x.InFlight++
				}
				loads.SetEntry(b, e, &x)
			}
			v, err := loads.Open(b)
			if err != nil {
				t.Fatal(err)
			}
			out[k] = append(out[k], v)
		}
	}
	return s, out
}

// BenchmarkMerge merges the vectors of all peers, each of which has changed at one endpoint or at all.
func BenchmarkMerge(b *testing.B) {
	for _, n := range []int{16, 1000} {
		for _, peers := range []int{3, 63} {
			for _, all := range []bool{false, true} {
				b.Run(fmt.Sprintf("%d endpoints, %d peers, all=%v", n, peers, all), func(b *testing.B) {
					s, vectors := busyPeers(b, n, peers, all)
					k := 0
					b.ReportAllocs()
					for b.Loop() {
						for i := range peers {
							s.Merge(i, &vectors[k%2][i])
						}
						k++
					}
				})
			}
		}
	}
}

// BenchmarkDump writes and restores chunks of 64 KiB.
func BenchmarkDump(b *testing.B) {
	s := newScheduler(b, many(16, 4096))
	for _, r := range records(b, 1600, 64) {
		s.Fold(r)
	}
	chunk := make([]byte, 0, 64<<10)
	b.Run("write", func(b *testing.B) {
		var c DumpCursor
		b.ReportAllocs()
		for b.Loop() {
			chunk = s.AppendDump(chunk[:0], 1, &c, cap(chunk))
		}
	})
	b.Run("restore", func(b *testing.B) {
		var c DumpCursor
		chunk = s.AppendDump(chunk[:0], 1, &c, cap(chunk))
		fresh := newScheduler(b, many(16, 4096))
		b.ReportAllocs()
		for b.Loop() {
			b.StopTimer()
			fresh.index.Flush()
			b.StartTimer()
			if _, ok := fresh.Restore(chunk); !ok {
				b.Fatal("a chunk was refused")
			}
		}
	})
}

func TestSharingAllocatesNothing(t *testing.T) {
	p := sessionPlan(4, "session_id", "no-hit-lru-scorer")
	x := newProcess(t, 2, p)
	l := &discard{}
	x.s[0].ShareWith(l, 1)
	for k := range 40 {
		q := x.send(0, uint64(1000+k)*ms, []uint64{uint64(k % 4), 1, 2}, "s")
		x.s[0].Done(uint64(1000+k)*ms, &q.d, false)
	}
	_, pick := picks(t, 24, l)
	_, vectors := busyPeers(t, 16, 3, true)
	reader := newScheduler(t, many(16, 24))
	reader.ShareWith(&discard{}, 2)
	chunk, cursor := make([]byte, 0, 4096), DumpCursor{}
	k := 0
	cycle := func() {
		pick()
		if reader.Fold(l.record) != Folded {
			t.Fatal("a record was refused")
		}
		for i := range vectors[0] {
			reader.Merge(i, &vectors[k%2][i])
		}
		k++
		reader.Vector(uint64(k), 1)
		chunk = reader.AppendDump(chunk[:0], uint64(k), &cursor, cap(chunk))
		reader.Restore(chunk)
	}
	for range 200 {
		cycle()
	}
	if n := testing.AllocsPerRun(100, cycle); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// BenchmarkDumpOfOne is a chunk of a dump in the midst of an index whose blocks are all of one endpoint.
func BenchmarkDumpOfOne(b *testing.B) {
	const blocks = 1 << 20
	p := many(1, 1)
	p.Bounds.IndexBlocks, p.Prefix.LRUCapacityPerServer = blocks, blocks
	s := newScheduler(b, p)
	ids := make([]uint64, 1024)
	for i := range blocks / len(ids) {
		for k := range ids {
			ids[k] = uint64(i*len(ids)+k) * 0x9E3779B97F4A7C15
		}
		s.index.Record(ids, s.fleet.Live()[0])
	}
	var c DumpCursor
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		buf = s.AppendDump(buf[:0], 1, &c, 64<<10)
	}
}
