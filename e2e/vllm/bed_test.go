//go:build vllm

package vllm

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/zerohop/zerohop/e2e/harness"
)

// Bounds. They are what a hang costs, not what anything is expected to take.
const (
	totalTimeout   = 9 * time.Minute // below go test's own, which would print no logs
	startTimeout   = 4 * time.Minute
	requestTimeout = time.Minute
	stopTimeout    = 10 * time.Second
)

// drainSeconds is how long a server that got SIGTERM goes on with running requests. With vLLM's default, 0, their
// streams may stay open for ever without a byte.
const drainSeconds = 30

// bed is two vLLM servers, an Envoy that balances them round robin, and one with zerohop and its agent.
type bed struct {
	in         Installation
	fleet      *Fleet
	servers    [2]*Server // those that run or ran last, by position
	roundRobin string     // URL of the plain Envoy
	stack      *harness.Stack
}

func openBed(ctx context.Context, t *testing.T) *bed {
	t.Helper()
	b := &bed{}
	var err error
	if b.in, err = Install(ctx); err != nil {
		t.Fatal(err)
	}
	b.openFleet(t)
	addresses, err := harness.FreePorts(len(b.servers))
	if err != nil {
		t.Fatal(err)
	}
	for i, address := range addresses {
		b.start(t, i, address)
	}
	// While the servers start, which takes longest, everything else is built and started.
	b.roundRobin = startRoundRobin(ctx, t, addresses)
	b.stack = harness.ForTest(t, harness.Options{Endpoints: endpoints(addresses), Name: "zerohop"})
	for _, s := range b.servers {
		b.ready(ctx, t, s)
	}
	return b
}

func (b *bed) openFleet(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	fleet, err := Open(b.in, dir)
	if err != nil {
		t.Fatal(err)
	}
	b.fleet = fleet
	t.Cleanup(func() {
		if t.Failed() {
			var logs strings.Builder
			fleet.WriteLogs(&logs)
			t.Logf("logs:\n%s", logs.String())
		}
		ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
		defer cancel()
		if err := fleet.Close(ctx); err != nil {
			t.Error(err)
		}
		for _, s := range fleet.servers {
			if s.pid != 0 && !errors.Is(syscall.Kill(-s.pid, 0), syscall.ESRCH) {
				t.Errorf("processes of %s are left", s.name)
			}
		}
	})
}

// start starts the server at position i, anew if it has ended.
func (b *bed) start(t *testing.T, i int, address string) {
	t.Helper()
	s, err := b.fleet.Start(fmt.Sprintf("vllm-%d", i+1), address, "--shutdown-timeout", fmt.Sprint(drainSeconds))
	if err != nil {
		t.Fatal(err)
	}
	b.servers[i] = s
}

func (b *bed) ready(ctx context.Context, t *testing.T, s *Server) {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if err := s.WaitReady(ctx); err != nil {
		t.Fatal(err)
	}
}

func endpoints(addresses []string) []harness.Endpoint {
	var list []harness.Endpoint
	for i, address := range addresses {
		list = append(list, harness.Endpoint{Name: fmt.Sprintf("vllm-%d", i+1), Address: address})
	}
	return list
}

// startRoundRobin starts an Envoy without zerohop and returns its URL.
func startRoundRobin(ctx context.Context, t *testing.T, addresses []string) string {
	t.Helper()
	ports, err := harness.FreePorts(2)
	if err != nil {
		t.Fatal(err)
	}
	envoy, err := harness.StartEnvoy(harness.EnvoyOptions{
		Name:      "round-robin",
		Bootstrap: harness.StaticBootstrap(harness.StaticOptions{Listen: ports[0], Admin: ports[1], Endpoints: addresses}),
		Dir:       t.TempDir(),
		Admin:     ports[1],
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			var log strings.Builder
			envoy.WriteLog(&log)
			t.Logf("logs:\n%s", log.String())
		}
		envoy.Stop()
	})
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if err := envoy.WaitReady(ctx); err != nil {
		t.Fatal(err)
	}
	return "http://" + ports[0]
}

// retryUnanswered has a request sent again that got no answer. By default a POST is not, if it may have reached a server: a
// client gets Envoy's 503 for one that was on a connection when a server that goes down closed that.
func (b *bed) retryUnanswered(ctx context.Context, t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	if err := b.stack.SetAttempts(ctx, "{retries: unanswered}"); err != nil {
		t.Fatal(err)
	}
}

// metrics returns the sum of the servers' numbers, and each server's own.
func (b *bed) metrics(ctx context.Context, t *testing.T) (sum Metrics, each [2]Metrics) {
	t.Helper()
	sum = Metrics{}
	for i, s := range b.servers {
		m, err := s.Metrics(ctx)
		if err != nil {
			t.Fatal(err)
		}
		each[i] = m
		for name, v := range m {
			sum[name] += v
		}
	}
	return sum, each
}

// logStats prints the filter's counters if the test has failed.
func (b *bed) logStats(t *testing.T) {
	if !t.Failed() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	stats, err := b.stack.Envoy.Stats(ctx, "wasmcustom|zerohop_destination.*upstream_rq")
	t.Logf("filter and destination: %v\n%s", err, stats)
}
