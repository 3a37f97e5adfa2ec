package prefixindex

import (
	"bytes"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestRestore dumps what a slot holds in parts of any size and restores it into an index that holds some blocks already: those
// stay in front, the others follow in their order, as many as there is room for.
func TestRestore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		from, to := New(2000), New(2000)
		from.SetCapacities([]int{600, 600})
		capacity := rapid.IntRange(0, 600).Draw(t, "capacity")
		to.SetCapacities([]int{400, capacity})
		var prompts [][]uint64
		for range rapid.IntRange(0, 12).Draw(t, "dumped prompts") {
			prompts = append(prompts, drawChain(t))
			from.Record(prompts[len(prompts)-1], 0)
		}
		for range rapid.IntRange(0, 4).Draw(t, "known prompts") {
			to.Record(drawChain(t), 1)
		}
		if rapid.Bool().Draw(t, "another holder") {
			to.Record(drawChain(t), 0)
		}
		dumped, before, evicted := contents(t, from)[0], contents(t, to), to.Evicted()
		want := slices.Clone(before[1])
		for _, h := range dumped {
			if !slices.Contains(want, h) && len(want) < capacity {
				want = append(want, h)
			}
		}
		var parts []uint64
		added := 0
		for skip, last, lastLen := 0, uint64(0), 0; skip < len(dumped); {
			if rapid.Bool().Draw(t, "another slot leaves a run") {
				prompt := rapid.SampledFrom(prompts).Draw(t, "prompt")
				from.Record(prompt[:rapid.IntRange(0, len(prompt)).Draw(t, "blocks")], 1)
			}
			n := rapid.IntRange(1, 200).Draw(t, "part")
			if rapid.Bool().Draw(t, "last is not held") {
				last = 0 // of no block
			}
			part, lengths := from.AppendRuns(nil, nil, 0, skip, last, lastLen, n)
			if len(part) == 0 || len(part) > n && len(lengths) > 1 || len(part) <= n-MaxRun && len(part) < len(dumped)-skip {
				t.Fatalf("%d blocks from %d on, of %d; limit %d", len(part), skip, len(dumped), n)
			}
			parts, skip = append(parts, part...), skip+len(part)
			if rapid.Bool().Draw(t, "without runs") {
				lengths = bytes.Repeat([]byte{1}, len(part))
			}
			for _, n := range lengths {
				last, lastLen = part[0], int(n)
				added += to.Restore(1, part[:n])
				part = part[n:]
			}
			if len(part) > 0 {
				t.Fatalf("%d blocks are of no run", len(part))
			}
		}
		if diff := cmp.Diff(dumped, parts, cmp.Transformer("nil", func(l []uint64) []uint64 { return append([]uint64{}, l...) })); diff != "" {
			t.Fatalf("parts (-whole +parts):\n%s", diff)
		}
		after := contents(t, to)
		if !slices.Equal(want, after[1]) || !slices.Equal(before[0], after[0]) {
			t.Fatalf("restored %v into %v: %v, want %v; the other slot %v", dumped, before[1], after[1], want, after[0])
		}
		if added != len(want)-len(before[1]) || to.Evicted() != evicted {
			t.Fatalf("%d added and %d evicted, want %d and none", added, to.Evicted()-evicted, len(want)-len(before[1]))
		}
		// It goes on as an index that came to this by itself.
		for range rapid.IntRange(0, 5).Draw(t, "further prompts") {
			chain := drawChain(t)
			to.Record(chain, 1)
			match := make([]int32, 2)
			if to.Match(chain, match); int(match[1]) != min(len(chain), capacity) {
				t.Fatalf("%d of %d blocks match after Record", match[1], len(chain))
			}
			contents(t, to)
		}
	})
}

// TestRestoreTakesEachBlockOnce restores many runs: what is known already is looked at once, not with each of them.
func TestRestoreTakesEachBlockOnce(t *testing.T) {
	x := New(10)
	x.SetCapacities([]int{5, 5})
	x.Record([]uint64{1, 2}, 0)
	for i := range uint64(3) {
		x.Restore(0, []uint64{10 + i})
		if !x.lists[0].forked {
			t.Fatal("the next run goes through all records")
		}
	}
	if x.Record([]uint64{1, 2, 3}, 0); x.lists[0].forked {
		t.Error("what was recorded is not marked by the next run")
	}
}

func TestDumpOfUnknownSlots(t *testing.T) {
	x := New(10)
	if got, _ := x.AppendRuns(nil, nil, 3, 0, 0, 0, 10); got != nil {
		t.Errorf("an unknown slot holds %v", got)
	}
	if n := x.Restore(3, []uint64{1}); n != 0 {
		t.Errorf("%d blocks restored into an unknown slot", n)
	}
	x.SetCapacities([]int{5})
	x.Record([]uint64{1, 2}, 0)
	if got, _ := x.AppendRuns(nil, nil, 0, 2, 0, 0, 10); got != nil {
		t.Errorf("behind the last block stands %v", got)
	}
}
