//go:build !amd64 && !arm64 && !wasm

package scan

import (
	"encoding/binary"
	"unsafe"
)

// load returns the eight bytes at p+off, the first one lowest. The caller has made sure that they exist.
func load(p unsafe.Pointer, off int) uint64 {
	return binary.LittleEndian.Uint64((*[8]byte)(unsafe.Add(p, off))[:])
}

// store writes the eight bytes of w at p+off. The caller has made sure that there is room.
func store(p unsafe.Pointer, off int, w uint64) {
	binary.LittleEndian.PutUint64((*[8]byte)(unsafe.Add(p, off))[:], w)
}
