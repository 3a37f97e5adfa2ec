package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"sync/atomic"

	"github.com/zerohop/zerohop/e2e/harness"
)

// noWorker is the worker of a connection of which nobody knows it.
const noWorker = -1

// http2Conn is one connection to Envoy over HTTP/2, and the worker that has it. Another connection that takes its place is of an
// unknown worker.
type http2Conn struct {
	*http.Transport
	worker atomic.Int32
}

func newHTTP2Conn() *http2Conn {
	c := &http2Conn{Transport: &http.Transport{Protocols: new(http.Protocols), DisableCompression: true}}
	c.Protocols.SetUnencryptedHTTP2(true)
	c.worker.Store(noWorker)
	c.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		c.worker.Store(noWorker)
		var d net.Dialer
		return d.DialContext(ctx, network, addr)
	}
	return c
}

// workerConns matches Envoy's counters of connections by worker, but for those of the admin interface.
var workerConns = regexp.MustCompile(`^listener\.127[^ ]*\.worker_(\d+)\.downstream_cx_total$`)

// mapWorkers opens the connections over HTTP/2 one by one and looks which worker gets each. Nobody else may connect meanwhile.
func (b *bed) mapWorkers(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	before, err := b.acceptedBy(ctx)
	if err != nil {
		return err
	}
	for _, c := range b.load.client.http2 {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+b.stack.Listen+"/health", nil)
		if err != nil {
			return err
		}
		resp, err := c.RoundTrip(req)
		if err != nil {
			return fmt.Errorf("open a connection: %w", err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		err = harness.Until(ctx, "a worker to count a connection", func() error {
			after, err := b.acceptedBy(ctx)
			if err != nil {
				return err
			}
			for worker, n := range after {
				if n > before[worker] {
					c.worker.Store(int32(worker))
					before = after
					return nil
				}
			}
			return fmt.Errorf("connections by worker: %v", after)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// acceptedBy returns how many connections each worker has accepted.
func (b *bed) acceptedBy(ctx context.Context) (map[int]float64, error) {
	stats, err := b.stack.Envoy.Stats(ctx, `^listener\..*worker_.*downstream_cx_total$`)
	if err != nil {
		return nil, err
	}
	counts := map[int]float64{}
	for name, n := range stats {
		if m := workerConns.FindStringSubmatch(name); m != nil {
			worker, _ := strconv.Atoi(m[1]) // digits
			counts[worker] += n
		}
	}
	return counts, nil
}
