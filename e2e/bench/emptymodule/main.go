//go:build wasip1

// Command emptymodule is the smallest filter that the Go toolchain can make: two exports that do nothing. The
// benchmark runs it to tell the cost of having a Wasm filter at all from the cost of what zerohop does.
package main

import "unsafe"

// buffer takes whatever the host hands over; nothing is kept.
var buffer [4096]byte

//go:wasmexport proxy_abi_version_0_2_1
func abiVersion() {}

// The host insists on an allocator, although nothing here makes it return data.
//
//go:wasmexport proxy_on_memory_allocate
func allocate(size uint32) unsafe.Pointer {
	if size > uint32(len(buffer)) {
		return nil
	}
	return unsafe.Pointer(&buffer)
}

//go:wasmexport proxy_on_request_headers
func requestHeaders(_, _, _ uint32) uint32 { return 0 }

//go:wasmexport proxy_on_response_headers
func responseHeaders(_, _, _ uint32) uint32 { return 0 }

func main() {}
