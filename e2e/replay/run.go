package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/zerohop/zerohop/e2e/engine"
	"github.com/zerohop/zerohop/e2e/harness"
	"github.com/zerohop/zerohop/e2e/loadgen"
	"github.com/zerohop/zerohop/e2e/replay/mooncake"
	"github.com/zerohop/zerohop/e2e/vllmsim/simserver"
)

// The policies.
const (
	policyZerohop    = "zerohop"
	policyRoundRobin = "round_robin"
)

// scrapeInterval is the agent's default, which is scaled along with everything else.
const scrapeInterval = 250 * time.Millisecond

// proxy is a running Envoy.
type proxy struct {
	url   string
	stats func(context.Context) (harness.Stats, error)
	logs  func()
	close func()
}

// replay sends the trace through one policy to fresh endpoints.
func replay(ctx context.Context, o options, policy string, reqs []mooncake.Request) (Outcome, error) {
	length := time.Duration(float64(reqs[len(reqs)-1].At) / o.speed)
	ctx, cancel := context.WithTimeout(ctx, length+runTimeout)
	defer cancel()
	sims, err := harness.StartSims(o.endpoints, simserver.Config{
		Speed: o.speed, Records: -1, Engine: engine.Config{CapacityTokens: o.capacity},
	})
	if err != nil {
		return Outcome{}, err
	}
	defer sims.Close()
	p, err := startProxy(ctx, o, policy, sims.Endpoints())
	if err != nil {
		return Outcome{}, err
	}
	defer p.close()

	client := loadgen.New(loadgen.Options{URL: p.url, Progress: progress(policy, len(reqs))})
	defer client.Close()
	report := client.Open(ctx, source(reqs, o.speed))
	fmt.Fprintln(os.Stderr)
	if report.Failed() > 0 {
		p.logs()
	}
	endpoints := make([]counters, len(sims))
	metrics := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 10 * time.Second}
	for i, s := range sims {
		if endpoints[i], err = readCounters(ctx, metrics, s.Addr()); err != nil {
			return Outcome{}, err
		}
	}
	if o.dump {
		dump(ctx, p, sims)
	}
	outcome := newOutcome(policy, report, endpoints)
	outcome.Workers = o.concurrency
	return outcome, nil
}

func startProxy(ctx context.Context, o options, policy string, endpoints []harness.Endpoint) (*proxy, error) {
	switch policy {
	case policyZerohop:
		s, err := harness.Start(ctx, harness.Options{
			Endpoints: endpoints, ConfigFile: o.config, Concurrency: o.concurrency,
			ScrapeInterval: time.Duration(float64(scrapeInterval) / o.speed),
		})
		if err != nil {
			return nil, err
		}
		return &proxy{
			url:   s.URL(),
			stats: func(ctx context.Context) (harness.Stats, error) { return s.Envoy.Stats(ctx, "^wasmcustom") },
			logs:  func() { s.WriteLogs(os.Stderr) },
			close: func() { s.Close() },
		}, nil
	case policyRoundRobin:
		return startRoundRobin(ctx, o, endpoints)
	default:
		return nil, fmt.Errorf("unknown policy; want %s or %s", policyZerohop, policyRoundRobin)
	}
}

// startRoundRobin starts the same Envoy with a static cluster and no filter.
func startRoundRobin(ctx context.Context, o options, endpoints []harness.Endpoint) (*proxy, error) {
	dir, err := os.MkdirTemp("", "zerohop-replay-")
	if err != nil {
		return nil, err
	}
	ports, err := harness.FreePorts(2)
	if err != nil {
		return nil, err
	}
	var addrs []string
	for _, e := range endpoints {
		addrs = append(addrs, e.Address)
	}
	e, err := harness.StartEnvoy(harness.EnvoyOptions{
		Dir: dir, Admin: ports[1], Concurrency: o.concurrency,
		Bootstrap: harness.StaticBootstrap(harness.StaticOptions{Listen: ports[0], Admin: ports[1], Endpoints: addrs}),
	})
	if err != nil {
		os.RemoveAll(dir)
		return nil, err
	}
	p := &proxy{
		url: "http://" + ports[0],
		stats: func(ctx context.Context) (harness.Stats, error) {
			return e.Stats(ctx, "^cluster.endpoints.upstream_rq")
		},
		logs:  func() { e.WriteLog(os.Stderr) },
		close: func() { e.Stop(); os.RemoveAll(dir) },
	}
	if err := e.WaitReady(ctx); err != nil {
		p.logs()
		p.close()
		return nil, err
	}
	return p, nil
}

// source makes the bodies one at a time, just before they are sent: all of them together would be large.
func source(reqs []mooncake.Request, speed float64) loadgen.Source {
	return func(i int) (loadgen.Request, bool) {
		if i >= len(reqs) {
			return loadgen.Request{}, false
		}
		return loadgen.Request{
			At:     time.Duration(float64(reqs[i].At) / speed),
			Path:   "/v1/chat/completions",
			Body:   reqs[i].AppendChat(nil, simserver.DefaultModel),
			Stream: true,
		}, true
	}
}

// progress returns a function that keeps one line on standard error up to date or, where that is not a terminal, writes one
// now and then.
func progress(policy string, total int) func(int, loadgen.Result) {
	failed := 0
	every, format := 15*time.Second, "%s: %d of %d requests done, %d failed, %.0f s\n"
	if i, err := os.Stderr.Stat(); err == nil && i.Mode()&os.ModeCharDevice != 0 {
		every, format = time.Second, "\r%s: %d of %d requests done, %d failed, %.0f s "
	}
	var last time.Time
	start := time.Now()
	return func(done int, r loadgen.Result) {
		if r.Err != nil {
			failed++
		}
		if now := time.Now(); now.Sub(last) > every || done == total {
			last = now
			fmt.Fprintf(os.Stderr, format, policy, done, total, failed, now.Sub(start).Seconds())
		}
	}
}

func dump(ctx context.Context, p *proxy, sims harness.Sims) {
	for _, s := range sims {
		fmt.Fprintf(os.Stderr, "%+v\n", s.Stats())
	}
	st, err := p.stats(ctx)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return
	}
	fmt.Fprintln(os.Stderr, st)
}
