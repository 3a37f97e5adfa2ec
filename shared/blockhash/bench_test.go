package blockhash

import "testing"

func BenchmarkBuilderWrite(b *testing.B) {
	prompt := make([]byte, 400_000)
	var h Builder
	b.SetBytes(int64(len(prompt)))
	for b.Loop() {
		h.Reset(64, 0)
		h.Write(prompt)
		h.EndPrompt()
	}
}
