//go:build wasip1 && faultinject

package main

import (
	"sync"

	"github.com/zerohop/zerohop/filter/abi"
)

// trapIdle is the shared-data key that says that VMs without requests are to be lost, such as the main thread's.
const trapIdle = "zerohop.fault_trap_idle.v1"

// busy says that this VM has had a request.
var busy bool

// inject breaks the filter on request, for tests of what a bug in it does to traffic: the header x-zerohop-fault says
// "panic" (recovered), "trap" (the VM is lost) or "trap-idle" (VMs without requests are lost at their next tick).
func inject() {
	busy = true
	switch string((&abi.Host{}).RequestHeader("x-zerohop-fault")) {
	case "panic":
		panic("injected")
	case "trap":
		trap()
	case "trap-idle":
		(&abi.Host{}).SetShared(trapIdle, []byte{1}, 0)
	}
}

func injectTick() {
	if busy {
		return
	}
	if b, _ := (&abi.Host{}).Shared(trapIdle); len(b) > 0 {
		trap()
	}
}

// trap loses the VM.
func trap() {
	var mu sync.Mutex
	mu.Unlock() // a fatal error of the runtime, which no recover stops
}
