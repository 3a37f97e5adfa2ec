// Package reports shows on a real Envoy that what its workers did reaches the agent by the leader's polls: requests in flight
// while they are, picks, failures and fallbacks for good, and which plan each worker runs.
package reports

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/zerohop/zerohop/e2e/harness"
	"github.com/zerohop/zerohop/e2e/traffic"
	"github.com/zerohop/zerohop/shared/report"
	"github.com/zerohop/zerohop/shared/snapshot"
)

func TestMain(m *testing.M) { os.Exit(traffic.Main(m)) }

const (
	envoyWorkers = 2
	vms          = envoyWorkers + 1 // the main thread has one too, and leads
)

// gate lets requests through when it is open.
type gate struct{ open, arrived chan struct{} }

// bed is an Envoy of two workers with three endpoints behind a gate and a dead one, and a played agent.
type bed struct {
	*traffic.Bed
	agent    *agent
	gate     gate
	ids      []uint64 // of the endpoints, the dead one last
	revision uint64
}

var planRevision = regexp.MustCompile(`"revision": "([0-9a-f]{16})"`)

func start(t *testing.T) *bed {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a real Envoy")
	}
	b := &bed{gate: gate{make(chan struct{}), make(chan struct{}, 1000)}}
	handler := func(w http.ResponseWriter, r *http.Request) {
		b.gate.arrived <- struct{}{}
		select {
		case <-b.gate.open:
		case <-r.Context().Done():
		}
		fmt.Fprint(w, "done")
	}
	var endpoints []harness.Endpoint
	var eps []snapshot.Endpoint
	for i := range 3 {
		endpoints = append(endpoints, traffic.Backend(t, "pod-"+strconv.Itoa(i), handler))
	}
	t.Cleanup(func() { // before the endpoints close, which wait for their handlers
		select {
		case <-b.gate.open:
		default:
			close(b.gate.open)
		}
	})
	endpoints = append(endpoints, harness.Endpoint{Name: "dead", Address: traffic.DeadAddress(t)})
	for _, e := range endpoints {
		name, address := []byte("default/"+e.Name), []byte(e.Address)
		id := snapshot.EndpointID(name, address)
		b.ids = append(b.ids, id)
		eps = append(eps, snapshot.Endpoint{ID: id, Name: name, Address: address, ScrapeAgeMs: snapshot.NeverScraped})
	}
	edit := func(bootstrap []byte) ([]byte, error) {
		found := planRevision.FindSubmatch(bootstrap)
		if found == nil {
			return nil, fmt.Errorf("the plan has no revision")
		}
		var err error
		if b.revision, err = strconv.ParseUint(string(found[1]), 16, 64); err != nil {
			return nil, err
		}
		return traffic.FaultyModule(bootstrap)
	}
	b.Bed = traffic.Start(t, traffic.Options{Options: harness.Options{
		Endpoints: endpoints, Concurrency: envoyWorkers, WithoutAgent: true, NodeID: "gateway/edge-1 ä", Edit: edit,
	}})
	u, err := url.Parse(b.AgentURL())
	if err != nil {
		t.Fatal(err)
	}
	b.agent = serveAgent(t, u.Host, eps)
	return b
}

// TestReports sends requests that wait in the endpoints and looks at what the agent hears of them, then lets them go.
func TestReports(t *testing.T) {
	b := start(t)
	b.agent.wait(t, "all workers to report", vms, func(s sums) error {
		if s.all != (report.Endpoint{}) {
			return fmt.Errorf("before any request: %+v", s.all)
		}
		return nil
	})
	const chats, models = 60, 20
	var clients sync.WaitGroup
	for i := range chats + models {
		r := traffic.Request{HTTP2: i%2 == 0, Body: traffic.ChatBody(traffic.Text(uint64(i), 3000))}
		if i >= chats {
			r = traffic.Request{Method: http.MethodGet, Path: "/v1/models"}
		}
		clients.Go(func() {
			if resp, err := b.Try(t, r); err != nil || resp.Status != http.StatusOK {
				t.Errorf("request %d: %v, %+v", i, err, resp)
			}
		})
	}
	for range chats + models {
		traffic.Receive(t, "the requests to arrive", b.gate.arrived)
	}
	b.agent.wait(t, "all requests to be in flight", vms, func(s sums) error {
		dead := s.by[b.ids[3]]
		if s.all.InFlight != chats+models || s.all.InFlightTokens == 0 || dead.InFlight != 0 {
			return fmt.Errorf("all endpoints %+v, the dead one %+v", s.all, dead)
		}
		return nil
	})
	close(b.gate.open)
	clients.Wait()
	b.agent.wait(t, "the load to be gone", vms, func(s sums) error {
		if s.all.InFlight != 0 || s.all.InFlightTokens != 0 {
			return fmt.Errorf("%+v in flight", s.all)
		}
		return b.totals(s, chats+models, models)
	})
	b.identities(t)
	b.deltas(t)
	b.reload(t)
	if n := b.FilterStats(t)["zerohop_poll_errors_total"]; n > 20 {
		t.Errorf("%g polls failed", n) // those before the agent was there
	}
}

// totals compares what was reported with what was sent.
func (b *bed) totals(s sums, requests, models uint64) error {
	dead := s.by[b.ids[3]]
	switch {
	case s.all.Picks != requests:
		return fmt.Errorf("%d picks, want %d", s.all.Picks, requests)
	case s.all.Fallbacks != models || s.fallbacks["unknown_path"] != models:
		return fmt.Errorf("%d fallbacks, by reason %v; want %d for the path", s.all.Fallbacks, s.fallbacks, models)
	case dead.Picks == 0 || dead.Failures == 0 || dead.Failures != s.all.Failures || s.retries != dead.Failures:
		return fmt.Errorf("the dead endpoint %+v, all %+v, %d retries", dead, s.all, s.retries)
	case s.leaders != 1:
		return fmt.Errorf("%d workers lead", s.leaders)
	}
	for _, id := range b.ids[:3] {
		if s.by[id].Picks == 0 || s.by[id].Flags&report.CoolingDown != 0 {
			return fmt.Errorf("an endpoint that is well: %+v", s.by[id])
		}
	}
	return nil
}

// identities checks what workers and their process say of themselves.
func (b *bed) identities(t *testing.T) {
	t.Helper()
	a := b.agent
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.node != "gateway/edge-1 ä" || len(a.processes) != 1 {
		t.Errorf("node %q, processes %v", a.node, a.processes)
	}
	numbers, working := map[uint16]bool{}, 0
	for _, w := range a.newest {
		numbers[w.Number] = true
		if w.Picks > 0 {
			working++
		}
		if w.Revision != b.revision || w.Snapshot != a.version || w.PlanMin > w.PlanMax || w.PlanMin == 0 {
			t.Errorf("worker %d: %+v; want revision %x and snapshot %d", w.Number, w.Worker, b.revision, a.version)
		}
		if w.Flags&report.Leading != 0 && w.Picks != 0 {
			t.Errorf("worker %d leads and has %d picks; the main thread is to lead", w.Number, w.Picks)
		}
	}
	if len(numbers) != vms || !numbers[0] || !numbers[vms-1] || working == 0 || working > envoyWorkers {
		t.Errorf("numbers %v, %d workers with traffic", numbers, working)
	}
}

// deltas publishes version after version: each arrives at every worker, and all but the first as a delta.
func (b *bed) deltas(t *testing.T) {
	t.Helper()
	const versions = 10
	for range versions {
		want := b.agent.publish(t)
		b.agent.wait(t, "the snapshot to arrive", vms, func(s sums) error {
			if s.oldest != want {
				return fmt.Errorf("a worker has version %d, want %d", s.oldest, want)
			}
			return nil
		})
	}
	b.agent.mu.Lock()
	sent := b.agent.deltas
	b.agent.mu.Unlock()
	if n := b.FilterStats(t)["zerohop_delta_errors_total"]; sent != versions || n != 0 {
		t.Errorf("%d deltas sent, want %d; %g were refused", sent, versions, n)
	}
}

// reload lets VMs trap: they are not reported any more, and those that follow have other epochs and count from zero.
func (b *bed) reload(t *testing.T) {
	t.Helper()
	before := map[uint64]uint64{}
	b.agent.wait(t, "all workers to report", vms, func(s sums) error { before = s.picks; return nil })
	apart := http.Header{"Connection": {"close"}} // or all would go to one worker
	for range 4 {
		r := traffic.Request{Method: http.MethodGet, Path: "/v1/models", Header: apart.Clone()}
		r.Header["X-Zerohop-Fault"] = []string{"trap"}
		if resp, err := b.Try(t, r); err == nil && resp.Status == http.StatusOK {
			t.Errorf("the trap did no harm: %+v", resp)
		}
	}
	start, sent := time.Now(), uint64(0)
	traffic.Until(t, "VMs that count from zero", func() error {
		for range 4 { // a VM is rebuilt by the next request on its worker
			if resp, err := b.Try(t, traffic.Request{Method: http.MethodGet, Path: "/v1/models", Header: apart}); err == nil && resp.Status == http.StatusOK {
				sent++
			}
		}
		s, err := b.agent.sum(start, vms)
		if err != nil {
			return err
		}
		fresh := 0
		for epoch, picks := range s.picks {
			if _, old := before[epoch]; old {
				continue
			}
			if fresh++; picks > sent {
				t.Errorf("a rebuilt VM has %d picks, %d requests were sent", picks, sent)
			}
		}
		if fresh == 0 {
			return fmt.Errorf("no VM is fresh: before %v, after %v", before, s.picks)
		}
		return nil
	})
}
