package sessiontable

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// TestAgainstModel compares the table with a map, for which hashes are drawn so that many share a home.
func TestAgainstModel(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		limit := rapid.IntRange(1, 40).Draw(r, "limit")
		table, model := New(limit), map[uint64]Binding{}
		hash := rapid.Custom(func(r *rapid.T) uint64 {
			return rapid.Uint64Range(0, 3).Draw(r, "high")<<32 | rapid.SampledFrom([]uint64{0, 1, 2, 3, 61, 62, 63, 127}).Draw(r, "home")
		})
		now := uint64(1)
		r.Repeat(map[string]func(*rapid.T){
			"put": func(r *rapid.T) {
				now++
				h := hash.Draw(r, "hash")
				b := Binding{rapid.Int32Range(0, 9).Draw(r, "slot"), rapid.Uint32().Draw(r, "gen"), now}
				if h < 2 {
					delete(model, 1-h) // the two share a place
				}
				_, known := model[h]
				before := table.Replaced()
				table.Put(h, b)
				model[h] = b
				if replaced := table.Replaced() - before; replaced > 0 {
					if known || replaced != 1 || len(model) <= limit {
						r.Fatalf("%d replaced with %d of %d sessions, known %v", replaced, len(model), limit, known)
					}
					gone := 0
					for k := range model {
						if _, ok := table.Get(k); !ok {
							delete(model, k)
							gone++
						}
					}
					if gone != 1 {
						r.Fatalf("%d sessions have gone", gone)
					}
				}
			},
			"expire": func(r *rapid.T) {
				idle := rapid.Uint64Range(0, 20).Draw(r, "idle")
				share := rapid.SampledFrom([]float64{.01, .5, 1, 7}).Draw(r, "share")
				for range int(math.Ceil(1 / share)) {
					table.Expire(now, idle, share)
				}
				for h, b := range model {
					if now-b.Used > idle {
						delete(model, h)
					}
				}
			},
			"adopt": func(r *rapid.T) {
				other := rapid.IntRange(len(model), 60).Draw(r, "limit")
				next := New(other)
				next.Adopt(&table)
				table, limit = next, max(other, 1)
			},
			"": func(r *rapid.T) {
				if table.Len() != len(model) || table.Len() > limit || 2*table.Len() > len(table.places) {
					r.Fatalf("%d sessions, want %d; limit %d, %d places", table.Len(), len(model), limit, len(table.places))
				}
				for h, want := range model {
					if got, ok := table.Get(h); !ok || got != want {
						r.Fatalf("session %x: %v, %v; want %v", h, got, ok, want)
					}
				}
				if _, ok := table.Get(1 << 50); ok {
					r.Fatal("a session that was never put")
				}
			},
		})
	})
}

// TestOldestGivesWay fills the table beyond its limit: the sessions that stay are mostly the newest.
func TestOldestGivesWay(t *testing.T) {
	const limit, n = 1000, 3000
	table := New(limit)
	for i := range uint64(n) {
		table.Put(mix(i), Binding{Slot: int32(i), Used: i})
	}
	if table.Len() != limit || table.Replaced() != n-limit {
		t.Errorf("%d sessions, %d replaced", table.Len(), table.Replaced())
	}
	young := 0
	for i := uint64(n - limit); i < n; i++ {
		if _, ok := table.Get(mix(i)); ok {
			young++
		}
	}
	if young < limit*8/10 {
		t.Errorf("%d of %d sessions are among the newest %d", young, limit, limit)
	}
	if got := table.Bytes(); got > 96*limit {
		t.Errorf("%d bytes for %d sessions", got, limit)
	}
}

// TestNoneGivesWayBelowTheLimit fills a table of the default size with ordinary hashes.
func TestNoneGivesWayBelowTheLimit(t *testing.T) {
	const limit = 65536
	table := New(limit)
	for i := range uint64(limit) {
		table.Put(mix(i), Binding{Used: i})
	}
	if table.Len() != limit || table.Replaced() != 0 || table.Bytes() != 48*limit {
		t.Errorf("%d sessions, %d replaced, %d bytes", table.Len(), table.Replaced(), table.Bytes())
	}
}

// TestChosenHashes puts sessions that all have one home: each look-up stays short, and the rest of the table is not touched.
func TestChosenHashes(t *testing.T) {
	table := New(10000)
	for i := range uint64(1000) {
		table.Put(i<<32|5, Binding{Used: i})
	}
	if table.Len() != maxProbe || table.Replaced() != 1000-maxProbe {
		t.Errorf("%d sessions, %d replaced", table.Len(), table.Replaced())
	}
	if _, ok := table.Get(999<<32 | 5); !ok {
		t.Error("the newest is not there")
	}
	table.Put(3, Binding{Slot: 7})
	if b, ok := table.Get(3); !ok || b.Slot != 7 {
		t.Errorf("a neighbour: %v, %v", b, ok)
	}
}

// TestChosenHashesBesideAFullTable puts sessions far from all others: each look for one that gives way is short.
func TestChosenHashesBesideAFullTable(t *testing.T) {
	const limit = 2000
	table := New(limit)
	for i := range uint64(limit) {
		table.Put(i<<32|i, Binding{Used: i})
	}
	table.Put(1<<32|3000, Binding{})
	if table.Len() != limit || table.Replaced() != 1 {
		t.Errorf("%d sessions, %d replaced", table.Len(), table.Replaced())
	}
	if _, ok := table.Get(1<<32 | 3000); ok {
		t.Error("bound although the next session is a thousand places away")
	}
	table.Put(1<<33|1000, Binding{Slot: 5})
	if b, ok := table.Get(1<<33 | 1000); !ok || b.Slot != 5 || table.Len() != limit {
		t.Errorf("amid the others: %v, %v, %d sessions", b, ok, table.Len())
	}
}

func TestZero(t *testing.T) {
	var table Table
	if _, ok := table.Get(3); ok || table.Bytes() != 0 {
		t.Errorf("the empty table holds something: %d bytes", table.Bytes())
	}
	table.Expire(math.MaxUint64, 0, 1)
	old := New(8)
	table = New(4)
	table.Adopt(&old)
	table.Put(0, Binding{Slot: 3})
	if b, ok := table.Get(0); !ok || b.Slot != 3 {
		t.Errorf("session 0: %v, %v", b, ok)
	}
}

func TestAllocations(t *testing.T) {
	table := New(100)
	i := uint64(0)
	step := func() {
		i++
		table.Put(mix(i), Binding{Used: i})
		table.Get(mix(i / 2))
		table.Expire(i, 50, 1)
	}
	for range 200 {
		step()
	}
	if n := testing.AllocsPerRun(100, step); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkGetPut(b *testing.B) {
	table := New(65536)
	i := uint64(0)
	for b.Loop() {
		i++
		h := mix(i % 65536)
		table.Get(h)
		table.Put(h, Binding{Used: i})
	}
}

func BenchmarkExpire(b *testing.B) {
	table := New(65536)
	for i := range uint64(65536) {
		table.Put(mix(i), Binding{Used: i})
	}
	for b.Loop() {
		table.Expire(0, 0, 1)
	}
}

// mix spreads i as a hash would.
func mix(i uint64) uint64 {
	i ^= i >> 31
	i *= 0x7FB5D329728EA185
	i ^= i >> 27
	i *= 0x81DADEF4BC2DD44D
	return i ^ i>>33
}
