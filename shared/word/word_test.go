package word

import (
	"encoding/binary"
	"testing"
	"unsafe"
)

// TestWords compares with encoding/binary at every alignment.
func TestWords(t *testing.T) {
	var b [24]byte
	for i := range b {
		b[i] = byte(0xf0 + i)
	}
	p := unsafe.Pointer(&b)
	for off := range 16 {
		if got, want := Load(p, off), binary.LittleEndian.Uint64(b[off:]); got != want {
			t.Errorf("Load at %d: %#x, want %#x", off, got, want)
		}
		if got, want := Load4(p, off), binary.LittleEndian.Uint32(b[off:]); got != want {
			t.Errorf("Load4 at %d: %#x, want %#x", off, got, want)
		}
		c := b
		Store(unsafe.Pointer(&c), off, 0x0123456789abcdef)
		want := b
		binary.LittleEndian.PutUint64(want[off:], 0x0123456789abcdef)
		if c != want {
			t.Errorf("Store at %d: %x, want %x", off, c, want)
		}
	}
}

// TestCopy copies every length to every place of one array.
func TestCopy(t *testing.T) {
	for n := range 20 {
		for from := range 16 {
			for to := range 16 {
				var got, want [40]byte
				for i := range got {
					got[i] = byte(i)
				}
				want = got
				copy(want[to:to+n], want[from:from+n])
				p := unsafe.Pointer(&got)
				if b := Bytes(p, from, n); string(b) != string(got[from:from+n]) || cap(b) != n {
					t.Errorf("%d bytes at %d: %v with room for %d", n, from, b, cap(b))
				}
				if Copy(unsafe.Add(p, to), unsafe.Add(p, from), n); got != want {
					t.Errorf("%d bytes from %d to %d: %v, want %v", n, from, to, got, want)
				}
			}
		}
	}
}
