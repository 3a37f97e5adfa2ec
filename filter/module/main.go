//go:build wasip1

// Command module is the Wasm module zerohop.wasm: the exports of proxy-wasm ABI 0.2.1, each of which decodes, calls the
// filter and turns a panic into a request that goes on without a pick. It holds both plugins, by root id "zerohop"
// (downstream) and "zerohop-attempt" (upstream).
//
//	GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared -o zerohop.wasm ./filter/module
package main

import (
	"unsafe"

	"github.com/zerohop/zerohop/filter"
	"github.com/zerohop/zerohop/filter/abi"
)

var vm *filter.VM

func main() {}

// guard ends a callback that panicked. It is deferred by every export.
func guard(id uint32) {
	if recover() != nil {
		defer func() { _ = recover() }() // reporting must not trap either
		vm.Recovered(id)
	}
}

//go:wasmexport proxy_abi_version_0_2_1
func abiVersion() {}

//go:wasmexport proxy_on_memory_allocate
func onMemoryAllocate(size uint32) unsafe.Pointer { return abi.Allocate(size) }

//go:wasmexport proxy_on_context_create
func onContextCreate(id, parent uint32) {
	defer guard(id)
	if vm == nil {
		abi.DisableGC()
		vm = filter.New(&abi.Host{})
	}
	vm.CreateContext(id, parent)
}

//go:wasmexport proxy_on_vm_start
func onVMStart(id, size uint32) uint32 { return 1 }

//go:wasmexport proxy_on_configure
func onConfigure(id, size uint32) (accepted uint32) {
	defer guard(id)
	if vm.Configure(id, int(size)) {
		accepted = 1
	}
	return accepted
}

//go:wasmexport proxy_on_tick
func onTick(id uint32) {
	defer guard(id)
	injectTick()
	vm.Tick(id)
}

//go:wasmexport proxy_on_http_call_response
func onHTTPCallResponse(id, token, headers, size, trailers uint32) {
	defer guard(id)
	vm.CallDone(id, token, int(size))
}

//go:wasmexport proxy_on_request_headers
func onRequestHeaders(id, count, endOfStream uint32) uint32 {
	defer guard(id)
	inject()
	return uint32(vm.RequestHeaders(id, endOfStream != 0))
}

//go:wasmexport proxy_on_request_body
func onRequestBody(id, size, endOfStream uint32) uint32 {
	defer guard(id)
	return uint32(vm.RequestBody(id, int(size), endOfStream != 0))
}

//go:wasmexport proxy_on_request_trailers
func onRequestTrailers(id, count uint32) uint32 {
	defer guard(id)
	return uint32(vm.RequestTrailers(id))
}

//go:wasmexport proxy_on_response_headers
func onResponseHeaders(id, count, endOfStream uint32) uint32 {
	defer guard(id)
	return uint32(vm.ResponseHeaders(id, endOfStream != 0))
}

//go:wasmexport proxy_on_response_body
func onResponseBody(id, size, endOfStream uint32) uint32 {
	defer guard(id)
	return uint32(vm.ResponseBody(id))
}

//go:wasmexport proxy_on_delete
func onDelete(id uint32) {
	defer guard(id)
	vm.DeleteContext(id)
}
