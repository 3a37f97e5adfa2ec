//go:build wasip1

// Command module measures scheduling decisions inside Envoy. Its configuration has one plan per line; each tick measures one case
// of one plan and logs "scorers PLAN CASE NANOSECONDS".
package main

import (
	"bytes"
	"strconv"
	"unsafe"

	"github.com/zerohop/zerohop/e2e/benchscorers/workload"
	"github.com/zerohop/zerohop/filter"
	"github.com/zerohop/zerohop/filter/abi"
	"github.com/zerohop/zerohop/shared/plan"
)

var (
	host  abi.Host
	plans [][]byte
	next  int // case
)

func main() {}

//go:wasmexport proxy_abi_version_0_2_1
func abiVersion() {}

//go:wasmexport proxy_on_memory_allocate
func onMemoryAllocate(size uint32) unsafe.Pointer { return abi.Allocate(size) }

//go:wasmexport proxy_on_context_create
func onContextCreate(id, parent uint32) {}

//go:wasmexport proxy_on_configure
func onConfigure(id, size uint32) uint32 {
	plans = bytes.Split(bytes.Clone(host.Configuration(int(size))), []byte("\n"))
	host.SetTick(1)
	return 1
}

//go:wasmexport proxy_on_tick
func onTick(id uint32) {
	cases := workload.Cases()
	which, size := next/len(cases), next%len(cases)
	if which >= len(plans) {
		host.SetTick(0)
		return
	}
	next++
	ns, err := measure(plans[which], cases[size])
	if err != nil {
		host.Log(filter.LogError, "scorers failed: "+err.Error())
		return
	}
	host.Log(filter.LogWarn, "scorers "+strconv.Itoa(which)+" "+strconv.Itoa(size)+" "+strconv.FormatFloat(ns, 'f', 1, 64))
}

func measure(text []byte, c workload.Case) (float64, error) {
	p, err := plan.Parse(text)
	if err != nil {
		return 0, err
	}
	r, err := workload.New(p, c)
	if err != nil {
		return 0, err
	}
	return r.Measure(host.Now), nil
}
