package failures

import (
	"bytes"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/zerohop/zerohop/e2e/harness"
	"github.com/zerohop/zerohop/e2e/traffic"
	"github.com/zerohop/zerohop/e2e/vllmsim/simserver"
)

// firstByte is the time that the tests give a streaming request for its first byte.
const firstByte = time.Second

// TestUnsent runs on the default: a POST goes to a second server only if no other has got it.
func TestUnsent(t *testing.T) {
	b := traffic.Start(t, traffic.Options{
		Options: harness.Options{Edit: traffic.FaultyModule, Attempts: fmt.Sprintf("{firstByteTimeout: %v}", firstByte)},
		Sim:     traffic.Instant(),
	})
	stream := []byte(`{"model":"m","stream":true,"messages":[{"role":"user","content":"x"}]}`)
	forged := http.Header{
		"X-Envoy-Retry-On": {"5xx,reset,retriable-status-codes"}, "X-Envoy-Max-Retries": {"9"},
		"X-Envoy-Hedge-On-Per-Try-Timeout": {"true"}, "X-Envoy-Upstream-Rq-Per-Try-Timeout-Ms": {"1"},
	}
	for _, tt := range []struct {
		name   string
		fault  simserver.RequestFault
		body   []byte
		header http.Header
		status int
	}{
		{"reset", simserver.RequestFault{Mode: simserver.RequestReset}, traffic.ChatBody("x"), nil, http.StatusServiceUnavailable},
		{"reset, and a client that wants another attempt", simserver.RequestFault{Mode: simserver.RequestReset}, traffic.ChatBody("x"), forged, http.StatusServiceUnavailable},
		{"503", simserver.RequestFault{Mode: simserver.RequestStatus, Status: 503}, traffic.ChatBody("x"), nil, http.StatusServiceUnavailable},
		{"500", simserver.RequestFault{Mode: simserver.RequestStatus, Status: 500}, traffic.ChatBody("x"), nil, http.StatusInternalServerError},
		{"no first byte of a stream", simserver.RequestFault{Mode: simserver.RequestHang}, stream, forged, http.StatusGatewayTimeout},
		{"a late answer without streaming", simserver.RequestFault{Mode: simserver.RequestSlow, DelayMs: int(2 * firstByte.Milliseconds())}, traffic.ChatBody("x"), forged, http.StatusOK},
	} {
		t.Run(tt.name, func(t *testing.T) {
			traffic.Break(t, simserver.Faults{Request: tt.fault}, b.Sims...)
			defer b.Heal(t)
			r := b.Do(t, traffic.Request{Body: tt.body, Header: tt.header})
			if n := len(b.Arrivals(r.ID)); r.Status != tt.status || n != 1 {
				t.Errorf("status %d after %d attempts, want %d after one: %.200s", r.Status, n, tt.status, r.Body)
			}
		})
	}
	t.Run("refused", func(t *testing.T) {
		for _, sim := range b.Sims[1:] {
			if err := sim.Close(); err != nil {
				t.Fatal(err)
			}
		}
		for range 6 {
			if r := b.Do(t, traffic.Request{Body: traffic.ChatBody(text(600))}); r.Status != http.StatusOK || len(b.Arrivals(r.ID)) != 1 {
				t.Errorf("status %d after %d arrivals, want 200 after one", r.Status, len(b.Arrivals(r.ID)))
			}
		}
	})
}

// TestUnanswered allows more: a request leaves an endpoint that sends no first byte, and what it left behind is forgotten.
func TestUnanswered(t *testing.T) {
	b := traffic.Start(t, traffic.Options{
		Options: harness.Options{Edit: traffic.FaultyModule, Attempts: fmt.Sprintf("{retries: unanswered, firstByteTimeout: %v}", firstByte)},
		Sims:    4,
		Sim:     traffic.Instant(),
	})
	t.Run("late first byte", func(t *testing.T) { late(t, b) })
	t.Run("fast errors", func(t *testing.T) { fastErrors(t, b) })
	t.Run("retry budget", func(t *testing.T) { budget(t, b) })
	t.Run("counters", b.Agree)
}

// budget lets all endpoints hang under more requests than may be retried at a time: most of them end with their first attempt.
func budget(t *testing.T, b *traffic.Bed) {
	const clients, most, perRound = 300, 3, 90 // retries of a request, and 30 % of the requests, which is more than 64
	traffic.Break(t, simserver.Faults{Request: simserver.RequestFault{Mode: simserver.RequestHang}}, b.Sims...)
	defer func() {
		b.Heal(t)
		recovers(t, b, b.Sims...)
	}()
	arrived := func() (n uint64) {
		for _, s := range b.Sims {
			n += s.Stats().Requests
		}
		return n
	}
	before := arrived()
	body := bytes.Replace(traffic.ChatBody(text(600)), []byte("{"), []byte(`{"stream":true,`), 1)
	var all sync.WaitGroup
	for range clients {
		all.Go(func() {
			if r := b.Do(t, traffic.Request{HTTP2: true, Body: body}); r.Status != http.StatusGatewayTimeout {
				t.Errorf("status %d, want 504", r.Status)
			}
		})
	}
	all.Wait()
	n := arrived() - before
	t.Logf("%d attempts for %d requests", n, clients)
	if n <= clients || n > clients+most*perRound {
		t.Errorf("%d attempts for %d requests, want some more, and at most %d", n, clients, clients+most*perRound)
	}
}

// late lets an endpoint hang that has the prefix of a stream.
func late(t *testing.T, b *traffic.Bed) {
	chat, sim := place(t, b)
	traffic.Break(t, simserver.Faults{Request: simserver.RequestFault{Mode: simserver.RequestHang}}, sim)
	body := bytes.Replace(traffic.ChatBody(chat), []byte("{"), []byte(`{"stream":true,`), 1)
	begin := time.Now()
	r := b.Do(t, traffic.Request{Body: body})
	took := time.Since(begin)
	p := b.Pick(t, r.ID)
	if r.Status != http.StatusOK || p.Attempts != 2 || r.Endpoint() == sim.Name() || took < firstByte {
		t.Errorf("status %d by %s in attempt %d after %v, want 200 by another than %s in attempt 2", r.Status, r.Endpoint(), p.Attempts, took, sim.Name())
	}
	served := p.Endpoint
	if p := b.Pick(t, send(t, b, text(600)).ID); p.Endpoint == sim.Addr() {
		t.Errorf("picked %+v right after it had failed", p)
	}
	if p := b.Pick(t, b.Do(t, traffic.Request{Body: body}).ID); p.Endpoint != served || p.Matched != p.Total || p.Attempts != 1 {
		t.Errorf("picked %+v for the same chat, want a whole match at %s, which served", p, served)
	}
	b.Heal(t)
	recovers(t, b, sim)
}

// fastErrors lets one endpoint answer 500 in next to no time, so that it looks idle. Two seconds later it gets less than half of
// a fair share, and some.
func fastErrors(t *testing.T, b *traffic.Bed) {
	bad := b.Sims[1]
	traffic.Break(t, simserver.Faults{Request: simserver.RequestFault{Mode: simserver.RequestStatus, Status: 500}}, bad)
	defer func() {
		b.Heal(t)
		recovers(t, b, bad)
	}()
	ask := func(d time.Duration) (asked, failed int) {
		var mu sync.Mutex
		var clients sync.WaitGroup
		end := time.Now().Add(d)
		for range 4 {
			clients.Go(func() {
				for time.Now().Before(end) {
					r := b.Do(t, traffic.Request{Body: traffic.ChatBody(text(2000))})
					mu.Lock()
					asked++
					if r.Status != http.StatusOK {
						failed++
					}
					mu.Unlock()
				}
			})
		}
		clients.Wait()
		return asked, failed
	}
	ask(2 * time.Second)
	asked, failed := ask(2 * time.Second)
	t.Logf("%d of %d requests went to the endpoint that fails", failed, asked)
	if fair := asked / len(b.Sims); failed*2 >= fair {
		t.Errorf("%d of %d requests failed, want less than half of a fair share of %d", failed, asked, fair)
	}
}
