package failures

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zerohop/zerohop/e2e/traffic"
	"github.com/zerohop/zerohop/e2e/vllmsim/simserver"
)

const (
	burst    = 60
	together = 8 // clients at a time

	// mostToHanging is the share of a burst that an endpoint that hangs may get, a tenth. A fair share of four is a quarter. It
	// gets some: nothing is known of it before the first request stays without an answer, and of two endpoints with equally
	// many requests in flight either may be picked.
	mostToHanging = burst / 10

	giveUp = time.Second // after which a client leaves without an answer
)

// hanging makes an endpoint take requests and answer none. It shows by its requests in flight, whether its metrics go on as
// those of an idle endpoint or have stopped as well.
func hanging(t *testing.T, b *traffic.Bed) {
	for _, tt := range []struct {
		name    string
		metrics simserver.MetricsFault
	}{
		{"idle metrics", simserver.MetricsFault{}},
		{"no metrics", simserver.MetricsFault{Mode: simserver.MetricsHang}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			sim := b.Sims[0]
			traffic.Break(t, simserver.Faults{Request: simserver.RequestFault{Mode: simserver.RequestHang}, Metrics: tt.metrics}, sim)
			if tt.metrics.Mode != "" {
				waitStale(t, b, sim)
			}
			before := sim.Stats().Requests
			left := sendBurst(t, b)
			got := sim.Stats().Requests - before
			if got > mostToHanging || int(got) != left {
				t.Errorf("%s hangs and got %d of %d requests, of which clients left %d: want at most %d", sim.Name(), got, burst, left, mostToHanging)
			}
			b.Heal(t)
			recovers(t, b, sim)
		})
	}
}

// stale is the age from which metrics count as old, and some more for the page to be in force.
const stale = 2500 * time.Millisecond

// waitStale waits until the agent has had no metrics of an endpoint for so long that they count as old.
func waitStale(t *testing.T, b *traffic.Bed, sim *simserver.Server) {
	t.Helper()
	traffic.Until(t, "metrics of "+sim.Name()+" to be too old", func() error {
		resp, err := http.Get(b.AgentURL() + "/snapshot")
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		var page struct {
			Endpoints []struct {
				Address string
				AgeMs   int64
			}
		}
		if err := json.NewDecoder(resp.Body).Decode(&page); err != nil {
			return err
		}
		for _, e := range page.Endpoints {
			if e.Address == sim.Addr() && time.Duration(e.AgeMs)*time.Millisecond > stale {
				return nil
			}
		}
		return fmt.Errorf("%+v", page.Endpoints)
	})
}

// sendBurst sends new chats from several clients and returns how many of them left without an answer. All others must be
// served.
func sendBurst(t *testing.T, b *traffic.Bed) int {
	t.Helper()
	bodies := make(chan []byte, burst)
	for range burst {
		bodies <- traffic.ChatBody(text(textBytes))
	}
	close(bodies)
	var left atomic.Int64
	var clients sync.WaitGroup
	for range together {
		clients.Go(func() {
			for body := range bodies {
				switch err := ask(t.Context(), b, body); {
				case errors.Is(err, context.DeadlineExceeded):
					left.Add(1)
				case err != nil:
					t.Error(err)
				}
			}
		})
	}
	clients.Wait()
	return int(left.Load())
}

// ask sends a body and waits for the answer, but not for long.
func ask(ctx context.Context, b *traffic.Bed, body []byte) error {
	ctx, cancel := context.WithTimeout(ctx, giveUp)
	defer cancel()
	url := b.URL() + traffic.PathChat + "?id=" + traffic.NewID()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("status %d, want 200", resp.StatusCode)
	}
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}
