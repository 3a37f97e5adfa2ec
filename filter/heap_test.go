package filter_test

import (
	"testing"
	"time"

	"github.com/zerohop/zerohop/filter/hosttest"
	"github.com/zerohop/zerohop/filter/hosttest/lifecycletest"
	"github.com/zerohop/zerohop/shared/plan"
)

// TestCollect asserts when garbage is collected: with each configuration, and when the heap has grown by 8 MiB, noticed
// within about a second by tick, or by a busy worker whose ticks are late.
func TestCollect(t *testing.T) {
	const live = 3 << 20
	p := hosttest.NewProcess()
	w := p.AddWorker(hosttest.NewNative)
	w.Host.HeapLive = live
	if !w.LoadBoth(plan.Append(nil, lifecycletest.Plan(plan.DestinationHeader, 2))) {
		t.Fatalf("plan refused: %v", p.Logs)
	}
	want := func(n int, when string) {
		t.Helper()
		if w.Host.Collections != n {
			t.Errorf("%d collections %s, want %d", w.Host.Collections, when, n)
		}
	}
	want(1, "after configure")
	w.Host.Heap = live + 7<<20
	p.Run(5 * time.Second)
	want(1, "after growth by 7 MiB")
	w.Host.Heap = live + 9<<20
	p.Run(1100 * time.Millisecond)
	want(2, "after growth by 9 MiB")
	p.Run(5 * time.Second)
	want(2, "without further growth")

	w.Host.Heap = live + 9<<20
	r := lifecycletest.Models()
	for range 1 << 14 {
		w.Do(&r)
		p.Advance(time.Microsecond)
	}
	want(3, "after 16 384 requests without a tick")
}
