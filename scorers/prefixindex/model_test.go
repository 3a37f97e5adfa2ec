package prefixindex

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// model is the index written down plainly: one list of hashes per slot, most recently used first.
type model struct {
	max   int
	caps  []int
	lists [][]uint64
}

func (m *model) setCapacities(caps []int) {
	sum := 0
	for _, c := range caps {
		sum += c
	}
	for len(m.lists) < len(caps) {
		m.lists = append(m.lists, nil)
		m.caps = append(m.caps, 0)
	}
	for i := range m.lists {
		c := 0
		if i < len(caps) {
			c = caps[i]
		}
		if sum > m.max {
			c = int(float64(c) / float64(sum) * float64(m.max))
		}
		m.caps[i] = c
		m.lists[i] = m.lists[i][:min(c, len(m.lists[i]))]
	}
}

func (m *model) record(chain []uint64, slot int) {
	chain = chain[:min(len(chain), m.caps[slot])]
	list := slices.Clone(chain)
	for _, k := range m.lists[slot] {
		if !slices.Contains(chain, k) {
			list = append(list, k)
		}
	}
	m.lists[slot] = list[:min(len(list), m.caps[slot])]
}

func (m *model) match(chain []uint64) []int32 {
	out := make([]int32, len(m.lists))
	for s, list := range m.lists {
		for _, k := range chain {
			if !slices.Contains(list, k) {
				break
			}
			out[s]++
		}
	}
	return out
}

// contents returns the recency list of each slot, checking the whole structure on the way.
func contents(t *rapid.T, x *Index) [][]uint64 { return walk(t, x, false) }

// walk is contents of an index whose runs may begin with the same hash, if chains were forged.
func walk(t *rapid.T, x *Index, forged bool) [][]uint64 {
	out := make([][]uint64, len(x.lists))
	holders := map[uint32]struct{ all, partial, most uint32 }{}
	total := 0
	for s := range x.lists {
		l := &x.lists[s]
		prev := uint32(0)
		for r := l.head; r != 0; r = x.recs[r].next {
			if x.recs[r].prev != prev || x.recs[r].slot() != uint32(s) {
				t.Fatalf("slot %d: record %d is %+v behind %d", s, r, x.recs[r], prev)
			}
			e, n := x.recs[r].run, x.recs[r].len()
			if got := x.findRecord(e, uint32(s)); got != r || !x.held(e, uint32(s)) {
				t.Fatalf("slot %d: record %d is found as %d, bit %v", s, r, got, x.held(e, uint32(s)))
			}
			if n == 0 || n > x.runs[e].len() || x.runs[e].len() > MaxRun || x.recs[r].what&onPath != 0 {
				t.Fatalf("slot %d: record %+v of run %+v", s, x.recs[r], x.runs[e])
			}
			for at := uint32(0); at < n; {
				part := x.blocks(e, at, n)
				out[s], at = append(out[s], part...), at+uint32(len(part))
			}
			h := holders[e]
			h.all++
			h.most = max(h.most, n)
			if n < x.runs[e].len() {
				h.partial++
			}
			holders[e] = h
			prev = r
		}
		if l.tail != prev || int(l.size) != len(out[s]) {
			t.Fatalf("slot %d: tail %d size %d, walked to %d over %d", s, l.tail, l.size, prev, len(out[s]))
		}
		total += len(out[s])
	}
	if total != x.records || len(holders) != x.table.n {
		t.Fatalf("%d records and %d runs counted, %d and %d walked", x.records, x.table.n, total, len(holders))
	}
	for e, h := range holders {
		if r := x.runs[e]; r.holders != h.all || r.partial() != h.partial || r.len() != h.most || x.find(r.keys[0]) == 0 || !forged && x.find(r.keys[0]) != e {
			t.Fatalf("run %d is %+v, found at %d; walked %+v", e, r, x.find(r.keys[0]), h)
		}
	}
	runs, recs := 1, 1
	for e, h := range holders {
		runs += int(partsOf(x.runs[e].len()))
		recs += int(h.all)
		for p, left := x.runs[e].next, partsOf(x.runs[e].len()); left > 1; p, left = x.runs[p].next, left-1 {
			if x.runs[p].holders != 0 || slices.Max(x.bitset(p)) != 0 {
				t.Fatalf("part %d of run %d: %+v", p, e, x.runs[p])
			}
		}
	}
	for e := x.freeRun; e != 0; e = x.runs[e].next {
		if runs++; runs > x.usedRun || x.runs[e].holders != 0 || slices.Max(x.bitset(e)) != 0 {
			t.Fatalf("run %d is free: %+v", e, x.runs[e])
		}
	}
	for r := x.freeRec; r != 0 && recs <= x.usedRec; r = x.recs[r].next {
		recs++
	}
	if runs != x.usedRun || recs != x.usedRec {
		t.Fatalf("%d runs and %d records were used, %d and %d found", x.usedRun, x.usedRec, runs, recs)
	}
	return out
}

// drawChain draws a chain from a small tree, so that chains share heads: a hash determines all hashes before it. Some are of single
// blocks that each have others beside them, some of stretches that may be longer than a run.
func drawChain(t *rapid.T) []uint64 {
	most, stretch := 25, 1
	if rapid.Bool().Draw(t, "stretches") {
		most, stretch = 6, 60
	}
	var chain []uint64
	h := uint64(1)
	for range rapid.IntRange(0, most).Draw(t, "branches") {
		h = h*0x9E3779B97F4A7C15 + uint64(max(rapid.IntRange(-5, 3).Draw(t, "branch"), 1))
		for range rapid.IntRange(1, stretch).Draw(t, "blocks") {
			h = h*0x9E3779B97F4A7C15 + 7
			chain = append(chain, h)
		}
	}
	return chain
}

func TestIndexFollowsModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bound := rapid.IntRange(0, 1000).Draw(t, "bound")
		x, m := New(bound), &model{max: bound}
		caps := rapid.SliceOfN(rapid.OneOf(rapid.IntRange(0, 40), rapid.IntRange(0, 400)), 1, 4)
		first := caps.Draw(t, "capacities")
		x.SetCapacities(first)
		m.setCapacities(first)
		slot := func() int { return rapid.IntRange(0, len(m.lists)-1).Draw(t, "slot") }
		var matched []uint64 // last
		t.Repeat(map[string]func(*rapid.T){
			"record": func(t *rapid.T) {
				chain, s := drawChain(t), slot()
				switch rapid.IntRange(0, 2).Draw(t, "match first") {
				case 1:
					x.Match(chain, make([]int32, len(m.lists)))
				case 2: // other things happened since
					chain = matched
				}
				x.Record(chain, int32(s))
				m.record(chain, s)
			},
			"match": func(t *rapid.T) {
				chain := drawChain(t)
				got := make([]int32, len(m.lists))
				x.Match(chain, got)
				matched = chain
				if diff := cmp.Diff(m.match(chain), got); diff != "" {
					t.Fatalf("match of %v (-model +index):\n%s", chain, diff)
				}
			},
			"known": func(t *rapid.T) {
				chain := drawChain(t)
				if rapid.Bool().Draw(t, "last") {
					chain = matched[:rapid.IntRange(0, len(matched)).Draw(t, "blocks of it")]
				}
				if got, want := x.Known(chain), int(slices.Max(m.match(chain))); got != want {
					t.Fatalf("%d blocks of %v are known, want %d", got, chain, want)
				}
			},
			"restore": func(t *rapid.T) {
				chain, s := drawChain(t), slot()
				x.Restore(int32(s), chain)
				for _, k := range chain {
					if !slices.Contains(m.lists[s], k) && len(m.lists[s]) < m.caps[s] {
						m.lists[s] = append(m.lists[s], k)
					}
				}
			},
			"remove": func(t *rapid.T) {
				s := slot()
				x.RemoveEndpoint(int32(s))
				m.lists[s] = nil
			},
			"capacities": func(t *rapid.T) {
				c := caps.Draw(t, "capacities")
				if rapid.IntRange(0, 9).Draw(t, "many slots") == 0 {
					c = append(make([]int, rapid.IntRange(60, 140).Draw(t, "slots before")), c...)
				}
				x.SetCapacities(c)
				m.setCapacities(c)
			},
			"bound": func(t *rapid.T) {
				bound = rapid.IntRange(0, 1000).Draw(t, "bound")
				c := caps.Draw(t, "capacities")
				x.SetBound(bound)
				x.SetCapacities(c)
				m.max = bound
				m.setCapacities(c)
			},
			"flush": func(t *rapid.T) {
				if rapid.IntRange(0, 9).Draw(t, "rarely") == 0 {
					x.Flush()
					clear(m.lists)
				}
			},
			"": func(t *rapid.T) {
				got := contents(t, x)
				for s := range m.lists {
					if !slices.Equal(m.lists[s], got[s]) {
						t.Fatalf("slot %d: model %v, index %v", s, m.lists[s], got[s])
					}
				}
				if x.Len() > bound {
					t.Fatalf("%d records exceed the bound of %d", x.Len(), bound)
				}
			},
		})
	})
}

// TestForgedChains feeds chains that repeat hashes, which only a forger can make: accuracy may suffer, nothing else.
func TestForgedChains(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		caps := rapid.SliceOfN(rapid.IntRange(0, 30), 1, 4)
		x := New(rapid.IntRange(0, 300).Draw(t, "bound"))
		x.SetCapacities(caps.Draw(t, "capacities"))
		chain := rapid.SliceOfN(rapid.Uint64Range(0, rapid.SampledFrom([]uint64{2, 5, 14, 200}).Draw(t, "hashes")), 0, 200)
		slot := func() int32 { return int32(rapid.IntRange(0, len(x.lists)).Draw(t, "slot")) }
		t.Repeat(map[string]func(*rapid.T){
			"record": func(t *rapid.T) { x.Record(chain.Draw(t, "chain"), slot()) },
			"match": func(t *rapid.T) {
				c, match := chain.Draw(t, "chain"), make([]int32, len(x.lists))
				if x.Match(c, match); int(slices.Max(match)) > len(c) {
					t.Fatalf("%v of %d blocks match", match, len(c))
				}
				if rapid.Bool().Draw(t, "record") {
					x.Record(c, slot())
				}
			},
			"known": func(t *rapid.T) {
				if c := chain.Draw(t, "chain"); x.Known(c) > len(c) {
					t.Fatalf("%d of %d blocks are known", x.Known(c), len(c))
				}
			},
			"withdraw": func(t *rapid.T) {
				c := chain.Draw(t, "chain")
				x.Withdraw(c, slot(), rapid.IntRange(-1, len(c)+1).Draw(t, "from"))
			},
			"restore": func(t *rapid.T) { x.Restore(slot(), chain.Draw(t, "chain")) },
			"dump": func(t *rapid.T) {
				x.AppendRuns(nil, nil, slot(), rapid.IntRange(0, 30).Draw(t, "skip"), rapid.Uint64Range(0, 14).Draw(t, "last"), rapid.IntRange(0, MaxRun).Draw(t, "its blocks"), MaxRun)
			},
			"capacities": func(t *rapid.T) {
				c := caps.Draw(t, "capacities")
				if rapid.IntRange(0, 9).Draw(t, "many slots") == 0 {
					c = append(c, make([]int, rapid.IntRange(0, 140).Draw(t, "slots"))...)
					c = append(c, 20)
				}
				x.SetBound(rapid.IntRange(0, 300).Draw(t, "bound"))
				x.SetCapacities(c)
			},
			"remove": func(*rapid.T) { x.RemoveEndpoint(slot()) },
			"": func(t *rapid.T) {
				if walk(t, x, true); x.Len() > x.max {
					t.Fatalf("%d blocks exceed the bound of %d", x.Len(), x.max)
				}
			},
		})
	})
}
