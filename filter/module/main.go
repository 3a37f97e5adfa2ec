//go:build wasip1

// Command module is the Wasm module zerohop.wasm: the exports of proxy-wasm ABI 0.2.1, each of which calls the filter
// and turns a panic into a request that goes on without a pick. It holds both plugins, by root id "zerohop"
// (downstream) and "zerohop-attempt" (upstream).
//
//	GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared -ldflags=-w -o zerohop.wasm ./filter/module
//	go run ./build/postlink/cmd/postlink -order filter/module/order.txt zerohop.wasm # smaller and faster, see package postlink
package main

import (
	"unsafe"

	"github.com/zerohop/zerohop/filter"
	"github.com/zerohop/zerohop/filter/abi"
)

var vm *filter.VM

func main() {}

// callback is what an export is about.
type callback uint8

const (
	contextCreate callback = iota
	configure
	tick
	callDone
	requestHeaders
	requestBody
	requestTrailers
	responseHeaders
	responseBody
	deleteContext
)

// call makes a callback for context id, and turns a panic into a request that goes on. All exports share it: each comes when the
// caches hold other things, so that code that several of them run through costs less than code of their own. a and b are what
// the callback has beside the id.
//
//go:noinline
func call(c callback, id, a, b uint32) (result uint32) {
	ended := false
	defer func() {
		if !ended && recover() != nil {
			recovered(id)
		}
	}()
	switch c {
	case contextCreate:
		vm.CreateContext(id, a)
	case configure:
		if vm.Configure(id, int(a)) {
			result = 1
		}
	case tick:
		injectTick()
		vm.Tick(id)
	case callDone:
		vm.CallDone(id, a, int(b))
	case requestHeaders:
		inject()
		result = uint32(vm.RequestHeaders(id, b != 0))
	case requestBody:
		result = uint32(vm.RequestBody(id, int(a), b != 0))
	case requestTrailers:
		result = uint32(vm.RequestTrailers(id))
	case responseHeaders:
		result = uint32(vm.ResponseHeaders(id, b != 0))
	case responseBody:
		result = uint32(vm.ResponseBody(id))
	case deleteContext:
		vm.DeleteContext(id)
	}
	ended = true
	return result
}

// recovered says that a callback panicked. Saying so must not trap either.
//
//go:noinline
func recovered(id uint32) {
	defer func() { _ = recover() }()
	vm.Recovered(id)
}

//go:wasmexport proxy_abi_version_0_2_1
func abiVersion() {}

//go:wasmexport proxy_on_memory_allocate
func onMemoryAllocate(size uint32) unsafe.Pointer { return abi.Allocate(size) }

//go:wasmexport proxy_on_context_create
func onContextCreate(id, parent uint32) {
	if vm == nil {
		abi.DisableGC()
		vm = filter.New(&abi.Host{})
	}
	call(contextCreate, id, parent, 0)
}

//go:wasmexport proxy_on_vm_start
func onVMStart(id, size uint32) uint32 { return 1 }

//go:wasmexport proxy_on_configure
func onConfigure(id, size uint32) uint32 { return call(configure, id, size, 0) }

//go:wasmexport proxy_on_tick
func onTick(id uint32) { call(tick, id, 0, 0) }

//go:wasmexport proxy_on_http_call_response
func onHTTPCallResponse(id, token, headers, size, trailers uint32) { call(callDone, id, token, size) }

//go:wasmexport proxy_on_request_headers
func onRequestHeaders(id, count, endOfStream uint32) uint32 {
	return call(requestHeaders, id, 0, endOfStream)
}

//go:wasmexport proxy_on_request_body
func onRequestBody(id, size, endOfStream uint32) uint32 {
	return call(requestBody, id, size, endOfStream)
}

//go:wasmexport proxy_on_request_trailers
func onRequestTrailers(id, count uint32) uint32 { return call(requestTrailers, id, 0, 0) }

//go:wasmexport proxy_on_response_headers
func onResponseHeaders(id, count, endOfStream uint32) uint32 {
	return call(responseHeaders, id, 0, endOfStream)
}

//go:wasmexport proxy_on_response_body
func onResponseBody(id, size, endOfStream uint32) uint32 { return call(responseBody, id, 0, 0) }

//go:wasmexport proxy_on_delete
func onDelete(id uint32) { call(deleteContext, id, 0, 0) }
