package wasm

import (
	"context"

	"github.com/tetratelabs/wazero/api"

	"github.com/zerohop/zerohop/filter"
	"github.com/zerohop/zerohop/filter/hosttest"
)

// VM is one instance of the module. It implements hosttest.Module.
type VM struct {
	host   *hosttest.Host
	ctx    context.Context
	module api.Module
	memory api.Memory
	names  map[string]string // interned strings of the guest
	failed bool              // the VM trapped; Envoy makes no further call

	// Clocks counts reads of the clock, by the filter and by the Go runtime.
	Clocks int

	starting   bool // _initialize runs: only WASI and the log may be called
	allocating bool // the allocator runs: see mayCall

	stack      [8]uint64
	allocStack [1]uint64

	allocate, create, configure, tick, callDone     api.Function
	requestHeaders, requestBody, requestTrailers    api.Function
	responseHeaders, responseBody, vmStart, destroy api.Function
}

var _ hosttest.Module = (*VM)(nil)

// callContext leads a host function to its VM.
type callContext struct {
	context.Context
	vm *VM
}

// vmKey is the context key of the VM.
type vmKey struct{}

// Value implements context.Context.
func (c callContext) Value(key any) any {
	if _, ok := key.(vmKey); ok {
		return c.vm
	}
	return c.Context.Value(key)
}

func (v *VM) link() {
	f := v.module.ExportedFunction
	v.allocate = f("proxy_on_memory_allocate")
	v.create, v.destroy = f("proxy_on_context_create"), f("proxy_on_delete")
	v.vmStart, v.configure = f("proxy_on_vm_start"), f("proxy_on_configure")
	v.tick, v.callDone = f("proxy_on_tick"), f("proxy_on_http_call_response")
	v.requestHeaders, v.responseHeaders = f("proxy_on_request_headers"), f("proxy_on_response_headers")
	v.requestBody, v.responseBody = f("proxy_on_request_body"), f("proxy_on_response_body")
	v.requestTrailers = f("proxy_on_request_trailers")
}

// fail marks the VM as trapped.
func (v *VM) fail(name string, err error) {
	v.failed = true
	v.host.Process().Fault("%s: %v", name, err)
}

// call runs an export with the first n words of the stack, and returns its result.
func (v *VM) call(name string, f api.Function, n int) uint64 {
	if v.failed {
		return 0
	}
	if err := f.CallWithStack(v.ctx, v.stack[:max(n, 1)]); err != nil {
		v.fail(name, err)
		return 0
	}
	return v.stack[0] & (1<<32 - 1) // the upper half of an i32 is undefined
}

func bit(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// MemoryBytes returns the size of the linear memory.
func (v *VM) MemoryBytes() int {
	if v.memory == nil {
		return 0
	}
	return int(v.memory.Size())
}

// Close frees the instance.
func (v *VM) Close() error {
	v.failed = true
	if v.module == nil {
		return nil
	}
	return v.module.Close(v.ctx)
}

// CreateContext implements hosttest.Module. Envoy starts the VM with the first root context.
func (v *VM) CreateContext(id, parent uint32) {
	v.stack[0], v.stack[1] = uint64(id), uint64(parent)
	v.call("proxy_on_context_create", v.create, 2)
	if parent == 0 {
		v.stack[0], v.stack[1] = uint64(id), 0
		if v.call("proxy_on_vm_start", v.vmStart, 2) == 0 {
			v.host.Process().Fault("proxy_on_vm_start refused")
		}
	}
}

// Configure implements hosttest.Module.
func (v *VM) Configure(id uint32, size int) bool {
	v.stack[0], v.stack[1] = uint64(id), uint64(size)
	return v.call("proxy_on_configure", v.configure, 2) != 0
}

// Tick implements hosttest.Module.
func (v *VM) Tick(id uint32) {
	v.stack[0] = uint64(id)
	v.call("proxy_on_tick", v.tick, 1)
}

// CallDone implements hosttest.Module.
func (v *VM) CallDone(id, token uint32, size int) {
	v.stack[0], v.stack[1], v.stack[2], v.stack[3], v.stack[4] = uint64(id), uint64(token), 1, uint64(size), 0
	v.call("proxy_on_http_call_response", v.callDone, 5)
}

// RequestHeaders implements hosttest.Module.
func (v *VM) RequestHeaders(id uint32, endOfStream bool) filter.Action {
	v.stack[0], v.stack[1], v.stack[2] = uint64(id), 1, bit(endOfStream)
	return filter.Action(v.call("proxy_on_request_headers", v.requestHeaders, 3))
}

// RequestBody implements hosttest.Module.
func (v *VM) RequestBody(id uint32, size int, endOfStream bool) filter.Action {
	v.stack[0], v.stack[1], v.stack[2] = uint64(id), uint64(size), bit(endOfStream)
	return filter.Action(v.call("proxy_on_request_body", v.requestBody, 3))
}

// RequestTrailers implements hosttest.Module.
func (v *VM) RequestTrailers(id uint32) filter.Action {
	v.stack[0], v.stack[1] = uint64(id), 1
	return filter.Action(v.call("proxy_on_request_trailers", v.requestTrailers, 2))
}

// ResponseHeaders implements hosttest.Module.
func (v *VM) ResponseHeaders(id uint32, endOfStream bool) filter.Action {
	v.stack[0], v.stack[1], v.stack[2] = uint64(id), 1, bit(endOfStream)
	return filter.Action(v.call("proxy_on_response_headers", v.responseHeaders, 3))
}

// ResponseBody implements hosttest.Module.
func (v *VM) ResponseBody(id uint32, size int, endOfStream bool) filter.Action {
	v.stack[0], v.stack[1], v.stack[2] = uint64(id), uint64(size), bit(endOfStream)
	return filter.Action(v.call("proxy_on_response_body", v.responseBody, 3))
}

// DeleteContext implements hosttest.Module.
func (v *VM) DeleteContext(id uint32) {
	v.stack[0] = uint64(id)
	v.call("proxy_on_delete", v.destroy, 1)
}
