package sched

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zerohop/zerohop/scorers"
	"github.com/zerohop/zerohop/scorers/prefixindex"
	"github.com/zerohop/zerohop/shared/plan"
)

// dumpOf returns the chunks of one whole dump of s.
func dumpOf(t testing.TB, s *Scheduler, limit int) [][]byte {
	t.Helper()
	var out [][]byte
	var c DumpCursor
	for range 100_000 {
		b := s.AppendDump([]byte("before"), 5000*ms, &c, limit)
		if len(b)-len("before") > limit {
			t.Fatalf("a chunk of %d bytes, want at most %d", len(b), limit)
		}
		if out = append(out, b[len("before"):]); c == (DumpCursor{}) {
			return out
		}
	}
	t.Fatal("the dump does not end")
	return nil
}

// TestRestoreOfADump restores a scheduler whose endpoints are in other slots from the chunks of another.
func TestRestoreOfADump(t *testing.T) {
	p := sessionPlan(5, "session_id", "no-hit-lru-scorer")
	p.Prefix.LRUCapacityPerServer = 150
	for _, limit := range []int{1200, 4000, 64 << 10} {
		t.Run(fmt.Sprint(limit), func(t *testing.T) {
			x := newProcess(t, 1, p)
			rand := scorers.NewRand(5)
			for i := range 500 {
				ids := make([]uint64, 1+rand.Intn(12))
				for b := range ids {
					ids[b] = uint64(1 + rand.Intn(3))
				}
				now := uint64(1000+i) * ms
				q := x.send(0, now, ids, fmt.Sprint(rand.Intn(30)))
				x.s[0].Done(now, &q.d, i%50 == 49)
			}
			if len(health(x.s[0])) == 0 {
				t.Fatal("no endpoint has failed, the test tests less than it should")
			}
			fresh := newScheduler(t, rotated(p, 2))
			restored := 0
			for _, chunk := range dumpOf(t, x.s[0], limit) {
				n, ok := fresh.Restore(chunk)
				if restored += n; !ok {
					t.Fatal("a chunk was refused")
				}
			}
			if restored != x.s[0].index.Len() {
				t.Errorf("%d blocks restored, want %d", restored, x.s[0].index.Len())
			}
			if diff := cmp.Diff(blocks(x.s[0]), blocks(fresh)); diff != "" {
				t.Errorf("index (-dumped +restored):\n%s", diff)
			}
			if diff := cmp.Diff(events(x.s[0]), events(fresh)); diff != "" {
				t.Errorf("plugins (-dumped +restored):\n%s", diff)
			}
			if diff := cmp.Diff(health(x.s[0]), health(fresh)); diff != "" {
				t.Errorf("health (-dumped +restored):\n%s", diff)
			}
		})
	}
}

// TestDumpInParts goes on with requests between the chunks, whose records are folded after the dump: nothing is missing.
func TestDumpInParts(t *testing.T) {
	p := testPlan(2)
	x := newProcess(t, 1, p)
	n := uint64(0)
	send := func() {
		n++
		q := x.send(0, (1000+n)*ms, []uint64{n % 7, n % 5, n, n % 3}, "")
		x.s[0].Done((1000+n)*ms, &q.d, false)
	}
	for range 400 {
		send()
	}
	x.log[0].records = nil // what was logged before the dump began is overwritten
	fresh := newScheduler(t, rotated(p, 1))
	var c DumpCursor
	for done := false; !done; done = c == (DumpCursor{}) {
		if _, ok := fresh.Restore(x.s[0].AppendDump(nil, 5000*ms, &c, 1200)); !ok {
			t.Fatal("a chunk was refused")
		}
		send()
	}
	for _, r := range x.log[0].records {
		fresh.Fold(r)
	}
	if diff := cmp.Diff(sorted(blocks(x.s[0])), sorted(blocks(fresh))); diff != "" {
		t.Errorf("index (-dumped +restored):\n%s", diff)
	}
}

func TestRestoreRefuses(t *testing.T) {
	x := newProcess(t, 1, testPlan(2))
	x.send(0, 1000*ms, []uint64{1, 2}, "")
	chunk := dumpOf(t, x.s[0], 2000)[0]
	other := testPlan(2)
	other.Prefix.BlockSizeTokens = 128
	tests := []struct {
		name  string
		plan  *plan.Plan
		chunk []byte
	}{
		{"nothing", testPlan(2), nil},
		{"a chunk that was cut", testPlan(2), chunk[:len(chunk)-1]},
		{"another block size", other, chunk},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newScheduler(t, tt.plan)
			if n, ok := s.Restore(tt.chunk); ok || n != 0 || s.index.Len() != 0 {
				t.Errorf("restored %d blocks, %v", n, ok)
			}
		})
	}
	unknown := testPlan(3)
	unknown.Endpoints = unknown.Endpoints[2:]
	s := newScheduler(t, unknown)
	if n, ok := s.Restore(chunk); !ok || n != 0 {
		t.Errorf("a dump of other endpoints: %d blocks, %v", n, ok)
	}
}

// TestDumpEndsWhileBlocksAreUsed uses, after each chunk, the block with which the next one begins to look.
func TestDumpEndsWhileBlocksAreUsed(t *testing.T) {
	s := newScheduler(t, many(1, 1000))
	for id := range uint64(1000) {
		s.index.Record([]uint64{id + 1}, 0)
	}
	var c DumpCursor
	for chunks := 1; ; chunks++ {
		if chunks > 20 {
			t.Fatal("the dump does not end")
		}
		b := s.AppendDump(nil, 1, &c, 48+9*prefixindex.MaxRun)
		if c == (DumpCursor{}) {
			break
		}
		s.index.Record([]uint64{c.last}, 0)
		if len(b) == 0 {
			t.Fatal("no chunk")
		}
	}
}
