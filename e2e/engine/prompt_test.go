package engine

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPromptForms(t *testing.T) {
	b := []byte("four byte tokens of a text that is longer than one block of sixteen tokens, by some")
	for len(b)%4 != 0 {
		b = append(b, 0)
	}
	ids := make([]uint32, len(b)/4)
	for i := range ids {
		ids[i] = binary.LittleEndian.Uint32(b[i*4:])
	}
	opt := cmp.AllowUnexported(Prompt{})
	if d := cmp.Diff(NewPrompt(b, "s", 16), NewTokenPrompt(ids, "s", 16), opt); d != "" {
		t.Errorf("text and its token ids differ:\n%s", d)
	}
}

func TestPromptSizes(t *testing.T) {
	for _, c := range []struct {
		name                 string
		bytes                int
		tokens, blocks, tail int
	}{
		{"empty", 0, 0, 0, 0},
		{"one byte", 1, 1, 0, 4},
		{"one token", 4, 1, 0, 4},
		{"padding completes a block", 61, 16, 1, 0},
		{"one block", 64, 16, 1, 0},
		{"one block and a byte", 65, 17, 1, 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := NewPrompt(bytes.Repeat([]byte("x"), c.bytes), "", 16)
			got := [3]int{p.Tokens(), len(p.hashes), len(p.tail)}
			if want := [3]int{c.tokens, c.blocks, c.tail}; got != want {
				t.Errorf("tokens, blocks, tail = %v, want %v", got, want)
			}
		})
	}
}

func TestOutputText(t *testing.T) {
	got := AppendOutput([]byte("x"), 1, 0, 3)
	if len(got) != 13 {
		t.Fatalf("length = %d, want 13", len(got))
	}
	for i, c := range got[1:] {
		if ok := i%4 == 0 && c == ' ' || i%4 != 0 && c >= 'a' && c <= 'z'; !ok {
			t.Errorf("byte %d of %q is not as documented", i, got)
		}
	}
	if bytes.Equal(got, AppendOutput([]byte("x"), 2, 0, 3)) {
		t.Error("another seed gave the same text")
	}
}

func BenchmarkNewPrompt100k(b *testing.B) {
	prompt := text('a', 100_000)
	b.SetBytes(int64(len(prompt)))
	for b.Loop() {
		NewPrompt(prompt, "", DefaultBlockTokens)
	}
}
