package wasm

import (
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/zerohop/zerohop/filter/hosttest"
	"github.com/zerohop/zerohop/filter/hosttest/lifecycletest"
	"github.com/zerohop/zerohop/shared/plan"
)

// subjects are the filter in both forms.
var subjects = []struct {
	name string
	make hosttest.NewModule
}{
	{"native", hosttest.NewNative},
	{"wasm", func(h *hosttest.Host) hosttest.Module { return module.New(h) }},
}

func benchWorker(b *testing.B, m hosttest.NewModule, endpoints int) (*hosttest.Process, *hosttest.Worker) {
	b.Helper()
	p := hosttest.NewProcess()
	b.Cleanup(p.Close)
	w := p.AddWorker(m)
	pl := lifecycletest.Plan(plan.DestinationHeader, endpoints)
	pl.Bounds = plan.Bounds{Endpoints: max(64, endpoints), IndexBlocks: 1 << 20}
	if !w.LoadBoth(plan.Append(nil, pl)) {
		b.Fatalf("plan refused: %v %v", p.Logs, p.Faults)
	}
	return p, w
}

// perCPU runs op b.N times and reports the processor time of each, which on a shared machine says more than the clock.
func perCPU(b *testing.B, op func()) {
	before := cpuTime(b)
	n := 0
	for b.Loop() {
		op()
		n++
	}
	b.ReportMetric(float64(cpuTime(b)-before)/float64(n), "cpu-ns/op")
}

// cpuTime is the processor time of this process.
func cpuTime(b testing.TB) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkRequest measures a whole chat request through both filters with 16 endpoints, the emulated host included.
func BenchmarkRequest(b *testing.B) {
	for _, size := range []int{600, 6_000, 60_000, 400_000} {
		for _, s := range subjects {
			b.Run(strconv.Itoa(size)+"/"+s.name, func(b *testing.B) {
				p, w := benchWorker(b, s.make, 16)
				r := lifecycletest.Chat(lifecycletest.ChatBody(lifecycletest.Text("bench", size)))
				r.Chunk = 32 << 10
				b.SetBytes(int64(size))
				b.ReportAllocs()
				perCPU(b, func() {
					w.Do(&r)
					p.Advance(time.Millisecond)
				})
			})
		}
	}
}

// BenchmarkEndpoints measures the same with a prompt of 2 048 blocks that most endpoints hold; the difference between the
// numbers of endpoints is the cost of scheduling.
func BenchmarkEndpoints(b *testing.B) {
	const promptBytes = 2048 * 64 * 4
	for _, n := range []int{1, 1000} {
		for _, s := range subjects {
			b.Run(strconv.Itoa(n)+"/"+s.name, func(b *testing.B) {
				p, w := benchWorker(b, s.make, n)
				r := lifecycletest.Completions(lifecycletest.CompletionsBody(lifecycletest.Text("bench", promptBytes)))
				r.Chunk = 64 << 10
				for range 2 * n {
					w.Do(&r)
					p.Advance(time.Millisecond)
				}
				perCPU(b, func() {
					w.Do(&r)
					p.Advance(time.Millisecond)
				})
			})
		}
	}
}
