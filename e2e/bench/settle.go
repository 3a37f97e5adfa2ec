package main

import (
	"context"
	"fmt"
	"time"
)

const (
	// compilerThreads is what V8 calls the threads on which it compiles hot functions again, better.
	compilerThreads = "V8"
	// A variant has settled when the compiler has had less than settledShare of a core in settledSlices slices in a row.
	settledShare  = 0.02
	settledSlices = 4
	settleSlice   = 250 * time.Millisecond
	settleAtMost  = 80 // slices; a compiler that never rests is part of what is measured
	settleConns   = 4

	// How many requests of fillBytes fill the prefix indexes of a few workers, so that what comes then evicts as much as it adds, as it
	// does in a server that has been up for an hour.
	fillRequests = 1500
	fillBytes    = 400_000
)

// fill sends requests until the prefix indexes are full.
func (b *bench) fill(ctx context.Context, v *variant) error {
	if err := v.resume(); err != nil {
		return err
	}
	src := newBodies(fillBytes, false).source(&b.serial)
	if report := v.client(b.connections[0]).Closed(ctx, limit(src, fillRequests), 0); report.Failed() > 0 {
		return fmt.Errorf("fill: %v", report.Errors)
	}
	return v.pause()
}

// settle sends requests of all sizes until the variant's module is compiled as well as it is going to be. V8 runs a
// module at first with code that was compiled quickly, and compiles while requests run; a server that has been up for a
// minute is past that.
func (b *bench) settle(ctx context.Context, v *variant) error {
	if err := v.resume(); err != nil {
		return err
	}
	quiet := 0
	for i := 0; i < settleAtMost && quiet < settledSlices; i++ {
		before, err := threadsCPU(v.envoy.Pid(), compilerThreads)
		if err != nil {
			return err
		}
		src := newBodies(b.sizes[i%len(b.sizes)], b.chunks).source(&b.serial)
		report := v.client(settleConns).Closed(ctx, src, settleSlice)
		if report.Failed() > 0 {
			return fmt.Errorf("warm up: %v", report.Errors)
		}
		after, err := threadsCPU(v.envoy.Pid(), compilerThreads)
		if err != nil {
			return err
		}
		if quiet++; (after - before).Seconds() > settledShare*report.Length.Seconds() {
			quiet = 0
		}
	}
	return v.pause()
}
