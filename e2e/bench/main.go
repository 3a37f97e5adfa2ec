// Command bench measures what zerohop costs: the same Envoy binary with one worker sends the same requests to instant
// endpoints directly, through an empty Wasm filter, through an arrangement like zerohop's without its logic, and through
// zerohop, in alternating rounds. It reports the CPU time per request of the Envoy process, which is stable on a shared
// machine, and the client's latency, which is not.
//
//	go run ./e2e/bench -json build/out/bench.json
//
// With EPP=/path/to/epp in the environment llm-d's endpoint picker is one more variant.
//
//	go run ./e2e/bench -sharing -json build/out/bench_sharing.json
//
// measures instead what it costs that the workers of one Envoy share what they know, and
//
//	go run ./e2e/bench -stream -json build/out/bench_stream.json
//
// what each chunk of a streamed response costs.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/zerohop/zerohop/e2e/harness"
)

const (
	endpointCount = 16
	startTimeout  = 2 * time.Minute
	runTimeout    = 8 * time.Minute // bounds everything, whatever else the machine does
)

var (
	sizes       = []int{600, 6_000, 60_000, 400_000}
	connections = []int{1, 16}
)

type options struct {
	json    string
	svg     string
	short   bool
	assert  bool
	only    string
	sharing bool
	stream  bool
}

func main() {
	var o options
	flag.StringVar(&o.json, "json", "build/out/bench.json", "write the results to `FILE`; the plot goes beside it")
	flag.BoolVar(&o.short, "short", false, "fewer and shorter rounds: under a minute")
	flag.BoolVar(&o.assert, "assert", false, "fail when zerohop's CPU time per request exceeds its budget")
	flag.StringVar(&o.only, "only", "", "comma-separated `VARIANTS` to run: direct, empty, floor, calls, zerohop, epp")
	flag.BoolVar(&o.sharing, "sharing", false, "measure what sharing between workers costs")
	flag.BoolVar(&o.stream, "stream", false, "measure what each chunk of a streamed response costs")
	flag.Parse()
	if o.sharing && o.stream {
		fmt.Fprintln(os.Stderr, "bench: -sharing and -stream exclude each other")
		os.Exit(2)
	}
	o.svg = strings.TrimSuffix(o.json, filepath.Ext(o.json)) + ".svg"
	if err := run(o); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(o options) error {
	ctx, cancel := context.WithTimeout(context.Background(), runTimeout)
	defer cancel()
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()

	servers, err := startBackends(endpointCount, o.stream)
	if err != nil {
		return err
	}
	defer servers.close()
	dir, err := os.MkdirTemp("", "zerohop-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	var b *bench
	var results []Result
	for _, group := range o.groups(dir, servers) {
		var all [][]Result
		for i := range o.repeats() {
			if i > 0 {
				slices.Reverse(group) // nobody always comes after the same one
			}
			var list []Result
			if b, list, err = measure(ctx, o, group, b); err != nil {
				return err
			}
			all = append(all, list)
		}
		results = append(results, medians(all)...)
	}
	return report(o, b, results)
}

// measure starts variants, measures them and stops them. The bench goes on to count where last left off, which is nil the first time.
func measure(ctx context.Context, o options, group []start, last *bench) (*bench, []Result, error) {
	starting, cancelStart := context.WithTimeout(ctx, startTimeout)
	defer cancelStart()
	variants, err := startVariants(starting, o.only, group)
	defer func() {
		for _, v := range variants {
			v.stop()
		}
	}()
	if err != nil {
		return nil, nil, err
	}
	b := newBench(variants, o)
	if last != nil {
		b.disturbed, b.total, b.serial = last.disturbed, last.total, last.serial
	}
	results, err := b.all(ctx)
	return b, results, err
}

// newBench plans the rounds: about three and a half minutes in full, under one in short.
func newBench(variants []*variant, o options) *bench {
	b := &bench{variants: variants, rounds: 21, length: 300 * time.Millisecond, sizes: sizes, connections: connections}
	if o.sharing {
		b.sizes, b.connections, b.rounds, b.full = sharingSizes, sharingConnections, sharingRounds, true
	}
	if o.stream {
		b.sizes, b.connections, b.chunks = streamSizes, streamConnections, true
		b.rounds, b.length = streamRounds, streamLength
	}
	if o.short {
		b.rounds, b.length = 5, 200*time.Millisecond
	}
	b.repeats = b.rounds * len(variants) * len(b.sizes) * len(b.connections) / 2
	b.progress = func(s string) { fmt.Fprintf(os.Stderr, "\r%s ", s) }
	if i, err := os.Stderr.Stat(); err != nil || i.Mode()&os.ModeCharDevice == 0 {
		b.progress = func(string) {} // a log file needs no line that overwrites itself
	}
	return b
}

// all measures every cell.
func (b *bench) all(ctx context.Context) ([]Result, error) {
	defer fmt.Fprintln(os.Stderr)
	for _, v := range b.variants {
		if err := v.pause(); err != nil {
			return nil, err
		}
	}
	for _, v := range b.variants {
		if b.full {
			if err := b.fill(ctx, v); err != nil {
				return nil, fmt.Errorf("%s: %w", v.name, err)
			}
		}
		if err := b.settle(ctx, v); err != nil {
			return nil, fmt.Errorf("%s: %w", v.name, err)
		}
	}
	var results []Result
	for _, size := range b.sizes {
		for _, conns := range b.connections {
			r, err := b.cell(ctx, size, conns)
			if err != nil {
				return nil, err
			}
			results = append(results, r...)
		}
	}
	return results, nil
}

func report(o options, b *bench, results []Result) error {
	if err := printResults(os.Stdout, results); err != nil {
		return err
	}
	fmt.Printf("medians of %d rounds of %v; %d of %d rounds were disturbed by other processes\n",
		b.rounds, b.length, b.disturbed, b.total)
	text, err := json.MarshalIndent(results, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(o.json), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(o.json, append(text, '\n'), 0o644); err != nil {
		return err
	}
	switch {
	case o.sharing:
		return reportSharing(os.Stdout, results, o.assert)
	case o.stream:
		return reportStream(os.Stdout, results, o.assert)
	}
	if err := os.WriteFile(o.svg, plot(results), 0o644); err != nil {
		return err
	}
	if o.assert {
		return assertRatios(results)
	}
	return nil
}

// start is how to start one variant.
type start struct {
	name string
	run  func(context.Context) (*variant, error)
}

// groups returns what is to be started, in the order of the results. Those of a group run side by side.
func (o options) groups(dir string, servers *backends) [][]start {
	if o.sharing {
		return sharingGroups(dir, servers)
	}
	list := []start{
		{direct, func(ctx context.Context) (*variant, error) {
			return startStatic(ctx, dir, direct, "", 1, servers.addrs())
		}},
		{empty, func(ctx context.Context) (*variant, error) { return startEmpty(ctx, dir, servers.addrs()) }},
		{floor, func(ctx context.Context) (*variant, error) { return startFloor(ctx, dir, floor, servers.endpoints()) }},
		{zerohop, func(ctx context.Context) (*variant, error) {
			return startZerohop(ctx, harness.Options{Name: zerohop}, servers.endpoints())
		}},
	}
	if strings.Contains(o.only, calls) {
		list = append(list, start{calls, func(ctx context.Context) (*variant, error) {
			return startFloor(ctx, dir, calls, servers.endpoints(), "-tags=hostcalls")
		}})
	}
	if picker := os.Getenv("EPP"); picker != "" {
		list = append(list, start{epp, func(ctx context.Context) (*variant, error) {
			return startEPP(ctx, dir, picker, servers.endpoints())
		}})
	}
	return [][]start{list}
}

// repeats is how many times the variants of a group are started and measured.
func (o options) repeats() int {
	if o.sharing && !o.short {
		return sharingRepeats
	}
	return 1
}

// startVariants starts those of the variants that only names, or all. What it returns is to be stopped even on error.
func startVariants(ctx context.Context, only string, starts []start) (started []*variant, err error) {
	for _, s := range starts {
		if only != "" && !strings.Contains(","+only+",", ","+s.name+",") {
			continue
		}
		v, err := s.run(ctx)
		if err != nil {
			return started, fmt.Errorf("start %s: %w", s.name, err)
		}
		started = append(started, v)
	}
	return started, nil
}
