//go:build wasip1

package abi

import (
	"runtime"
	"unsafe"
)

// Out-parameters of host calls.
var (
	outPtr, outLen, outCAS, outID uint32
	outU64                        uint64
)

// buffer is what the allocator hands out. It is never freed, and replaced only by a larger one.
var buffer []byte

// Allocate serves the host's allocator call: n bytes, valid until the next call.
func Allocate(n uint32) unsafe.Pointer {
	if uint32(len(buffer)) < n {
		buffer = make([]byte, grown(n))
	}
	return unsafe.Pointer(unsafe.SliceData(buffer))
}

// grown rounds a size up to a power of two, at least 64 KiB: the largest window of a body.
func grown(n uint32) uint32 {
	size := uint32(64 << 10)
	for size < n {
		size *= 2
	}
	return size
}

// result returns what the last host call returned, or nil if it failed.
func result(status uint32) []byte {
	if status != statusOK || outLen == 0 {
		return nil
	}
	// The host wrote the address it got from Allocate, so the bytes are those of buffer.
	return buffer[:outLen:outLen]
}

func pointer(b []byte) (unsafe.Pointer, uint32) {
	return unsafe.Pointer(unsafe.SliceData(b)), uint32(len(b))
}

// setGCPercent is runtime/debug.SetGCPercent without package runtime/debug, which would link fmt: 0.4 MB.
//
//go:linkname setGCPercent runtime/debug.setGCPercent
func setGCPercent(percent int32) int32

// DisableGC turns the background collector off. It starves in a module whose exports never block, and its assists cost
// milliseconds; collections are explicit (Host.Collect).
func DisableGC() { setGCPercent(-1) }

var memStats runtime.MemStats

// heapBytes returns the bytes of heap objects, live or not yet collected.
func heapBytes() uint64 {
	runtime.ReadMemStats(&memStats)
	return memStats.HeapAlloc
}
