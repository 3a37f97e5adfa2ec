package filter_test

import (
	"encoding/binary"
	"math"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/zerohop/zerohop/filter"
	"github.com/zerohop/zerohop/filter/hosttest"
	"github.com/zerohop/zerohop/filter/hosttest/lifecycletest"
	"github.com/zerohop/zerohop/shared/loads"
	"github.com/zerohop/zerohop/shared/names"
	"github.com/zerohop/zerohop/shared/plan"
)

// sharers starts n VMs with a plan of some endpoints.
func sharers(t testing.TB, n, endpoints int, mode string) *hosttest.Process {
	t.Helper()
	p := hosttest.NewProcess()
	pl := lifecycletest.Plan(plan.DestinationHeader, endpoints)
	pl.Bounds.Endpoints = max(pl.Bounds.Endpoints, endpoints)
	pl.Sharing = plan.DefaultSharing
	pl.Sharing.Mode = mode
	for range n {
		if w := p.AddWorker(hosttest.NewNative); !w.LoadBoth(plan.Append(nil, pl)) {
			t.Fatalf("plan refused: %v", p.Logs)
		}
	}
	p.Run(300 * time.Millisecond)
	return p
}

// TestSharingAllocatesNothing plays requests on four workers in turn, with everything that sharing does: looks, records taken
// over, slots used again, dumps.
func TestSharingAllocatesNothing(t *testing.T) {
	p := sharers(t, 5, 16, plan.SharingProcess)
	var mix []hosttest.Request
	for i := range 64 {
		mix = append(mix, lifecycletest.Chat(lifecycletest.ChatBody(lifecycletest.Text("m"+strconv.Itoa(i), 300+i*300))))
	}
	run := func() {
		for i := range mix {
			p.Workers[1+i%4].Do(&mix[i])
			p.Advance(time.Millisecond)
		}
		p.Run(time.Second)
	}
	for range 200 { // the slots of the logs are used a few times
		run()
	}
	if n := testing.AllocsPerRun(20, run); n != 0 {
		t.Errorf("%v allocations for %d requests", n, len(mix))
	}
	if len(p.Faults)+len(p.Panics) != 0 {
		t.Errorf("faults %v, panics %v", p.Faults, p.Panics)
	}
	if n := p.Metric("zerohop_sharing_lost_records_total").Value; n != 0 {
		t.Errorf("%d records lost", n)
	}
}

// TestSharingMemory holds what VMs and Envoy keep for sharing against what docs/sharing.md says, with 1 000 endpoints and 16
// workers.
func TestSharingMemory(t *testing.T) {
	const workers, endpoints = 16, 1000
	p := sharers(t, workers+1, endpoints, plan.SharingProcess)
	alone := sharers(t, 1, endpoints, plan.SharingWorker)
	for i := range 2000 {
		r := lifecycletest.Chat(lifecycletest.ChatBody(lifecycletest.Text("m"+strconv.Itoa(i), 6000)))
		p.Workers[1+i%workers].Do(&r)
		alone.Workers[0].Do(&r)
		if i%100 == 0 {
			p.Run(100 * time.Millisecond)
		}
	}
	p.Run(5 * time.Second)
	own := vm(alone.Workers[0]).StateBytes()
	vms := workers + 1
	for i, w := range p.Workers {
		if got, limit := vm(w).StateBytes()-own, vms*(28*endpoints+8500)+64*endpoints+512<<10; got > limit {
			t.Errorf("worker %d: sharing takes %d bytes, at most %d are said", i, got, limit)
		}
	}
	held := p.SharedBytes("zerohop.l", "zerohop.dump") // zerohop.load and zerohop.log
	records := vm(p.Workers[1]).SchedStats().IndexRecords
	limit := vms*(24*endpoints+328+plan.DefaultSharing.LogBytes) + 8*records + 64*endpoints
	if held > limit {
		t.Errorf("%d bytes of shared data, at most %d are said", held, limit)
	}
	if got := int(p.Metric("zerohop_sharing_bytes").Value); got < held || got > held+held/4+vms*(names.LogSlots+4)*128 {
		t.Errorf("zerohop_sharing_bytes says %d, but the values have %d", got, held)
	}
	if got, want := p.Metric("zerohop_sharing_vms").Value, int64(vms); got != want {
		t.Errorf("zerohop_sharing_vms is %d, want %d", got, want)
	}
	said := int(p.Metric("zerohop_vm_bytes").Value)
	if !slices.ContainsFunc(p.Workers[1:], func(w *hosttest.Worker) bool { return vm(w).StateBytes() == said }) {
		t.Errorf("zerohop_vm_bytes is %d, worker 1 has %d", said, vm(p.Workers[1]).StateBytes())
	}
	if n := vm(p.Workers[0]).SchedStats().IndexRecords; n != 0 {
		t.Errorf("the main thread's VM, which has no requests, keeps %d records", n)
	}
	t.Logf("per VM: %d bytes alone, %d with %d others; shared data: %d", own, vm(p.Workers[1]).StateBytes(), workers, held)
}

// TestHitRateOfAlternatingTurns plays chats whose turns come to four workers in turn, and to one: the prefix hits differ by less
// than 3 %.
func TestHitRateOfAlternatingTurns(t *testing.T) {
	rate := func(workers int, mode string) float64 {
		p := sharers(t, workers+1, 8, mode)
		for turn := range 8 {
			for chat := range 60 {
				text := ""
				for i := range turn + 1 {
					text += lifecycletest.Text("chat"+strconv.Itoa(chat)+"turn"+strconv.Itoa(i), 1500)
				}
				r := lifecycletest.Chat(lifecycletest.ChatBody(text))
				p.Workers[1+(chat+turn)%workers].Do(&r)
				p.Advance(3 * time.Millisecond)
			}
			p.Run(100 * time.Millisecond)
		}
		return float64(p.Metric("zerohop_prefix_matched_blocks_total").Value) / float64(p.Metric("zerohop_prefix_blocks_total").Value)
	}
	one, four, apart := rate(1, plan.SharingProcess), rate(4, plan.SharingProcess), rate(4, plan.SharingWorker)
	t.Logf("hit rate: one worker %.3f, four %.3f, four without sharing %.3f", one, four, apart)
	if four < 0.97*one || one < 0.5 {
		t.Errorf("hit rate %.3f on four workers, %.3f on one", four, one)
	}
	if apart > 0.8*one {
		t.Errorf("without sharing the hit rate is %.3f: the test shows nothing", apart)
	}
}

// TestLateFirstByte has a VM that writes often fall silent: a change of load that it has not written is there with the next tick.
func TestLateFirstByte(t *testing.T) {
	p := sharers(t, 3, 2, plan.SharingProcess)
	r := lifecycletest.Chat(lifecycletest.ChatBody("hi"))
	last := p.Workers[1].Open(&r)
	last.Receive()
	for range 40 {
		p.Workers[1].Do(&r)
		p.Advance(300 * time.Microsecond)
	}
	believed := func(want int, when string) {
		t.Helper()
		p.Advance(5 * time.Millisecond)
		vm(p.Workers[2]).Look(uint64(p.Now()))
		if got := vm(p.Workers[2]).Believed(); got != want {
			t.Errorf("%s: %d believed to be in flight, want %d", when, got, want)
		}
	}
	believed(2, "after a burst") // the end of its last request waits
	p.Workers[1].Tick()
	believed(1, "after a tick")
	last.Forward()
	last.Close()
	believed(0, "when all have ended") // at once
}

// TestOnlyOneServes sends requests to one VM alone: it writes little until another one has a request, and its log and load are
// there by tick.
func TestOnlyOneServes(t *testing.T) {
	p := sharers(t, 3, 2, plan.SharingProcess)
	r := lifecycletest.Chat(lifecycletest.ChatBody(lifecycletest.Text("only", 500)))
	written := func(n int, every time.Duration) int {
		before := p.Writes
		for range n {
			p.Workers[1].Do(&r)
			p.Advance(every)
		}
		return p.Writes - before
	}
	if n := written(filter.StartRequests, 5*time.Millisecond); n < 2*filter.StartRequests {
		t.Errorf("%d values were written for the first %d requests", n, filter.StartRequests)
	}
	p.Run(time.Second) // till the dump is done
	if n := written(80, 500*time.Microsecond); n > 80/8+1 {
		t.Errorf("%d values were written for 80 requests", n)
	}
	late := lifecycletest.Chat(lifecycletest.ChatBody(lifecycletest.Text("late", 6000)))
	open := p.Workers[1].Open(&late)
	open.Receive()
	p.Run(100 * time.Millisecond)
	p.Advance(5 * time.Millisecond)
	first := lifecycletest.Chat(lifecycletest.ChatBody("hi"))
	p.Workers[2].Do(&first)
	if vm(p.Workers[2]).Believed() != 1 {
		t.Errorf("the other VM believes %d to be in flight", vm(p.Workers[2]).Believed())
	}
	p.Advance(5 * time.Millisecond)
	p.Workers[2].Do(&first) // it has read the log
	got := p.Workers[2].Do(&late)
	if pick := string(got.Pick); hosttest.Pick(pick, "matched") != hosttest.Pick(pick, "total") {
		t.Errorf("the other VM does not know the prompt: %s", pick)
	}
	p.Advance(5 * time.Millisecond)
	if n := written(80, 5*time.Millisecond); n < 2*80 {
		t.Errorf("%d values were written for 80 requests where another VM has requests", n)
	}
	open.Close()
}

// TestBusyWorkersLookLess has four workers make 2 000 picks a second each: a look at the three others is for eight picks, not for what
// comes in an interval. What they read besides is the logs, up to eight records at a time, of which there are three for each pick, who
// is there, and the version of the snapshot.
func TestBusyWorkersLookLess(t *testing.T) {
	p := sharers(t, 5, 16, plan.SharingProcess)
	reads := countReads(p.Workers...)
	const requests = 4000
	for i := range requests {
		if i == requests/2 {
			*reads = 0 // all know of each other
		}
		r := lifecycletest.Chat(lifecycletest.ChatBody(lifecycletest.Text("busy"+strconv.Itoa(i), 2000)))
		p.Workers[1+i%4].Do(&r)
		p.Advance(125 * time.Microsecond)
	}
	if n := float64(*reads) / (requests / 2); n < 0.85 || n > 1.1 {
		t.Errorf("%.2f reads a request", n)
	}
	if n := p.Metric("zerohop_sharing_lost_records_total").Value; n != 0 {
		t.Errorf("%d records lost", n)
	}
}

// TestLooks counts what one of two workers reads while it makes 240 picks: the vector of the other one once an interval of 2 ms, or
// after eight picks where these take longer, but at most two and a half; who is there, at each look that is 8 ms after the last time;
// and the version of the snapshot, after 4 ms.
func TestLooks(t *testing.T) {
	for _, tt := range []struct {
		apart time.Duration // of two picks
		reads int
	}{
		{100 * time.Microsecond, 12 + 3 + 6},      // an interval has more than eight
		{500 * time.Microsecond, 30 + 15 + 31},    // eight take two intervals
		{700 * time.Microsecond, 80 + 20 + 40},    // eight take too long: three to an interval
		{3000 * time.Microsecond, 240 + 80 + 120}, // each is an interval after the last
	} {
		p := sharers(t, 3, 4, plan.SharingProcess)
		r := lifecycletest.Chat(lifecycletest.ChatBody(lifecycletest.Text("looks", 2000)))
		for i := range 40 {
			p.Workers[1+i%2].Do(&r)
			p.Advance(5 * time.Millisecond)
		}
		reads := countReads(p.Workers[1])
		for range 240 {
			p.Workers[1].Do(&r)
			p.Advance(tt.apart)
		}
		if *reads != tt.reads {
			t.Errorf("a pick each %v: %d reads, want %d", tt.apart, *reads, tt.reads)
		}
		p.Close()
	}
}

// countReads counts what workers read of shared data from now on.
func countReads(workers ...*hosttest.Worker) *int {
	reads := new(int)
	for _, w := range workers {
		w.Host.OnCall = func(name string) {
			if name == "Shared" {
				*reads++
			}
		}
	}
	return reads
}

// TestImpossibleHead reads a vector that says of a log what no log can come to.
func TestImpossibleHead(t *testing.T) {
	p := sharers(t, 2, 2, plan.SharingProcess)
	r := lifecycletest.Chat(lifecycletest.ChatBody("hi"))
	p.Workers[1].Do(&r)
	for _, head := range []uint64{math.MaxUint64, math.MaxUint64 - 1, math.MaxUint64 - 7, 1 << 63, 1 << 50} {
		b := loads.Seal(loads.Resize(nil, 0), &loads.Header{Epoch: head, At: uint64(p.Now()), Head: head}, nil)
		p.Put(names.KeyWorker(2), []byte("no record"))
		p.Put(names.KeyLoad(2), b)
		reads := 0
		p.Workers[1].Host.OnCall = func(name string) {
			if name == "Shared" {
				reads++
			}
		}
		p.Run(time.Second)
		if reads > 11*names.LogSlots {
			t.Errorf("head %d: %d reads in a second", head, reads)
		}
	}
}

// BenchmarkSharing is a request of 6 KB on four workers in turn, with all that they do for it, and the ratio of sharing to not
// sharing. The emulated host copies what is shared, as Envoy does.
func BenchmarkSharing(b *testing.B) {
	for _, endpoints := range []int{16, 1000} {
		b.Run(strconv.Itoa(endpoints)+" endpoints", func(b *testing.B) {
			var on, off time.Duration
			shared, alone := sharers(b, 5, endpoints, plan.SharingProcess), sharers(b, 5, endpoints, plan.SharingWorker)
			round := func(p *hosttest.Process, i int) time.Duration {
				r := lifecycletest.Chat(lifecycletest.ChatBody(lifecycletest.Text("m"+strconv.Itoa(i%500), 6000)))
				start := time.Now()
				for k := range 32 {
					p.Workers[1+k%4].Do(&r)
					p.Advance(500 * time.Microsecond) // 2000 requests a second
				}
				return time.Since(start)
			}
			i := 0
			for b.Loop() {
				on += round(shared, i)
				off += round(alone, i)
				i++
			}
			b.ReportMetric(float64(on.Nanoseconds())/float64(32*i), "ns/shared")
			b.ReportMetric(float64(off.Nanoseconds())/float64(32*i), "ns/alone")
			b.ReportMetric(on.Seconds()/off.Seconds(), "ratio")
		})
	}
}

// BenchmarkLook is a look at other VMs, of which some have requests: what each wrote with one open stands there in turn with what it
// wrote with two.
func BenchmarkLook(b *testing.B) {
	for _, bc := range []struct{ vms, endpoints, busy int }{{4, 16, 0}, {4, 16, 3}, {16, 16, 15}, {64, 16, 63}, {4, 1000, 3}, {64, 1000, 63}} {
		b.Run(strconv.Itoa(bc.vms)+" VMs "+strconv.Itoa(bc.endpoints)+" endpoints "+strconv.Itoa(bc.busy)+" busy", func(b *testing.B) {
			p := sharers(b, bc.vms, bc.endpoints, plan.SharingProcess)
			r := lifecycletest.Chat(lifecycletest.ChatBody(lifecycletest.Text("look", 6000)))
			keys, wrote := make([]string, bc.busy), make([][2][]byte, bc.busy)
			for i := range 2 {
				for k := range wrote {
					s := p.Workers[1+k].Open(&r)
					s.Receive()
					keys[k] = names.KeyLoad(1 + k)
					wrote[k][i] = p.Shared(keys[k])
					defer s.Close()
				}
			}
			i, looking := 0, time.Duration(0) // stopping the timer each time would take longer than all else
			b.ReportAllocs()
			for b.Loop() {
				p.Advance(5 * time.Millisecond)
				now := uint64(p.Now())
				for k := range wrote {
					vector := wrote[k][i%2]
					binary.LittleEndian.PutUint64(vector[16:], now) // when it was written; see package loads
					p.Put(keys[k], vector)
				}
				i++
				start := time.Now()
				vm(p.Workers[0]).Look(now)
				looking += time.Since(start)
			}
			b.ReportMetric(float64(looking.Nanoseconds())/float64(i), "ns/look")
		})
	}
}

func vm(w *hosttest.Worker) *filter.VM { return w.Module().(hosttest.Native).VM }
