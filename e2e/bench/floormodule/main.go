//go:build wasip1

// Command floormodule has every callback of zerohop and its place in Envoy, but no logic: it holds the request until the
// body is there, reads the body, and sends it to the addresses of its configuration in turn. The benchmark runs it to tell
// the cost of the arrangement (two filters, buffering, ORIGINAL_DST) from the cost of what zerohop does in it. Built with the tag
// hostcalls it also asks Envoy for all that zerohop asks for, and has no use for it.
package main

import (
	"bytes"
	"unsafe"

	"github.com/zerohop/zerohop/filter/abi"
	"github.com/zerohop/zerohop/shared/names"
)

var (
	host      abi.Host
	addresses [][]byte
	next      int
	attempts  map[uint32]bool // root context of the attempt filter, and its streams
)

func main() {}

//go:wasmexport proxy_abi_version_0_2_1
func abiVersion() {}

//go:wasmexport proxy_on_memory_allocate
func onMemoryAllocate(size uint32) unsafe.Pointer { return abi.Allocate(size) }

//go:wasmexport proxy_on_context_create
func onContextCreate(id, parent uint32) {
	if attempts[parent] {
		attempts[id] = true
	}
}

//go:wasmexport proxy_on_configure
func onConfigure(id, size uint32) uint32 {
	if attempts == nil {
		abi.DisableGC()
		attempts = make(map[uint32]bool)
	}
	if host.RootID() == names.RootAttempt {
		attempts[id] = true
		return 1
	}
	addresses = bytes.Split(bytes.Clone(host.Configuration(int(size))), []byte(","))
	return 1
}

//go:wasmexport proxy_on_request_headers
func onRequestHeaders(id, count, endOfStream uint32) uint32 {
	if attempts[id] {
		beforeAttempt()
		host.RemoveRequestHeader(names.HeaderDestination)
		return 0
	}
	host.RequestHeaders()
	return 1 - endOfStream
}

//go:wasmexport proxy_on_request_body
func onRequestBody(id, size, endOfStream uint32) uint32 {
	if attempts[id] {
		return 0
	}
	if endOfStream == 0 {
		return 1
	}
	for off := 0; off < int(size); off += 64 << 10 {
		host.Body(off, 64<<10)
	}
	next = (next + 1) % len(addresses)
	host.ReplaceRequestHeader(names.HeaderDestination, addresses[next])
	afterPick()
	return 0
}

//go:wasmexport proxy_on_response_headers
func onResponseHeaders(id, count, endOfStream uint32) uint32 {
	if attempts[id] {
		afterAnswer()
	}
	return 0
}

//go:wasmexport proxy_on_response_body
func onResponseBody(id, size, endOfStream uint32) uint32 { return 0 }

//go:wasmexport proxy_on_delete
func onDelete(id uint32) { delete(attempts, id) }
