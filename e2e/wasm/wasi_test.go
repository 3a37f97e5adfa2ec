package wasm

import (
	"encoding/binary"
	"errors"
	"strings"
)

// clockMonotonic is WASI's id of the monotonic clock.
const clockMonotonic = 1

var errExit = errors.New("proc_exit")

// wasiFuncs is WASI as Envoy offers it, as far as the Go runtime asks for it.
var wasiFuncs = []hostFunc{
	{name: "args_get", params: "ii", inInit: true, call: nothing},
	{name: "args_sizes_get", params: "ii", inInit: true, call: twoZeros},
	{name: "environ_get", params: "ii", inInit: true, call: nothing},
	{name: "environ_sizes_get", params: "ii", inInit: true, call: twoZeros},
	{name: "sched_yield", params: "", inInit: true, call: nothing},
	{name: "poll_oneoff", params: "iiii", inInit: true, inAllocator: true, call: func(v *VM, a []uint64) status {
		v.put32(a[3], 0) // never waits, and has no events
		return 0
	}},
	{name: "clock_time_get", params: "iIi", inInit: true, inAllocator: true, call: func(v *VM, a []uint64) status {
		v.Clocks++
		v.put64(a[2], uint64(v.host.Process().Now())) // not a call of the filter: the runtime reads it too
		return 0
	}},
	{name: "random_get", params: "ii", inInit: true, call: randomGet},
	{name: "fd_write", params: "iiii", inInit: true, inAllocator: true, call: fdWrite},
	{name: "proc_exit", params: "i", inInit: true, void: true, call: func(*VM, []uint64) status { panic(errExit) }},
}

func nothing(*VM, []uint64) status { return 0 }

func twoZeros(v *VM, a []uint64) status {
	v.put32(a[0], 0)
	v.put32(a[1], 0)
	return 0
}

func randomGet(v *VM, a []uint64) status {
	b := v.bytes(a[0], a[1])
	for len(b) > 0 {
		var word [8]byte
		binary.LittleEndian.PutUint64(word[:], v.host.Random())
		b = b[copy(b, word[:]):]
	}
	return 0
}

// fdWrite takes what the runtime says before it dies.
func fdWrite(v *VM, a []uint64) status {
	var text strings.Builder
	for iov := v.bytes(a[1], 8*a[2]); len(iov) >= 8; iov = iov[8:] {
		text.Write(v.bytes(uint64(binary.LittleEndian.Uint32(iov)), uint64(binary.LittleEndian.Uint32(iov[4:]))))
	}
	v.host.Process().Fault("fd %d: %s", a[0], text.String())
	v.put32(a[3], uint32(text.Len()))
	return 0
}
