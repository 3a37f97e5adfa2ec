package prefixindex

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// step is one request routed to slot.
type step struct {
	chain []uint64
	slot  int32
}

func TestMatch(t *testing.T) {
	tests := []struct {
		name  string
		caps  []int
		steps []step
		ask   []uint64
		want  []int32
	}{
		{"empty index", []int{4, 4}, nil, []uint64{1}, []int32{0, 0}},
		{"A1 shared head", []int{9, 9, 9}, []step{{[]uint64{1, 2}, 0}, {[]uint64{1, 2}, 2}}, []uint64{1, 3}, []int32{1, 0, 1}},
		{"A2 least recently used goes", []int{2}, []step{{[]uint64{1}, 0}, {[]uint64{2}, 0}, {[]uint64{3}, 0}}, []uint64{1}, []int32{0}},
		{"A2 rest stays", []int{2}, []step{{[]uint64{1}, 0}, {[]uint64{2}, 0}, {[]uint64{3}, 0}}, []uint64{2}, []int32{1}},
		{"A5 gap ends the match", []int{9, 9}, []step{{[]uint64{1}, 0}, {[]uint64{2}, 1}}, []uint64{1, 2}, []int32{1, 0}},
		{"A6 no blocks", []int{9}, []step{{[]uint64{1}, 0}}, nil, []int32{0}},
		{"tail goes before head", []int{4}, []step{{[]uint64{1, 2, 3}, 0}, {[]uint64{7, 8}, 0}}, []uint64{1, 2, 3}, []int32{2}},
		{"chain above capacity keeps its head", []int{2}, []step{{[]uint64{1, 2, 3, 4}, 0}}, []uint64{1, 2, 3, 4}, []int32{2}},
		{"zero capacity holds nothing", []int{0}, []step{{[]uint64{1}, 0}}, []uint64{1}, []int32{0}},
		{"scaled to the bound", []int{40, 40}, []step{{seq(1, 40), 0}}, seq(1, 40), []int32{8, 0}},
		{"unknown slot is ignored", []int{4}, []step{{[]uint64{1}, 9}}, []uint64{1}, []int32{0}},
		{"slot of the second word", make64(70, 4), []step{{[]uint64{1, 2}, 69}, {[]uint64{1}, 3}}, []uint64{1, 2}, at(70, 69, 2, 3, 1)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			bound := 16
			if len(tt.caps) > 16 {
				bound = 1024
			}
			x := New(bound)
			x.SetCapacities(tt.caps)
			for _, s := range tt.steps {
				x.Record(s.chain, s.slot)
			}
			got := make([]int32, len(tt.caps))
			x.Match(tt.ask, got)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("match (-want +got):\n%s", diff)
			}
		})
	}
}

// seq returns n chain hashes from start.
func seq(start, n int) []uint64 {
	out := make([]uint64, n)
	for i := range out {
		out[i] = uint64(start + i)
	}
	return out
}

func make64(n, v int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = v
	}
	return out
}

// at returns n zeros with value v at index i for each pair (i, v).
func at(n int, pairs ...int) []int32 {
	out := make([]int32, n)
	for p := 0; p < len(pairs); p += 2 {
		out[pairs[p]] = int32(pairs[p+1])
	}
	return out
}

func TestNothingBigBeforeTraffic(t *testing.T) {
	x := New(1 << 24)
	x.SetCapacities(make64(1000, 31250))
	if x.Bytes() > 64<<10 {
		t.Errorf("an empty index takes %d bytes", x.Bytes())
	}
}

// TestBytes fills an index and holds its memory to what package plan promises: 130 bytes a record and 8 for each 64 endpoints, if no
// block shares a run, and much less if prompts are long. A bound for which a table has just doubled is the worst.
func TestBytes(t *testing.T) {
	const full, worst = 1 << 17, 82_000
	for _, tt := range []struct{ bound, slots, blocks, most int }{
		{full, 16, 1, 138},
		{full, 16, 3, 65},
		{full, 16, 64, 20},
		{full, 100, 1, 146},
		{full, 1000, 1, 258},
		{full, 1000, 64, 45},
		{worst, 16, 1, 138},
		{worst, 100, 1, 146},
		{worst, 1000, 1, 258},
	} {
		bound := tt.bound
		t.Run(fmt.Sprintf("%d slots, %d blocks of %d", tt.slots, tt.blocks, bound), func(t *testing.T) {
			x := New(bound)
			x.SetCapacities(make64(tt.slots, bound/tt.slots))
			for i := range 2 * bound / tt.blocks {
				x.Record(spread(uint64(i)<<20, tt.blocks), int32(i%tt.slots))
			}
			if x.Evicted() == 0 {
				t.Fatal("the index is not full")
			}
			for i := 2*bound/tt.blocks - bound/tt.blocks/2; i < 2*bound/tt.blocks; i += 97 {
				match := make([]int32, tt.slots)
				if x.Match(spread(uint64(i)<<20, tt.blocks), match); match[i%tt.slots] != int32(tt.blocks) {
					t.Fatalf("%d of %d blocks of prompt %d match", match[i%tt.slots], tt.blocks, i)
				}
			}
			if got := x.Bytes() / bound; got >= tt.most {
				t.Errorf("%d bytes a record, want less than %d", got, tt.most)
			}
		})
	}
}

func TestSteadyStateAllocatesNothing(t *testing.T) {
	const slots, blocks = 4, 100
	x := New(slots * 500)
	x.SetCapacities(make64(slots, 500))
	match := make([]int32, slots)
	chains := make([][]uint64, 64)
	for i := range chains {
		chains[i] = seq(1+i*1000, blocks)
	}
	n := 0
	request := func() {
		clear(match)
		chain := chains[n*7%len(chains)]
		x.Match(chain, match)
		x.Record(chain, int32(n%slots))
		n++
	}
	for range 1000 {
		request()
	}
	if got := testing.AllocsPerRun(1000, request); got != 0 {
		t.Errorf("%v allocations per request", got)
	}
}

// TestKnown asks for the chain that was matched last, after some or all of it has been evicted for blocks that another slot has.
func TestKnown(t *testing.T) {
	for n, want := range []int{3, 3, 2, 1, 0} {
		x, chain, others := New(8), []uint64{1, 2, 3}, []uint64{11, 12, 13, 14}
		x.SetCapacities([]int{4, 4})
		x.Record(others, 1)
		x.Record(chain, 0)
		x.Match(chain, make([]int32, 2))
		x.Record(others[:n], 0)
		if got := x.Known(chain); got != want {
			t.Errorf("%d blocks are known after %d others, want %d", got, n, want)
		}
	}
}
