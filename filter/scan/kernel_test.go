package scan

import (
	"strconv"
	"strings"
	"testing"
)

// TestHexWord compares the decoder without a table with the one that has one, on every byte in every place.
func TestHexWord(t *testing.T) {
	for place := range 4 {
		for c := range 256 {
			b := []byte("1aF0")
			b[place] = byte(c)
			want, valid := hex4(b)
			got, ok := hexWord(uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24)
			if ok != valid || (ok && got != want) {
				t.Errorf("hexWord(%q) = %x, %v, want %x, %v", b, got, ok, want, valid)
			}
		}
	}
	for v := range 1 << 16 {
		b := strconv.FormatUint(uint64(v)|0x10000, 16)[1:]
		if got, ok := hexWord(uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24); !ok || got != uint32(v) {
			t.Fatalf("hexWord(%q) = %x, %v", b, got, ok)
		}
	}
}

// TestLengths compares the word-wise searches with strings.IndexAny at every length and place around their strides, with
// neighbours that differ from a quote or backslash in one bit.
func TestLengths(t *testing.T) {
	for n := range 90 {
		for at := -1; at < n; at++ {
			for _, c := range []byte{'"', '\\', 0x80 | '"'} {
				b := []byte(strings.Repeat("#\xa2!]\xdc[\x23", 20)[:n])
				if at >= 0 {
					b[at] = c
				}
				for chars, search := range map[string]func([]byte) int{`"\`: plainLen, `"`: quoteLen} {
					want := strings.IndexAny(string(b), chars)
					if want < 0 {
						want = n
					}
					if got := search(b); got != want {
						t.Fatalf("first of %s in %q: %d, want %d", chars, b, got, want)
					}
				}
			}
		}
	}
}
