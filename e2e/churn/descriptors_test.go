package churn

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/zerohop/zerohop/e2e/harness"
	"github.com/zerohop/zerohop/e2e/vllmsim/simserver"
	"github.com/zerohop/zerohop/shared/names"
	"github.com/zerohop/zerohop/shared/snapshot"
)

// TestDescriptors changes the endpoints of a real agent again and again: some serve, one refuses, one accepts and says nothing;
// pollers come and leave without waiting for their answer. In the end the agent holds no more descriptors and goroutines than
// before.
func TestDescriptors(t *testing.T) {
	if testing.Short() {
		t.Skip("takes ten seconds on a real Envoy")
	}
	const changes = 40
	simulated := harness.SimsForTest(t, 6, simserver.Config{}).Endpoints()
	mute := harness.Endpoint{Name: "mute", Address: listenMute(t)}
	ports, err := harness.FreePorts(1)
	if err != nil {
		t.Fatal(err)
	}
	dead := harness.Endpoint{Name: "dead", Address: ports[0]}
	stack := harness.ForTest(t, harness.Options{Endpoints: simulated})
	_, file := stack.Files()
	before := held(t, stack)

	for i := range changes {
		list := append([]harness.Endpoint{mute, dead}[:i%3], simulated[i%4:]...)
		replace(t, file, harness.EndpointsYAML(list))
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		version := poll(ctx, t, stack.AgentURL(), 0) // is answered at once
		poll(ctx, t, stack.AgentURL(), version)
		cancel()
		time.Sleep(80 * time.Millisecond)
	}
	replace(t, file, harness.EndpointsYAML(simulated))

	var after map[string]float64
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	err = harness.Until(ctx, "the agent to be at rest", func() error {
		after = held(t, stack)
		for name, n := range before {
			if after[name] > n {
				return fmt.Errorf("%s: %v before, %v after %d changes", name, n, after[name], changes)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	t.Logf("before %v, after %v", before, after)
}

// held returns how many descriptors and goroutines the agent has.
func held(t *testing.T, s *harness.Stack) map[string]float64 {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.AgentURL()+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	n := make(map[string]float64)
	for _, name := range []string{"process_open_fds", "go_goroutines"} {
		family := families[name]
		if family == nil || family.Metric[0].Gauge.GetValue() == 0 {
			t.Fatalf("the agent exports no %s", name)
		}
		n[name] = family.Metric[0].Gauge.GetValue()
	}
	return n
}

// poll waits until ctx ends for another snapshot than that of version have, and returns the version of what it got, or have.
func poll(ctx context.Context, t *testing.T, url string, have uint64) uint64 {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("%s%s?v=%d", url, names.PathSnapshot, have), nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return have
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return have
	}
	view, err := snapshot.Open(b)
	if err != nil {
		t.Fatal(err)
	}
	return view.Version()
}

// listenMute returns an address that accepts connections and never answers.
func listenMute(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { _ = c.Close() })
		}
	}()
	return l.Addr().String()
}
