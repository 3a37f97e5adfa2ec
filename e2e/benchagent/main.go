// Command benchagent measures what the agent costs: simulated endpoints in a process of their own serve the page of a real
// vLLM, the agent scrapes them, and a reader polls its snapshots as a worker of Envoy does. It reports the agent's CPU time
// and memory, and how old the numbers are at the reader; the same again with an agent that parses with prometheus/common.
//
//	go run ./e2e/benchagent -json build/out/bench_agent.json
//
// Agent, endpoints and reader share the machine: with 1,000 endpoints two cores are just enough if nothing else runs.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Budgets of -assert.
const (
	maxCores = 0.15                  // per 100 endpoints
	maxDelay = 10 * time.Millisecond // of the oldest 1 % of the ages beyond the interval
)

// Result is one measurement.
type Result struct {
	Endpoints  int     `json:"endpoints"`
	IntervalMs float64 `json:"interval_ms"`
	Cores      float64 `json:"cores"`       // that the agent kept busy
	AgeP99Ms   float64 `json:"age_p99_ms"`  // as a worker reckons: age in the snapshot, and time since it came
	PageP99Ms  float64 `json:"page_p99_ms"` // since the endpoint served the page
	RSSMb      float64 `json:"rss_mb"`
	Parser     string  `json:"parser"`
	ScrapesPS  float64 `json:"scrapes_per_s"`
	VersionsPS float64 `json:"versions_per_s"` // snapshots that the reader received
	Samples    int     `json:"samples"`        // ages that were looked at
	Missing    int     `json:"missing"`        // of endpoints without numbers
}

type options struct {
	json      string
	assert    bool
	endpoints []int
	interval  time.Duration
	duration  time.Duration
	parsers   []string
}

func main() {
	if servesEndpoints() {
		return
	}
	o, err := parseFlags(os.Args[1:])
	if err != nil {
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err = run(ctx, o)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "benchagent:", err)
		os.Exit(1)
	}
}

func parseFlags(args []string) (options, error) {
	o := options{endpoints: []int{100, 1000}}
	f := flag.NewFlagSet("benchagent", flag.ContinueOnError)
	f.StringVar(&o.json, "json", "build/out/bench_agent.json", "write the results to `FILE`")
	f.BoolVar(&o.assert, "assert", false, "fail when the agent exceeds its budgets")
	f.Func("endpoints", "comma-separated `NUMBERS` of endpoints (default 100,1000)", func(s string) error {
		o.endpoints = nil
		for _, word := range strings.Split(s, ",") {
			n, err := strconv.Atoi(word)
			if err != nil || n < 1 {
				return fmt.Errorf("%q is no number of endpoints", word)
			}
			o.endpoints = append(o.endpoints, n)
		}
		return nil
	})
	f.DurationVar(&o.interval, "interval", 250*time.Millisecond, "the agent's scrape interval")
	f.DurationVar(&o.duration, "duration", 20*time.Second, "how long each measurement takes")
	parser := f.String("parser", "", "only this one: "+strings.Join(parsers, " or "))
	err := f.Parse(args)
	if o.parsers = parsers; *parser != "" {
		o.parsers = []string{*parser}
	}
	return o, err
}

func run(ctx context.Context, o options) error {
	dir, err := os.MkdirTemp("", "zerohop-benchagent-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	var results []Result
	for _, parser := range o.parsers {
		binary, err := buildAgent(parser)
		if err != nil {
			return err
		}
		for _, n := range o.endpoints {
			fmt.Fprintf(os.Stderr, "benchagent: %d endpoints, %s, %v ...\n", n, parser, o.duration)
			r, err := measure(ctx, setup{dir: dir, binary: binary, endpoints: n, interval: o.interval, duration: o.duration})
			if err != nil {
				return fmt.Errorf("%d endpoints, %s: %w", n, parser, err)
			}
			r.Parser = parser
			results = append(results, r)
			fmt.Fprintf(os.Stderr, "benchagent: %.3f cores, numbers up to %.0f ms old (p99), %.0f MB, %.0f scrapes and %.0f versions a second\n",
				r.Cores, r.AgeP99Ms, r.RSSMb, r.ScrapesPS, r.VersionsPS)
		}
	}
	if err := write(o.json, results); err != nil {
		return err
	}
	if o.assert {
		return check(results)
	}
	return nil
}

func write(file string, results []Result) error {
	b, err := json.MarshalIndent(results, "", "  ")
	if err != nil {
		return fmt.Errorf("write results: %w", err)
	}
	if err := os.WriteFile(file, append(b, '\n'), 0o644); err != nil {
		return fmt.Errorf("write results: %w", err)
	}
	return nil
}

// check compares the agent as it is shipped with its budgets.
func check(results []Result) error {
	var errs []error
	for _, r := range results {
		if r.Parser != ownParser {
			continue
		}
		if limit := maxCores * float64(r.Endpoints) / 100; r.Cores > limit {
			errs = append(errs, fmt.Errorf("%d endpoints: %.3f cores, more than %.3f", r.Endpoints, r.Cores, limit))
		}
		if limit := r.IntervalMs + float64(maxDelay.Milliseconds()); r.AgeP99Ms > limit {
			errs = append(errs, fmt.Errorf("%d endpoints: numbers %.1f ms old (p99), more than %.1f", r.Endpoints, r.AgeP99Ms, limit))
		}
		if r.Missing > 0 || r.Samples == 0 {
			errs = append(errs, fmt.Errorf("%d endpoints: %d of %d times an endpoint had no numbers", r.Endpoints, r.Missing, r.Samples))
		}
	}
	return errors.Join(errs...)
}
