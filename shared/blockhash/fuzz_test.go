package blockhash

import (
	"testing"
	"unsafe"

	"github.com/cespare/xxhash/v2"
	"github.com/google/go-cmp/cmp"
)

// oracle computes the ids the obvious way: pad to whole tokens, then cut.
func oracle(prompt []byte, blockTokens, maxBlocks int) []uint64 {
	prompt = append([]byte(nil), prompt...)
	for len(prompt)%BytesPerToken != 0 {
		prompt = append(prompt, 0)
	}
	var ids []uint64
	for len(prompt) > 0 && (maxBlocks == 0 || len(ids) < maxBlocks) {
		n := min(len(prompt), blockTokens*BytesPerToken)
		ids = append(ids, ID(prompt[:n]))
		prompt = prompt[n:]
	}
	return ids
}

// FuzzBuilder checks that no split of the bytes, by Write or in place, changes the ids.
func FuzzBuilder(f *testing.F) {
	f.Add([]byte("hello world"), []byte{1, 130, 3}, uint8(2), uint8(0))
	f.Add(make([]byte, 1000), []byte{255, 0, 127, 128}, uint8(64), uint8(3))
	f.Fuzz(func(t *testing.T, prompt, splits []byte, blockTokens, maxBlocks uint8) {
		var b Builder
		b.Reset(int(blockTokens), int(maxBlocks))
		rest := prompt
		for _, c := range splits {
			n := min(len(rest), int(c&0x7f))
			if c&0x80 != 0 {
				b.Advance(copy(b.Room(), rest[:n]))
			} else {
				b.Write(rest[:n])
			}
			rest = rest[n:]
		}
		b.Write(rest)
		b.EndPrompt()
		want := oracle(prompt, max(int(blockTokens), 1), int(maxBlocks))
		if diff := cmp.Diff(want, append([]uint64(nil), b.IDs()...)); diff != "" {
			t.Error(diff)
		}
		if got, want := b.Tokens(), tokens(len(prompt)); got != want {
			t.Errorf("Tokens = %d, want %d", got, want)
		}
	})
}

// FuzzSums compares with the library at every size.
func FuzzSums(f *testing.F) {
	f.Add(make([]byte, 100), uint8(33))
	f.Add([]byte("the quick brown fox jumps over the lazy dog"), uint8(7))
	f.Fuzz(func(t *testing.T, p []byte, size uint8) {
		n := max(int(size), 1)
		ids := make([]uint64, len(p)/n)
		sums(unsafe.Pointer(unsafe.SliceData(ids)), len(ids), unsafe.Pointer(unsafe.SliceData(p)), n)
		for i, got := range ids {
			if want := xxhash.Sum64(p[i*n : i*n+n]); got != want {
				t.Errorf("block %d of %d bytes: %#x, want %#x", i, n, got, want)
			}
		}
	})
}
