package reports

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/zerohop/zerohop/e2e/harness"
	"github.com/zerohop/zerohop/e2e/traffic"
	"github.com/zerohop/zerohop/shared/report"
)

// takeOver is how long nobody may lead.
const takeOver = 2 * time.Second

// TestMainThreadTrap loses the main thread's VM, which leads and is never rebuilt: within two seconds a worker leads, reports of
// all workers go on, and so do snapshots.
func TestMainThreadTrap(t *testing.T) {
	b := start(t)
	close(b.gate.open)
	apart := http.Header{"Connection": {"close"}} // so that both workers get some
	b.agent.wait(t, "both workers to have requests", vms, func(s sums) error {
		if _, err := b.Try(t, traffic.Request{Method: http.MethodGet, Path: "/v1/models", Header: apart}); err != nil {
			return err
		}
		busy := 0
		for _, picks := range s.picks {
			busy += min(1, int(picks))
		}
		if busy != envoyWorkers {
			return fmt.Errorf("%d have", busy)
		}
		return nil
	})
	if l, err := b.agent.leader(time.Second); err != nil || l.Picks != 0 {
		t.Fatalf("before, %+v leads, %v; the main thread is to", l.Worker, err)
	}
	r := traffic.Request{Method: http.MethodGet, Path: "/v1/models", Header: http.Header{traffic.HeaderFault: {traffic.FaultTrapIdle}}}
	if resp, err := b.Try(t, r); err != nil || resp.Status != http.StatusOK {
		t.Fatalf("%v, %+v", err, resp)
	}
	trapped, cpu := time.Now(), harness.ReadCPU()
	var next said
	traffic.Until(t, "a worker to lead", func() error {
		l, err := b.agent.leader(time.Since(trapped))
		next = l
		if err == nil && l.Picks == 0 {
			err = fmt.Errorf("number %d leads, which had no request", l.Number)
		}
		return err
	})
	// The main thread's VM is lost at its next tick, the lease lasts 1.5 s from its last one, and a worker looks at it by tick.
	d, limit := b.agent.leadsSince(next.Epoch).Sub(trapped), takeOver
	if cpu.Busy() {
		limit += time.Second
	}
	t.Logf("a worker leads after %v", d.Round(time.Millisecond))
	if d > limit {
		t.Errorf("a worker leads after %v, want %v at most", d, limit)
	}
	want := b.agent.publish(t)
	b.agent.wait(t, "the workers to have the next snapshot", envoyWorkers, func(s sums) error {
		if s.oldest != want {
			return fmt.Errorf("a worker has version %d, want %d", s.oldest, want)
		}
		return nil
	})
}

// leadsSince returns when a VM wrote the first record that says that it leads.
func (a *agent) leadsSince(epoch uint64) time.Time {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.leads[epoch]
}

// leader returns the worker that says in a record of at most this age that it leads.
func (a *agent) leader(age time.Duration) (said, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, one := range a.newest {
		if one.Flags&report.Leading != 0 && time.Since(one.at) < age {
			return one, nil
		}
	}
	return said{}, fmt.Errorf("none of %d leads", len(a.newest))
}
