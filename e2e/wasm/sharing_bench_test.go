package wasm

import (
	"strconv"
	"testing"
	"time"

	"github.com/zerohop/zerohop/filter/hosttest"
	"github.com/zerohop/zerohop/filter/hosttest/lifecycletest"
	"github.com/zerohop/zerohop/shared/plan"
)

// BenchmarkSharing is a request of 6 KB, 70 % of which others share, on four workers in turn, with all that their VMs and the main
// thread's do for it: with sharing and without, in turn, the best round of each. The host is emulated.
func BenchmarkSharing(b *testing.B) {
	for _, every := range []time.Duration{500 * time.Microsecond, 50 * time.Microsecond} {
		for _, s := range subjects {
			b.Run(strconv.Itoa(int(time.Second/every))+" a second/"+s.name, func(b *testing.B) {
				shared, alone := sharers(b, s.make, plan.SharingProcess), sharers(b, s.make, plan.SharingWorker)
				on, off := time.Duration(1<<62), time.Duration(1<<62)
				i := 0
				for b.Loop() {
					on = min(on, sharingRound(b, shared, i, every))
					off = min(off, sharingRound(b, alone, i, every))
					i++
				}
				b.ReportMetric(float64(off.Nanoseconds()), "cpu-ns/alone")
				b.ReportMetric(float64(on.Nanoseconds()), "cpu-ns/shared")
				b.ReportMetric(on.Seconds()/off.Seconds(), "ratio")
			})
		}
	}
}

// sharers starts the VMs of four workers and of the main thread.
func sharers(b testing.TB, m hosttest.NewModule, mode string) *hosttest.Process {
	b.Helper()
	p := hosttest.NewProcess()
	b.Cleanup(p.Close)
	pl := lifecycletest.Plan(plan.DestinationHeader, 16)
	pl.Sharing = plan.DefaultSharing
	pl.Sharing.Mode = mode
	for range 5 {
		if w := p.AddWorker(m); !w.LoadBoth(plan.Append(nil, pl)) {
			b.Fatalf("plan refused: %v %v", p.Logs, p.Faults)
		}
	}
	p.Run(300 * time.Millisecond)
	return p
}

// sharingRequests is the number of requests of a round.
const sharingRequests = 64

// sharingRound returns the processor time of a request.
func sharingRound(b testing.TB, p *hosttest.Process, round int, every time.Duration) time.Duration {
	chats := make([]hosttest.Request, sharingRequests)
	for k := range chats {
		text := lifecycletest.Text("group"+strconv.Itoa(k%16), 4200) + lifecycletest.Text(strconv.Itoa(round*sharingRequests+k), 1800)
		chats[k] = lifecycletest.Chat(lifecycletest.ChatBody(text))
	}
	before := cpuTime(b)
	for k := range chats {
		p.Workers[1+k%4].Do(&chats[k])
		const period = 100 * time.Millisecond
		tick := (p.Now()+every)/period > p.Now()/period
		if p.Advance(every); tick {
			for _, w := range p.Workers {
				w.Tick()
			}
		}
	}
	return (cpuTime(b) - before) / sharingRequests
}
