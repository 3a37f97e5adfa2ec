package blockhash

import (
	"encoding/binary"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// hexes renders hashes as the vectors of the EPP are printed.
func hexes(hs []uint64) []string {
	out := make([]string, len(hs))
	for i, h := range hs {
		s := strconv.FormatUint(h, 16)
		out[i] = "0000000000000000"[len(s):] + s
	}
	return out
}

// chain folds ids into chain hashes.
func chain(seed uint64, ids []uint64) []uint64 {
	out := make([]uint64, len(ids))
	for i, id := range ids {
		seed = Chain(seed, id)
		out[i] = seed
	}
	return out
}

func TestIDVectors(t *testing.T) { // H1
	for in, want := range map[string]string{"": "ef46db3751d8e999", "a": "d24ec4f1a98c6e5b", "abc": "44bc2cf5ad770999"} {
		if got := hexes([]uint64{ID([]byte(in))})[0]; got != want {
			t.Errorf("ID(%q) = %s, want %s", in, got, want)
		}
	}
}

func TestChainVectors(t *testing.T) {
	ids := func(from, to uint32, blockTokens int) []uint64 {
		var b Builder
		b.Reset(blockTokens, 0)
		for id := from; id <= to; id++ {
			b.WriteToken(id)
		}
		b.EndPrompt()
		return b.IDs()
	}
	text := func(s string) []uint64 {
		var b Builder
		b.Reset(64, 0)
		b.Write([]byte(s))
		b.EndPrompt()
		return b.IDs()
	}
	for _, tt := range []struct {
		name, model, salt, seed string
		ids                     []uint64
		want                    []string
	}{
		{
			"H2 three blocks, last one short", "m", "", "ba2e567083a2b2e8", ids(1, 10, 4),
			[]string{"ff375b446cd15b25", "d0e13dbe79e3cd40", "6c0f38e4493e1b53"},
		},
		{"H3 salt", "m", "salt", "d91548f60ba19b9b", ids(1, 4, 2), []string{"6b0e68c54f9ceac3", "f1433d4ff41f4429"}},
		{"H4 text", "model", "", "e1eeca7af8e0b529", text("hello"), []string{"8ed89fdafca71579"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			seed := Seed([]byte(tt.model), []byte(tt.salt))
			if got := hexes([]uint64{seed})[0]; got != tt.seed {
				t.Errorf("seed = %s, want %s", got, tt.seed)
			}
			if diff := cmp.Diff(tt.want, hexes(chain(seed, tt.ids))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestSeedIsConcatenation(t *testing.T) {
	if Seed([]byte("ab"), []byte("c")) != Seed([]byte("a"), []byte("bc")) {
		t.Error("the seed depends on where the model ends; the EPP hashes without separator")
	}
	long := make([]byte, 100)
	if got, want := Seed(long[:70], long[70:]), ID(long); got != want {
		t.Errorf("Seed = %x, want %x", got, want)
	}
}

func TestBuilder(t *testing.T) {
	type want struct {
		Starts []int32
		Blocks int
		Tokens int
		Capped bool
	}
	for _, tt := range []struct {
		name        string
		blockTokens int
		maxBlocks   int
		lengths     []int // bytes of each prompt
		want        want
	}{
		{"nothing", 2, 0, nil, want{}},
		{"empty prompts leave no trace", 2, 0, []int{0, 5, 0, 8, 0}, want{Starts: []int32{0, 1}, Blocks: 2, Tokens: 4}},
		{"prompts of 3, 2 and 1 tokens", 2, 0, []int{12, 8, 4}, want{Starts: []int32{0, 2, 3}, Blocks: 4, Tokens: 6}},
		{"exactly at the cap", 1, 3, []int{12}, want{Starts: []int32{0}, Blocks: 3, Tokens: 3}},
		{"one byte above the cap", 1, 3, []int{13}, want{Starts: []int32{0}, Blocks: 3, Tokens: 4, Capped: true}},
		{"cap over all prompts", 1, 3, []int{8, 8, 8}, want{Starts: []int32{0, 2}, Blocks: 3, Tokens: 6, Capped: true}},
		{"prompt behind a full cap", 1, 2, []int{8, 1}, want{Starts: []int32{0}, Blocks: 2, Tokens: 3, Capped: true}},
		{"block larger than the room", 2048, 0, []int{3 * 8192}, want{Starts: []int32{0}, Blocks: 3, Tokens: 6144}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var b Builder
			b.Reset(tt.blockTokens, tt.maxBlocks)
			for _, n := range tt.lengths {
				b.Write(make([]byte, n))
				b.EndPrompt()
			}
			got := want{Blocks: len(b.IDs()), Tokens: b.Tokens(), Capped: b.Capped()}
			got.Starts = append(got.Starts, b.Starts()...)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestTokensEqualTheirBytes(t *testing.T) {
	var byToken, byByte Builder
	byToken.Reset(4, 0)
	byByte.Reset(4, 0)
	for i := range uint32(11) {
		byToken.WriteToken(i * 77777)
		byByte.Write(binary.LittleEndian.AppendUint32(nil, i*77777))
	}
	byToken.EndPrompt()
	byByte.EndPrompt()
	if diff := cmp.Diff(byByte.IDs(), byToken.IDs()); diff != "" {
		t.Error(diff)
	}
}

func TestPaddingDoesNotLeak(t *testing.T) {
	var fresh, used Builder
	used.Reset(2, 0)
	used.Write([]byte("xxxxxxx"))
	used.EndPrompt()
	used.Reset(2, 0)
	fresh.Reset(2, 0)
	for _, b := range []*Builder{&fresh, &used} {
		b.Write([]byte("a"))
		b.EndPrompt()
	}
	if diff := cmp.Diff(fresh.IDs(), used.IDs()); diff != "" {
		t.Errorf("ids depend on what the buffer held before: %s", diff)
	}
}

func TestBuilderDoesNotAllocate(t *testing.T) {
	var b Builder
	prompt, model := make([]byte, 10_000), []byte("model")
	if n := testing.AllocsPerRun(100, func() {
		b.Reset(64, 2048)
		b.Write(prompt)
		b.Advance(copy(b.Room(), prompt[:4000]))
		b.EndPrompt()
		_ = Seed(model, model)
	}); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}
