//go:build amd64 || arm64 || wasm

package scan

import "unsafe"

// load returns the eight bytes at p+off, the first one lowest. The caller has made sure that they exist. The machines of
// this file are little-endian and read from any address; in Wasm the portable way costs a quarter of the speed.
func load(p unsafe.Pointer, off int) uint64 { return *(*uint64)(unsafe.Add(p, off)) }

// store writes the eight bytes of w at p+off. The caller has made sure that there is room.
func store(p unsafe.Pointer, off int, w uint64) { *(*uint64)(unsafe.Add(p, off)) = w }
