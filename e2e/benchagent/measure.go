package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/zerohop/zerohop/e2e/harness"
)

const (
	startTimeout = time.Minute
	// warmUp is the part of the duration that goes by before measuring, up to maxWarmUp.
	warmUp    = 4
	maxWarmUp = 3 * time.Second
)

// setup is what one measurement needs.
type setup struct {
	dir, binary string
	endpoints   int
	interval    time.Duration
	duration    time.Duration
}

// measure starts endpoints, agent and reader, and watches them.
func measure(ctx context.Context, s setup) (Result, error) {
	start, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	epoch := time.Now()
	servers, addresses, err := startEndpoints(start, s, epoch)
	if err != nil {
		return Result{}, err
	}
	defer servers.Kill()
	agent, url, err := startAgent(start, s, addresses)
	if err != nil {
		return Result{}, err
	}
	defer agent.Stop()

	r := newReader(url, epoch)
	defer r.stop()
	if err := wait(ctx, min(s.duration/warmUp, maxWarmUp)); err != nil {
		return Result{}, err
	}
	return watch(ctx, s, agent, r)
}

// watch measures for the duration.
func watch(ctx context.Context, s setup, agent *harness.Process, r *reader) (Result, error) {
	cpu, err := cpuTime(agent.Pid())
	if err != nil {
		return Result{}, err
	}
	before, begin := r.newest(), time.Now()
	if before == nil {
		return Result{}, errors.New("no snapshot has come")
	}
	ages, err := r.sample(ctx, s.duration)
	if err != nil {
		return Result{}, err
	}
	after, took := r.newest(), time.Since(begin).Seconds()
	cpuAfter, err := cpuTime(agent.Pid())
	if err != nil {
		return Result{}, err
	}
	rss, err := memory(agent.Pid())
	if err != nil {
		return Result{}, err
	}
	return Result{
		Endpoints: s.endpoints, IntervalMs: float64(s.interval.Microseconds()) / 1000,
		Cores: (cpuAfter - cpu).Seconds() / took, RSSMb: float64(rss) / 1e6,
		AgeP99Ms: ages.reckoned.quantile(0.99), PageP99Ms: ages.served.quantile(0.99),
		ScrapesPS: float64(after.scrapes-before.scrapes) / took, VersionsPS: float64(after.received-before.received) / took,
		Samples: ages.samples, Missing: ages.missing,
	}, nil
}

// startEndpoints starts this program again as a server of endpoints and returns their addresses.
func startEndpoints(ctx context.Context, s setup, epoch time.Time) (*harness.Process, []string, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, nil, err
	}
	p, err := harness.StartProcess(s.dir, "endpoints", self,
		serveCommand, strconv.Itoa(s.endpoints), strconv.FormatInt(epoch.UnixMilli(), 10))
	if err != nil {
		return nil, nil, err
	}
	var addresses []string
	err = harness.Until(ctx, "the endpoints to listen", func() error {
		if err := p.Exited(); err != nil {
			return err
		}
		out, err := p.Stdout()
		if err != nil {
			return err
		}
		line, _, found := strings.Cut(string(out), "\n")
		if addresses = strings.Fields(line); !found || len(addresses) != s.endpoints {
			return fmt.Errorf("%d of %d addresses", len(addresses), s.endpoints)
		}
		return nil
	})
	if err != nil {
		p.WriteLog(os.Stderr)
		p.Kill()
	}
	return p, addresses, err
}

func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
