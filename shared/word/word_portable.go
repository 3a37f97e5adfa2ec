//go:build !amd64 && !arm64 && !wasm

package word

import (
	"encoding/binary"
	"unsafe"
)

// Load returns the eight bytes at p+off, the first one lowest.
func Load(p unsafe.Pointer, off int) uint64 {
	return binary.LittleEndian.Uint64((*[8]byte)(unsafe.Add(p, off))[:])
}

// Load4 returns the four bytes at p+off, the first one lowest.
func Load4(p unsafe.Pointer, off int) uint32 {
	return binary.LittleEndian.Uint32((*[4]byte)(unsafe.Add(p, off))[:])
}

// Store writes the eight bytes of w at p+off.
func Store(p unsafe.Pointer, off int, w uint64) {
	binary.LittleEndian.PutUint64((*[8]byte)(unsafe.Add(p, off))[:], w)
}
