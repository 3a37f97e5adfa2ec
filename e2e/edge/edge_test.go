package edge

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/zerohop/zerohop/e2e/harness"
	"github.com/zerohop/zerohop/e2e/traffic"
	"github.com/zerohop/zerohop/e2e/vllmsim/simserver"
	"github.com/zerohop/zerohop/shared/plan"
)

// preset is the configuration that users are told to take.
const preset = "config/low-latency-edge.yaml"

// readyWithin is how long Envoy may take to start, compilation of the module included: nothing waits for an agent.
const readyWithin = 5 * time.Second

func start(t *testing.T, sims int, sim simserver.Config, o harness.Options) *traffic.Bed {
	t.Helper()
	o.ConfigFile, o.WithoutAgent = preset, true
	return traffic.Start(t, traffic.Options{Sims: sims, Sim: sim, Options: o})
}

// TestStartsAndStaysAlone checks that Envoy is up quickly, and that neither its start nor its service looks for an agent.
func TestStartsAndStaysAlone(t *testing.T) {
	b := start(t, 2, traffic.Instant(), harness.Options{})
	b.ReadyWithin(t, readyWithin)
	for range 20 {
		if r := b.Do(t, traffic.Request{Body: traffic.ChatBody("hello")}); r.Status != http.StatusOK {
			t.Fatalf("status %d: %s", r.Status, r.Body)
		}
	}
	stats, err := b.Envoy.Stats(t.Context(), `^cluster\.|control_plane|config_discovery`)
	if err != nil {
		t.Fatal(err)
	}
	for name, v := range stats {
		if strings.Contains(name, "zerohop_agent") || strings.Contains(name, "zerohop_xds") || strings.HasPrefix(name, "control_plane") && v != 0 ||
			strings.Contains(name, "config_discovery") {
			t.Errorf("%s is %g without an agent", name, v)
		}
	}
	for name, v := range b.FilterStats(t) {
		if strings.Contains(name, "poll") && v != 0 {
			t.Errorf("%s is %g without an agent", name, v)
		}
	}
}

// TestPrefixesStay sends conversations that grow, and wants each to stay where its beginning is.
func TestPrefixesStay(t *testing.T) {
	b := start(t, 3, simserver.Config{Speed: 100}, harness.Options{})
	const conversations, turns = 6, 5
	for c := range conversations {
		text, first := traffic.Text(uint64(c), 8<<10), ""
		for turn := range turns {
			text += traffic.Text(uint64(100*c+turn), 1<<10)
			r := b.Do(t, traffic.Request{Body: traffic.ChatBody(text)})
			p := b.Pick(t, r.ID)
			switch {
			case r.Status != http.StatusOK:
				t.Fatalf("status %d: %s", r.Status, r.Body)
			case turn == 0:
				first = r.Endpoint()
			case r.Endpoint() != first || p.Matched == 0:
				t.Errorf("turn %d of conversation %d went to %s, %d of %d blocks known; the first to %s", turn, c, r.Endpoint(), p.Matched, p.Total, first)
			}
		}
	}
}

// TestLoadSpreads holds requests open, and wants the next ones where fewer are.
func TestLoadSpreads(t *testing.T) {
	const n, each = 3, 4
	b := start(t, n, traffic.Instant(), harness.Options{})
	traffic.Break(t, simserver.Faults{Request: simserver.RequestFault{Mode: simserver.RequestHang}}, b.Sims...)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, n*each)
	for i := range n * each {
		go func() {
			ended <- hold(ctx, b.URL()+traffic.PathChat, string(traffic.ChatBody(traffic.Text(uint64(i), 2<<10))))
		}()
		traffic.Until(t, "the request to arrive", func() error {
			if got := inFlight(b); got != i+1 {
				return fmt.Errorf("%d in flight, want %d", got, i+1)
			}
			return nil
		})
	}
	for _, sim := range b.Sims {
		if got := sim.Stats().InFlight; got != each {
			t.Errorf("%s has %d requests, want %d", sim.Name(), got, each)
		}
	}
	b.Heal(t)
	for range n * each {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

func inFlight(b *traffic.Bed) int {
	n := 0
	for _, sim := range b.Sims {
		n += int(sim.Stats().InFlight)
	}
	return n
}

// hold sends a request and reads the answer, whenever it comes.
func hold(ctx context.Context, url, body string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		return err
	}
	tr := &http.Transport{}
	defer tr.CloseIdleConnections()
	resp, err := tr.RoundTrip(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if b, err := io.ReadAll(resp.Body); err != nil || resp.StatusCode != http.StatusOK {
		return fmt.Errorf("status %d, %w: %.100s", resp.StatusCode, err, b)
	}
	return nil
}

// TestEndpointsDie kills one endpoint after another: requests go on to those that are left, in each destination mode.
func TestEndpointsDie(t *testing.T) {
	for _, mode := range []string{plan.DestinationHeader, plan.DestinationFilterState, plan.DestinationList} {
		t.Run(mode, func(t *testing.T) {
			b := start(t, 3, traffic.Instant(), harness.Options{DestinationMode: mode})
			for dead := range 3 {
				if dead > 0 {
					if err := b.Sims[dead-1].Close(); err != nil {
						t.Fatal(err)
					}
				}
				for range 15 {
					if r := b.Do(t, traffic.Request{Body: traffic.ChatBody("hello")}); r.Status != http.StatusOK {
						t.Fatalf("status %d with %d dead endpoints: %s", r.Status, dead, r.Body)
					}
				}
			}
			if e := b.Entry(t, b.Do(t, traffic.Request{Body: traffic.ChatBody("hello")}).ID); mode == plan.DestinationList && e.String("cluster") != "zerohop_endpoints" {
				t.Errorf("a list went to cluster %s", e.String("cluster"))
			}
		})
	}
}
