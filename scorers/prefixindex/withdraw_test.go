package prefixindex

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// branch returns the chain of a path in a tree: blocks with the same path before them have the same hash.
func branch(path []int) []uint64 {
	chain, h := make([]uint64, len(path)), uint64(1)
	for i, step := range path {
		h = h*4 + uint64(step) + 1
		chain[i] = h
	}
	return chain
}

// parentOf returns the hash of the block before one of branch; 0 for a first block.
func parentOf(h uint64) uint64 {
	if h = (h - 1) / 4; h == 1 {
		return 0
	}
	return h
}

// paths go the first way most often, so that they have much in common.
var paths = rapid.SliceOfN(rapid.SampledFrom([]int{0, 0, 0, 0, 0, 1, 2}), 1, 20)

// TestWithdraw takes back a chain of which the slot held some blocks, as nothing else happens.
func TestWithdraw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := New(1000)
		x.SetCapacities([]int{500, 500})
		for _, p := range rapid.SliceOfN(paths, 0, 6).Draw(t, "before") {
			x.Record(branch(p), 0)
		}
		want := contents(t, x)
		chain := branch(paths.Draw(t, "chain"))
		held := x.Record(chain, 0)
		if all := x.Record(chain, 1); all != 0 {
			t.Fatalf("the other slot held %d blocks", all)
		}
		x.Withdraw(chain, 0, held)
		got := contents(t, x)
		slices.Sort(want[0])
		slices.Sort(got[0])
		if diff := cmp.Diff(want[0], got[0]); diff != "" {
			t.Fatalf("blocks before and after (-before +after):\n%s", diff)
		}
		if diff := cmp.Diff(chain, got[1]); diff != "" {
			t.Fatalf("blocks of the other slot (-want +got):\n%s", diff)
		}
	})
}

// TestWithdrawLeavesNoGap takes back chains after others went the same way, with any idea of what was held before, and restores
// and evicts meanwhile: whoever holds a block holds the one before it, and what was not taken back matches.
func TestWithdrawLeavesNoGap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := New(60)
		x.SetCapacities([]int{rapid.IntRange(4, 30).Draw(t, "capacity"), 30})
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			chain, slot := branch(paths.Draw(t, "path")), int32(rapid.IntRange(0, 1).Draw(t, "slot"))
			switch rapid.IntRange(0, 4).Draw(t, "what") {
			case 0, 1:
				x.Record(chain, slot)
				match := make([]int32, 2)
				if x.Match(chain, match); int(match[slot]) != min(len(chain), int(x.lists[slot].cap)) {
					t.Fatalf("%d of %d blocks match after Record", match[slot], len(chain))
				}
			case 2:
				x.Restore(slot, chain)
			default:
				x.Withdraw(chain, slot, rapid.IntRange(0, len(chain)).Draw(t, "from"))
			}
			for s, list := range contents(t, x) {
				for _, h := range list {
					if before := parentOf(h); before != 0 && !slices.Contains(list, before) {
						t.Fatalf("slot %d holds %x without %x before it", s, h, before)
					}
				}
			}
		}
	})
}

// TestWithdrawKeepsWhatOthersSent takes back the shorter of two prompts after the longer went to the same endpoint.
func TestWithdrawKeepsWhatOthersSent(t *testing.T) {
	long := branch([]int{0, 1, 2, 0, 1})
	for _, tt := range []struct {
		name string
		sent []uint64
		want int32
	}{
		{"nothing", nil, 0},
		{"the same prompt", long[:3], 0},
		{"a longer one", long, 5},
		{"one that leaves it earlier", branch([]int{0, 1, 1}), 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			x := New(100)
			x.SetCapacities([]int{50})
			held := x.Record(long[:3], 0)
			x.Record(tt.sent, 0)
			x.Withdraw(long[:3], 0, held)
			match := make([]int32, 1)
			if x.Match(long, match); match[0] != tt.want {
				t.Errorf("%d blocks match, want %d", match[0], tt.want)
			}
		})
	}
}
