package steering

import (
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/zerohop/zerohop/e2e/traffic"
)

// panicking breaks the filter before it has looked at the headers. The request goes to the fallback cluster.
func panicking(t *testing.T, b *traffic.Bed, c *traffic.Canary) {
	before := b.FilterStats(t)["zerohop_panics_total"]
	for _, a := range attempts {
		for _, http2 := range []bool{false, true} {
			h := http.Header{traffic.HeaderFault: {traffic.FaultPanic}}
			trailer := http.Header{}
			for _, name := range lures {
				h[http.CanonicalHeaderKey(name)] = []string{c.Addr}
				trailer[http.CanonicalHeaderKey(name)] = []string{c.Addr}
			}
			req := traffic.Request{HTTP2: http2, Method: a.method, Path: a.path, Header: h, Body: []byte(a.body)}
			if a.body != "" {
				req.Trailer = trailer
			}
			r := b.Do(t, req)
			e := b.Entry(t, r.ID)
			if r.Status != http.StatusOK || e.String("cluster") != "zerohop_fallback" || e.String("pick") != "" {
				t.Errorf("%s: status %d by cluster %s, picked %q, want 200 by the fallback and no pick",
					a.name, r.Status, e.String("cluster"), e.String("pick"))
			}
			clean(t, b, r.ID, 1)
		}
	}
	b.WaitCounters(t, map[string]float64{"zerohop_panics_total": before + float64(2*len(attempts))})
}

// reloading breaks the VM again and again while clients try to steer. Their requests are served as always, or refused.
func reloading(t *testing.T, b *traffic.Bed, c *traffic.Canary) {
	const traps, clients = 20, 4
	h := http.Header{}
	for _, name := range lures {
		h[http.CanonicalHeaderKey(name)] = []string{c.Addr}
	}
	stop := make(chan struct{})
	count := make([]map[int]int, clients) // by client and status
	var served atomic.Int64
	var wg sync.WaitGroup
	for i := range clients {
		count[i] = map[int]int{}
		wg.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				a := attempts[n%len(attempts)]
				r, err := b.Try(t, traffic.Request{HTTP2: i%2 == 1, Method: a.method, Path: a.path, Header: h, Body: []byte(a.body)})
				switch {
				case err != nil:
					t.Errorf("%s: %v", a.name, err)
				case r.Status == http.StatusOK && r.Endpoint() == "":
					t.Errorf("%s: answered by nobody we know: %q", a.name, r.Body)
				default:
					count[i][r.Status]++
					if r.Status == http.StatusOK {
						served.Add(1)
					}
					clean(t, b, r.ID, len(b.Arrivals(r.ID)))
				}
			}
		})
	}
	for range traps {
		r, err := b.Try(t, traffic.Request{Header: http.Header{traffic.HeaderFault: {traffic.FaultTrap}}, Body: traffic.ChatBody("hello")})
		if err != nil || r.Status != http.StatusServiceUnavailable {
			t.Errorf("trapped request: %+v, %v, want 503", r, err)
		}
		before := served.Load()
		traffic.Until(t, "the clients to be served again", func() error {
			if served.Load() == before {
				return errors.New("all refused")
			}
			return nil
		})
	}
	close(stop)
	wg.Wait()
	for i, byStatus := range count {
		for status := range byStatus {
			if status != http.StatusOK && status != http.StatusServiceUnavailable {
				t.Errorf("client %d: requests by status %v, want 200 and 503 only", i, byStatus)
			}
		}
	}
	t.Logf("requests by status: %v", count)
}
