//go:build wasip1 && faultinject

package main

import (
	"sync"

	"github.com/zerohop/zerohop/filter/abi"
)

// inject breaks the filter on request, for tests of what a bug in it does to traffic: the header x-zerohop-fault says
// "panic" (recovered) or "trap" (the VM is lost).
func inject() {
	switch string((&abi.Host{}).RequestHeader("x-zerohop-fault")) {
	case "panic":
		panic("injected")
	case "trap":
		var mu sync.Mutex
		mu.Unlock() // a fatal error of the runtime, which no recover stops
	}
}
