//go:build amd64 || arm64 || wasm

// Package word reads and writes words in the middle of a slice without bounds checks, for the inner loops over prompts: in Wasm
// the checks cost a third of the speed there. It checks nothing; whoever calls it has made sure that the bytes exist, and says
// by what condition.
package word

import "unsafe"

// Load returns the eight bytes at p+off, the first one lowest. The machines of this file are little-endian and read from any
// address; in Wasm the portable way costs a quarter of the speed.
func Load(p unsafe.Pointer, off int) uint64 { return *(*uint64)(unsafe.Add(p, off)) }

// Load4 returns the four bytes at p+off, the first one lowest.
func Load4(p unsafe.Pointer, off int) uint32 { return *(*uint32)(unsafe.Add(p, off)) }

// Store writes the eight bytes of w at p+off.
func Store(p unsafe.Pointer, off int, w uint64) { *(*uint64)(unsafe.Add(p, off)) = w }
