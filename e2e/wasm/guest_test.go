package wasm

import (
	"errors"
	"fmt"
)

// status is a proxy-wasm status.
type status = uint32

// The statuses in use.
const (
	statusOK          status = 0
	statusNotFound    status = 1
	statusBadArgument status = 2
	statusCASMismatch status = 8
	statusInternal    status = 10
)

var errMemory = errors.New("address outside of the guest's memory")

// mayCall traps a host call that Envoy would refuse: while _initialize runs all but WASI and the log, while the allocator
// runs all but four.
func (v *VM) mayCall(name string, inInit, inAllocator bool) {
	if v.starting && !inInit || v.allocating && !inAllocator {
		panic(fmt.Errorf("restricted_callback: %s", name))
	}
}

// bytes returns a view of guest memory, valid until the guest runs again.
func (v *VM) bytes(ptr, n uint64) []byte {
	b, ok := v.memory.Read(uint32(ptr), uint32(n))
	if !ok {
		panic(errMemory)
	}
	return b
}

// text returns guest memory as a string, without allocating for what was seen before.
func (v *VM) text(ptr, n uint64) string {
	b := v.bytes(ptr, n)
	if s, ok := v.names[string(b)]; ok {
		return s
	}
	s := string(b)
	v.names[s] = s
	return s
}

func (v *VM) put32(ptr uint64, x uint32) {
	if !v.memory.WriteUint32Le(uint32(ptr), x) {
		panic(errMemory)
	}
}

func (v *VM) put64(ptr, x uint64) {
	if !v.memory.WriteUint64Le(uint32(ptr), x) {
		panic(errMemory)
	}
}

// give hands b to the guest: in memory from its allocator, or as address 0 if b is empty.
func (v *VM) give(b []byte, retPtr, retLen uint64) status {
	var ptr uint32
	if len(b) > 0 {
		v.allocStack[0] = uint64(len(b))
		v.allocating = true
		err := v.allocate.CallWithStack(v.ctx, v.allocStack[:])
		v.allocating = false
		if err != nil {
			panic(fmt.Errorf("allocate %d bytes: %w", len(b), err))
		}
		if ptr = uint32(v.allocStack[0]); !v.memory.Write(ptr, b) {
			panic(errMemory)
		}
	}
	v.put32(retPtr, ptr)
	v.put32(retLen, uint32(len(b)))
	return statusOK
}

// giveFound is give for values of which nil means that there is none.
func (v *VM) giveFound(b []byte, retPtr, retLen uint64) status {
	if b == nil {
		return statusNotFound
	}
	return v.give(b, retPtr, retLen)
}
