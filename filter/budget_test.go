package filter_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/zerohop/zerohop/filter/hosttest"
	"github.com/zerohop/zerohop/filter/hosttest/lifecycletest"
	"github.com/zerohop/zerohop/shared/plan"
)

// TestHostCalls pins the host calls of a plain request with one body chunk and two response chunks, through both filters:
// each costs up to 0.7 µs in Envoy, those that return data most.
func TestHostCalls(t *testing.T) {
	common := map[string]int{
		"RequestHeaders": 1, "Body": 1, "Shared": 1, "SetProperty": 1, "Property": 1, "ResponseHeader": 1, "Now": 3,
	}
	tests := []struct {
		mode string
		more map[string]int
	}{
		{plan.DestinationHeader, map[string]int{"ReplaceRequestHeader": 1, "RemoveRequestHeader": 1}},
		{plan.DestinationFilterState, map[string]int{"SetDestination": 1}},
		// The attempt filter asks which address of the list Envoy has taken.
		{plan.DestinationList, map[string]int{"ReplaceRequestHeader": 1, "RemoveRequestHeader": 1, "Property": 2, "Now": 4}},
	}
	for _, tt := range tests {
		t.Run(tt.mode, func(t *testing.T) {
			want := map[string]int{}
			for _, m := range []map[string]int{common, tt.more} {
				for name, n := range m {
					want[name] = n // what a mode says replaces what is common
				}
			}
			p := hosttest.NewProcess()
			w := p.AddWorker(hosttest.NewNative)
			pl := lifecycletest.Plan(tt.mode, 4)
			pl.Sharing.Mode = plan.SharingWorker
			if !w.LoadBoth(plan.Append(nil, pl)) {
				t.Fatalf("plan refused: %v", p.Logs)
			}
			r := lifecycletest.Chat(lifecycletest.ChatBody(lifecycletest.Text("budget", 4000)))
			r.Reply = func(string, int) hosttest.Reply { return hosttest.Reply{Chunks: 2} }
			for i := range 3 { // the first request makes no other calls than the later ones
				got := map[string]int{}
				w.Host.OnCall = func(name string) { got[name]++ }
				w.Do(&r)
				p.Advance(10 * time.Millisecond)
				if d := cmp.Diff(want, got); d != "" {
					t.Errorf("request %d: host calls (-want +got):\n%s", i, d)
				}
			}
		})
	}
}

// TestSharingCalls pins what sharing adds to the host calls of a request: one log slot, and the load vector when the request is
// sent, when its first byte comes and when it ends; of a busy VM once for many requests. A look reads the roll, if it did not in the
// last 8 ms or nobody else has requests, the vector of each other VM that has, and a log slot of those that may have sent the same
// prompt since; and all vectors, and the record of the next VM, when another one says that it is there. A decision reads the version
// of the snapshot.
func TestSharingCalls(t *testing.T) {
	p := hosttest.NewProcess()
	for range 4 {
		if w := p.AddWorker(hosttest.NewNative); !w.LoadBoth(plan.Append(nil, lifecycletest.Plan(plan.DestinationHeader, 4))) {
			t.Fatalf("plan refused: %v", p.Logs)
		}
	}
	r := lifecycletest.Chat(lifecycletest.ChatBody(lifecycletest.Text("budget", 4000)))
	p.Workers[0].Do(&r)
	p.Run(200 * time.Millisecond) // numbers are taken, peers are known, and there is nothing to restore
	other := lifecycletest.Chat(lifecycletest.ChatBody(lifecycletest.Text("other", 4000)))
	busy := func() {
		p.Advance(10 * time.Millisecond)
		for range 9 {
			p.Workers[0].Do(&r)
			p.Advance(500 * time.Microsecond)
		}
	}
	var open *hosttest.Stream
	tests := []struct {
		name    string
		before  func() // what happens before the request
		written int
		read    int
	}{
		{"others idle", func() { p.Advance(10 * time.Millisecond) }, 4, 2},
		{"one other has its first request", func() { p.Advance(10 * time.Millisecond); p.Workers[1].Do(&other) }, 4, 2 + 3 + 1},
		{"one other busy", func() { p.Advance(20 * time.Millisecond); p.Workers[1].Do(&other) }, 4, 2 + 1},
		{"soon after", func() { p.Advance(5 * time.Millisecond); p.Workers[1].Do(&other) }, 4, 1 + 1},
		{"one other has the same prompt", func() {
			p.Advance(20 * time.Millisecond)
			r = lifecycletest.Chat(lifecycletest.ChatBody(lifecycletest.Text("both", 4000)))
			p.Workers[1].Do(&r)
		}, 4, 2 + 1 + 1},
		{"busy", busy, 2, 0},
		{"busy, another one open", func() {
			busy()
			open = p.Workers[0].Open(&r)
			open.Receive()
		}, 0, 0},
		{"busy, and it has written half an interval ago", func() { p.Advance(time.Millisecond) }, 2, 0},
		{"another one open", func() { p.Advance(20 * time.Millisecond) }, 4, 2 + 1},
	}
	defer func() { open.Close() }()
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.before()
			got := map[string]int{}
			p.Workers[0].Host.OnCall = func(name string) { got[name]++ }
			p.Workers[0].Do(&r)
			p.Workers[0].Host.OnCall = nil
			if got["SetShared"] != tt.written || got["Shared"] != tt.read {
				t.Errorf("%d values written and %d read, want %d and %d", got["SetShared"], got["Shared"], tt.written, tt.read)
			}
		})
	}
}
