package sharing

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/zerohop/zerohop/e2e/harness"
	"github.com/zerohop/zerohop/e2e/traffic"
	"github.com/zerohop/zerohop/e2e/vllmsim/simserver"
)

// explaining is the default configuration where everybody on this machine may have picks explained.
const explaining = "apiVersion: zerohop.dev/v1alpha1\nkind: ZerohopConfig\nexplain: {trustedNetworks: [127.0.0.0/8]}\n"

// looked is long enough for a worker to have looked at what the others wrote.
const looked = 20 * time.Millisecond

// TestWorkersShare runs four workers with an agent.
func TestWorkersShare(t *testing.T) {
	b := traffic.Start(t, traffic.Options{
		Options: harness.Options{Concurrency: workers, Config: []byte(explaining), ScrapeInterval: 50 * time.Millisecond},
		Sims:    3, Sim: simserver.Config{Speed: 1},
	})
	conns := connect(t, b, workers)
	t.Run("prefixes", func(t *testing.T) { prefixes(t, conns) })
	t.Run("in flight", func(t *testing.T) { inFlight(t, b, conns) })
	t.Run("counters", func(t *testing.T) {
		got := b.FilterStats(t)
		if got["zerohop_sharing_lost_records_total"] != 0 || got["zerohop_sharing_skipped_records_total"] != 0 || got["zerohop_sharing_folded_records_total"] == 0 {
			t.Errorf("records: %v", got)
		}
		if n := got["zerohop_sharing_vms"]; n != workers+1 {
			t.Errorf("%g VMs share, want %d", n, workers+1)
		}
		if got["zerohop_vm_bytes"] == 0 || got["zerohop_sharing_bytes"] == 0 {
			t.Errorf("the gauges of memory are %g and %g", got["zerohop_vm_bytes"], got["zerohop_sharing_bytes"])
		}
	})
}

// prefixes sends each prompt to a worker and then to another one, which is to know where it is.
func prefixes(t *testing.T, conns []*conn) {
	for i := range 3 * len(conns) {
		first := conns[i%len(conns)].chat(t, short(prompt(i)))
		time.Sleep(looked)
		second := conns[(i+1+i/len(conns))%len(conns)].chat(t, short(prompt(i)))
		if first.status != http.StatusOK || second.status != http.StatusOK || first.vm == second.vm {
			t.Fatalf("prompt %d: %+v, then %+v", i, first, second)
		}
		if second.matched != second.total || second.total == 0 || second.endpoint != first.endpoint {
			t.Errorf("prompt %d: sent to %s, and then %d of %d blocks matched at %s", i, first.endpoint, second.matched, second.total, second.endpoint)
		}
	}
}

// short lets an answer have one token.
func short(body []byte) []byte { return withTokens(body, 1) }

func withTokens(body []byte, n int) []byte {
	return []byte(strings.Replace(string(body), "{", fmt.Sprintf(`{"max_tokens":%d,"stream":true,`, n), 1))
}

// inFlight opens long streams over all workers: the agent, every worker and the endpoints count the same, while they last, when
// clients leave, and at rest.
func inFlight(t *testing.T, b *traffic.Bed, conns []*conn) {
	const streams = 24
	open := make([]*http.Response, 0, streams)
	for i := range streams {
		resp, _ := b.Open(t, traffic.Request{Body: withTokens(prompt(100+i), 3000)})
		open = append(open, resp)
	}
	counted := func(n int) {
		t.Helper()
		traffic.Until(t, fmt.Sprintf("all to count %d in flight", n), func() error {
			for _, c := range conns {
				got := c.believed(t)
				if got != n {
					return fmt.Errorf("the worker with the VM %s believes in %d", c.vm, got)
				}
			}
			return agree(t, b, n)
		})
	}
	counted(streams)
	for i := 0; i < streams; i += 2 {
		open[i].Body.Close()
	}
	counted(streams / 2)
	for i := 1; i < streams; i += 2 {
		open[i].Body.Close()
	}
	counted(0)
	b.Idle(t)
}

// TestWithoutAgent runs four workers of an edge.
func TestWithoutAgent(t *testing.T) {
	b := traffic.Start(t, traffic.Options{
		Options: harness.Options{Concurrency: workers, ConfigFile: "config/low-latency-edge.yaml", Edge: true},
		Sims:    3, Sim: traffic.Instant(),
	})
	conns := connect(t, b, workers)
	prefixes(t, conns)
	b.WaitCounters(t, map[string]float64{"zerohop_leases_total": 1, "zerohop_sharing_vms": workers + 1, "zerohop_endpoints": 3})
}

// TestManyWorkers is about correctness alone: sixteen workers on a machine with few cores.
func TestManyWorkers(t *testing.T) {
	const many = 16
	b := traffic.Start(t, traffic.Options{
		Options: harness.Options{Concurrency: many, Config: []byte(explaining)}, Sims: 4, Sim: traffic.Instant(),
	})
	conns := connect(t, b, many)
	prefixes(t, conns)
	for i := range 300 {
		if a := conns[i%many].chat(t, prompt(1000+i%50)); a.status != http.StatusOK {
			t.Fatalf("status %d: %.300s", a.status, a.body)
		}
	}
	b.Idle(t)
	time.Sleep(looked)
	for _, c := range conns {
		if n := c.believed(t); n != 0 {
			t.Errorf("at rest a worker believes in %d in flight", n)
		}
	}
	b.WaitCounters(t, map[string]float64{"zerohop_sharing_vms": many + 1})
	if got := b.FilterStats(t); got["zerohop_panics_total"] != 0 || got["zerohop_sharing_lost_records_total"] != 0 {
		t.Errorf("%g panics, %g records lost", got["zerohop_panics_total"], got["zerohop_sharing_lost_records_total"])
	}
}
