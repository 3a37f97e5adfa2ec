// Command benchscorers measures what a scheduling decision costs, natively and in Envoy's V8, for the default profile and one of
// twelve scorers and three filters.
//
//	go run ./e2e/benchscorers -json build/out/bench_scorers.json
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"testing"
	"time"

	"github.com/zerohop/zerohop/e2e/benchscorers/workload"
	"github.com/zerohop/zerohop/scorers/registry"
	"github.com/zerohop/zerohop/shared/plan"
	"github.com/zerohop/zerohop/xds/config"
)

const runTimeout = 5 * time.Minute

// Result is one profile at one size.
type Result struct {
	Profile   string  `json:"profile"`
	Endpoints int     `json:"endpoints"`
	Blocks    int     `json:"blocks"`
	NsNative  float64 `json:"ns_native"`
	NsWasm    float64 `json:"ns_wasm"`
	Allocs    float64 `json:"allocs"`
}

// The most nanoseconds of a decision of the default profile over 1 000 endpoints and 2 048 blocks.
const (
	maxNative = 60_000
	maxWasm   = 120_000
)

func main() {
	file := flag.String("json", "build/out/bench_scorers.json", "write the results to `FILE`")
	assert := flag.Bool("assert", false, "fail when a decision allocates or costs more than its budget")
	flag.Parse()
	if err := run(*file, *assert); err != nil {
		fmt.Fprintln(os.Stderr, "benchscorers:", err)
		os.Exit(1)
	}
}

func run(file string, assert bool) error {
	ctx, cancel := context.WithTimeout(context.Background(), runTimeout)
	defer cancel()
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	plans, err := compile()
	if err != nil {
		return err
	}
	var results []Result
	for i := range plans {
		for _, c := range workload.Cases() {
			r, err := native(plans[i], c)
			if err != nil {
				return fmt.Errorf("profile %s, %+v: %w", profiles[i].name, c, err)
			}
			r.Profile = profiles[i].name
			results = append(results, r)
		}
	}
	if err := inEnvoy(ctx, plans, results); err != nil {
		return err
	}
	show(results)
	text, err := json.MarshalIndent(results, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(file, append(text, '\n'), 0o644); err != nil {
		return err
	}
	if assert {
		return judge(results)
	}
	return nil
}

// compile returns the plan of each profile as the filter reads it.
func compile() ([][]byte, error) {
	var out [][]byte
	for i := range profiles {
		c, err := config.Load([]byte(profiles[i].doc), registry.Specs())
		if err != nil {
			return nil, fmt.Errorf("profile %s: %w", profiles[i].name, err)
		}
		p := c.Plan(config.Settings{AgentCluster: "agent"})
		out = append(out, plan.Append(nil, p))
	}
	return out, nil
}

func native(text []byte, c workload.Case) (Result, error) {
	p, err := plan.Parse(text)
	if err != nil {
		return Result{}, err
	}
	r, err := workload.New(p, c)
	if err != nil {
		return Result{}, err
	}
	start := time.Now()
	return Result{
		Endpoints: c.Endpoints, Blocks: c.Blocks,
		NsNative: r.Measure(func() uint64 { return uint64(time.Since(start)) }), Allocs: testing.AllocsPerRun(100, r.Decide),
	}, nil
}

func show(results []Result) {
	fmt.Printf("%-8s %9s %6s %10s %10s %6s\n", "profile", "endpoints", "blocks", "native ns", "wasm ns", "allocs")
	for _, r := range results {
		fmt.Printf("%-8s %9d %6d %10.0f %10.0f %6g\n", r.Profile, r.Endpoints, r.Blocks, r.NsNative, r.NsWasm, r.Allocs)
	}
}

// judge returns an error for each result that is beyond its budget.
func judge(results []Result) error {
	var errs []error
	for _, r := range results {
		if r.Allocs != 0 {
			errs = append(errs, fmt.Errorf("%s, %d endpoints, %d blocks: %g allocations", r.Profile, r.Endpoints, r.Blocks, r.Allocs))
		}
		if r.Profile == "default" && r.Endpoints == 1000 && r.Blocks == 2048 && (r.NsNative > maxNative || r.NsWasm > maxWasm) {
			errs = append(errs, fmt.Errorf("1000 endpoints, 2048 blocks: %.0f ns native and %.0f in Wasm, more than %d and %d", r.NsNative, r.NsWasm, maxNative, maxWasm))
		}
	}
	return errors.Join(errs...)
}
