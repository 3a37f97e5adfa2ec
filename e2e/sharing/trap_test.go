package sharing

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/zerohop/zerohop/e2e/harness"
	"github.com/zerohop/zerohop/e2e/traffic"
	"github.com/zerohop/zerohop/e2e/vllmsim/simserver"
)

// bound is how long a lost VM may count, and its successor need: a vector that is older than 1 s does not count. What is asked
// later than that has to find it so; the test itself may come late on a busy machine.
const bound = 2 * time.Second

// TestTrap loses the VM of a worker under load: what it had in flight stops counting, its successor knows the prefixes again, and
// in the end nothing is left.
func TestTrap(t *testing.T) {
	b := traffic.Start(t, traffic.Options{
		Options: harness.Options{Concurrency: workers, Config: []byte(explaining), Edit: traffic.FaultyModule},
		Sims:    4, Sim: simserver.Config{Speed: 1},
	})
	conns := connect(t, b, workers)
	const prompts = 40
	for i := range prompts {
		conns[i%workers].chat(t, short(prompt(i)))
	}
	before := rate(t, conns, prompts)
	if before < 0.99 {
		t.Fatalf("before the trap %.3f of the blocks are matched", before)
	}
	time.Sleep(bound) // the leader writes a dump

	lost := conns[0]
	open := stream(t, lost)
	others := conns[1:]
	traffic.Until(t, "the stream to count", func() error { return counts(t, others, 1) })
	if a := lost.chat(t, prompt(0), traffic.HeaderFault, traffic.FaultTrap); a.status != http.StatusServiceUnavailable {
		t.Fatalf("status %d, want 503", a.status)
	}
	trapped := time.Now()
	open.Body.Close()
	traffic.Until(t, "the lost VM to stop counting", func() error {
		asked := time.Now()
		err := counts(t, others, 0)
		if err != nil && asked.Sub(trapped) > bound {
			t.Errorf("%v after the trap %v", asked.Sub(trapped), err)
		}
		return err
	})
	t.Logf("the lost VM has stopped counting %v after the trap", time.Since(trapped).Round(time.Millisecond))
	fresh := successor(t, b, conns, trapped)
	t.Logf("the worker serves again %v after it", time.Since(trapped).Round(time.Millisecond))
	if after := rate(t, []*conn{fresh}, prompts); after < 0.95*before {
		t.Errorf("after the trap %.3f of the blocks are matched on the worker, before %.3f", after, before)
	}
	if n := b.FilterStats(t)["zerohop_sharing_lost_records_total"]; n > workers {
		t.Errorf("%g records lost", n)
	}
	traffic.Until(t, "nothing to be in flight", func() error {
		if err := counts(t, append(others, fresh), 0); err != nil {
			return err
		}
		return agree(t, b, 0)
	})
}

// rate returns the share of matched blocks of all prompts over connections in turn.
func rate(t *testing.T, conns []*conn, prompts int) float64 {
	t.Helper()
	time.Sleep(looked)
	matched, total := 0, 0
	for i := range prompts {
		a := conns[(i+1)%len(conns)].chat(t, short(prompt(i)))
		matched, total = matched+a.matched, total+a.total
	}
	return float64(matched) / float64(total)
}

// stream opens a long answer on the worker of c, by a connection of its own.
func stream(t *testing.T, c *conn) *http.Response {
	t.Helper()
	for range 40 * workers {
		try := dial(t, c.bed, "")
		if try.chat(t, short(prompt(0))); try.vm != c.vm {
			continue
		}
		resp, err := try.Post(c.bed.URL()+traffic.PathChat, "application/json", bodyReader(withTokens(prompt(500), 3000)))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { resp.Body.Close() })
		return resp
	}
	t.Fatal("no other connection reaches the worker")
	return nil
}

// counts reports whether the workers of all connections believe in n requests in flight.
func counts(t *testing.T, conns []*conn, n int) error {
	for _, c := range conns {
		if got := c.believed(t); got != n {
			return fmt.Errorf("the worker with the VM %s believes in %d in flight, want %d", c.vm, got, n)
		}
	}
	return nil
}

// successor returns a connection to a VM that none of conns has. A worker that is asked later than bound after the trap has one.
func successor(t *testing.T, b *traffic.Bed, conns []*conn, trapped time.Time) *conn {
	t.Helper()
	old := map[string]bool{}
	for _, c := range conns {
		old[c.vm] = true
	}
	var found *conn
	traffic.Until(t, "the worker to serve again", func() error {
		asked, c := time.Now(), dial(t, b, "")
		a := c.chat(t, short(prompt(1)))
		if a.vm == "" && asked.Sub(trapped) > bound {
			t.Errorf("%v after the trap a worker has no VM: status %d", asked.Sub(trapped), a.status)
		}
		if a.vm == "" || old[a.vm] {
			return fmt.Errorf("status %d by VM %q", a.status, a.vm)
		}
		found = c
		return nil
	})
	return found
}
