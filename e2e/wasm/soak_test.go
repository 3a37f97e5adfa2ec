package wasm

import (
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/zerohop/zerohop/filter/hosttest"
	"github.com/zerohop/zerohop/filter/hosttest/lifecycletest"
	"github.com/zerohop/zerohop/shared/plan"
	"github.com/zerohop/zerohop/shared/snapshot"
)

// soakEnv is the environment variable with the number of requests of TestSoak.
const soakEnv = "ZEROHOP_SOAK_REQUESTS"

// maxMemoryBytes bounds the linear memory apart from the configured index.
const maxMemoryBytes = 16 << 20

// indexBytes is what a prefix index of so many blocks may take.
const indexBytes = soakIndexBlocks * 64

// The index is small enough to be full, and to have grown to its full size, after some ten thousand requests.

const (
	soakIndexBlocks = 1 << 14
	soakEndpoints   = 32
	soakWarmUp      = 50_000
)

// soakRequests returns how many requests TestSoak sends: 200 000, fewer with -short, or what the environment says.
func soakRequests(t *testing.T) int {
	n := 200_000
	if testing.Short() {
		n = 2 * soakWarmUp
	}
	if s := os.Getenv(soakEnv); s != "" {
		var err error
		if n, err = strconv.Atoi(s); err != nil || n < 2*soakWarmUp {
			t.Fatalf("%s=%q: want a number of at least %d", soakEnv, s, 2*soakWarmUp)
		}
	}
	return n
}

// soak is one worker under endless mixed traffic.
type soak struct {
	p    *hosttest.Process
	w    *hosttest.Worker
	mix  []hosttest.Request
	sent int
}

func newSoak(t *testing.T, b *Binary, requests int) *soak {
	t.Helper()
	p := hosttest.NewProcess()
	t.Cleanup(p.Close)
	p.Agent = &hosttest.Agent{Deltas: true}
	w := p.AddWorker(b.New)
	pl := lifecycletest.Plan(plan.DestinationHeader, 0)
	pl.Bounds.IndexBlocks = soakIndexBlocks
	if !w.LoadBoth(plan.Append(nil, pl)) {
		t.Fatalf("plan refused: %v %v", p.Logs, p.Faults)
	}
	s := &soak{p: p, w: w}
	for seed := range max(1, min(requests/1000, 50)) {
		s.mix = append(s.mix, lifecycletest.Mix(uint64(seed))...)
	}
	s.publish()
	return s
}

// publish makes a new snapshot. Every endpoint's load changes, or every other time that of some, which travels as a delta;
// every fourth time endpoints come and go.
func (s *soak) publish() {
	version := s.p.Agent.Version + 1
	var live []int
	for i := 1; i <= soakEndpoints; i++ {
		if i%8 != int(version/4)%8 {
			live = append(live, i)
		}
	}
	all := version &^ 1
	s.p.Agent.Publish(version, lifecycletest.Loaded(version, func(i int, e *snapshot.Endpoint) {
		e.ScrapeSeq = uint32(all)
		e.Waiting = uint32(i*int(all)) % 5
		e.Running = uint32(i) % 7
		e.KVUsage = float32(i%10) / 10
		if version != all && i < 4 {
			e.Waiting, e.ScrapeSeq = e.Waiting+1, uint32(version)
		}
	}, live...))
	s.p.Run(200 * time.Millisecond)
}

// send sends n requests at 2 000 a second with ticks between them, and a new snapshot every 1 000.
func (s *soak) send(n int) {
	for range n {
		s.w.Do(&s.mix[s.sent*7919%len(s.mix)])
		s.p.Advance(500 * time.Microsecond)
		if s.sent++; s.sent%200 == 0 {
			s.w.Tick()
		}
		if s.sent%1000 == 0 {
			s.publish()
		}
	}
}

// TestSoak sends mixed requests and asserts that the linear memory does not grow once soakWarmUp of them have passed.
func TestSoak(t *testing.T) {
	n := soakRequests(t)
	s := newSoak(t, module, n)
	vm := s.w.Module().(*VM)
	s.send(soakWarmUp)
	before := vm.MemoryBytes()
	s.send(n - soakWarmUp)
	after := vm.MemoryBytes()
	s.p.Run(time.Second)

	t.Logf("%d requests, %d bytes of linear memory; snapshots %d, picks %d, retries %d, hits %d, evicted %d", s.sent, after,
		s.p.Metric("zerohop_snapshots_total").Value, s.p.Metric("zerohop_picks_total").Value, s.p.Metric("zerohop_retries_total").Value,
		s.p.Metric("zerohop_prefix_hits_total").Value, s.p.Metric("zerohop_prefix_evicted_records_total").Value)
	if after != before {
		t.Errorf("linear memory grew from %d to %d bytes", before, after)
	}
	if after > maxMemoryBytes+indexBytes {
		t.Errorf("linear memory has %d bytes, more than %d", after, maxMemoryBytes+indexBytes)
	}
	if len(s.p.Faults) != 0 {
		t.Errorf("faults: %q", s.p.Faults)
	}
	if m := s.p.Metric("zerohop_panics_total"); m.Value != 0 {
		t.Errorf("%d panics", m.Value)
	}
	if got := s.p.Metric("zerohop_picks_total").Value; got < int64(n/2) {
		t.Errorf("%d picks for %d requests", got, n)
	}
	if s.p.Agent.DeltasSent == 0 || s.p.Metric("zerohop_delta_errors_total").Value != 0 {
		t.Errorf("%d deltas sent, %d were refused", s.p.Agent.DeltasSent, s.p.Metric("zerohop_delta_errors_total").Value)
	}
	if got, want := s.p.Metric("zerohop_snapshots_total").Value, int64(s.p.Agent.Version); got < want*9/10 {
		t.Errorf("%d of %d snapshots adopted", got, want)
	}
}
