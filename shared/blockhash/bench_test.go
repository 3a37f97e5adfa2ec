package blockhash

import (
	"encoding/binary"
	"testing"
	"unsafe"

	"github.com/cespare/xxhash/v2"
)

// viaLibrary is the definition of Chain.
func viaLibrary(prev, id uint64) uint64 {
	var b [16]byte
	binary.LittleEndian.PutUint64(b[:8], id)
	binary.LittleEndian.PutUint64(b[8:], prev)
	return xxhash.Sum64(b[:])
}

func FuzzChain(f *testing.F) {
	f.Add(uint64(0), uint64(0))
	f.Add(^uint64(0), uint64(1))
	f.Fuzz(func(t *testing.T, prev, id uint64) {
		if got, want := Chain(prev, id), viaLibrary(prev, id); got != want {
			t.Errorf("Chain(%#x, %#x) = %#x, want %#x", prev, id, got, want)
		}
	})
}

func BenchmarkChain(b *testing.B) {
	for _, bc := range []struct {
		name string
		f    func(prev, id uint64) uint64
	}{{"library", viaLibrary}, {"own", Chain}} {
		b.Run(bc.name, func(b *testing.B) {
			h := uint64(1)
			for b.Loop() {
				for id := range uint64(1000) {
					h = bc.f(h, id)
				}
			}
			sink = h
		})
	}
}

func BenchmarkSums(b *testing.B) {
	p := make([]byte, 16<<10)
	ids := make([]uint64, len(p)/256)
	for _, bc := range []struct {
		name string
		f    func()
	}{
		{"library", func() {
			for i := range ids {
				ids[i] = xxhash.Sum64(p[i*256 : i*256+256])
			}
		}},
		{"own", func() {
			sums(unsafe.Pointer(unsafe.SliceData(ids)), len(ids), unsafe.Pointer(unsafe.SliceData(p)), 256)
		}},
	} {
		b.Run(bc.name, func(b *testing.B) {
			b.SetBytes(int64(len(p)))
			for b.Loop() {
				bc.f()
			}
		})
	}
}

var sink uint64

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
