package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/zerohop/zerohop/e2e/harness"
)

// What the cost of sharing is measured with. There are several connections for each worker, so that all of them get requests.
var (
	sharingWorkers     = []int{2, 4, 8}
	sharingSizes       = []int{6_000}
	sharingConnections = []int{32}
)

const (
	// The share of the filter's own CPU time that sharing may add with this many workers.
	maxSharing     = 0.10
	assertedAmount = 4

	// The same binary costs some µs more or less from one start of Envoy to the next, which is as much as sharing does; so there are
	// several starts, each with few rounds.
	sharingRepeats = 6
	sharingRounds  = 9
)

// Names of the variants for a number of workers.
func directOf(workers int) string { return fmt.Sprintf("direct-%d", workers) }
func aloneOf(workers int) string  { return fmt.Sprintf("alone-%d", workers) }
func sharedOf(workers int) string { return fmt.Sprintf("shared-%d", workers) }

// sharingGroups returns, for each number of workers, an Envoy without filter, one whose workers know their own traffic only,
// and one whose workers share what they know. There are no more at a time: a worker that is paused for long is lost for the others,
// and what it takes to begin again is not what is measured.
func sharingGroups(dir string, servers *backends) [][]start {
	groups := make([][]start, 0, len(sharingWorkers))
	for _, n := range sharingWorkers {
		groups = append(groups, []start{
			{directOf(n), func(ctx context.Context) (*variant, error) {
				return startStatic(ctx, dir, directOf(n), "", n, servers.addrs())
			}},
			{aloneOf(n), func(ctx context.Context) (*variant, error) {
				return startSharing(ctx, aloneOf(n), "worker", n, servers.endpoints())
			}},
			{sharedOf(n), func(ctx context.Context) (*variant, error) {
				return startSharing(ctx, sharedOf(n), "process", n, servers.endpoints())
			}},
		})
	}
	return groups
}

// startSharing starts zerohop with a sharing mode and that many workers.
func startSharing(ctx context.Context, name, mode string, workers int, endpoints []harness.Endpoint) (*variant, error) {
	root, err := harness.Root()
	if err != nil {
		return nil, err
	}
	config, err := os.ReadFile(filepath.Join(root, "config", "epp.yaml"))
	if err != nil {
		return nil, err
	}
	config = fmt.Appendf(config, "---\napiVersion: zerohop.dev/v1alpha1\nkind: ZerohopConfig\nsharing: {mode: %s}\n", mode)
	return startZerohop(ctx, harness.Options{Name: name, Config: config, Concurrency: workers}, endpoints)
}

// reportSharing says what sharing adds to the CPU time of the filter and, if assert is set, fails if that is too much.
func reportSharing(w io.Writer, results []Result, assert bool) error {
	cpu := map[string]float64{}
	for _, r := range results {
		cpu[r.Variant] = r.CPUus
	}
	var errs []error
	asserted := false
	for _, n := range sharingWorkers {
		direct, alone, shared := cpu[directOf(n)], cpu[aloneOf(n)], cpu[sharedOf(n)]
		if min(direct, alone, shared) == 0 {
			continue // not measured
		}
		share := (shared - alone) / (alone - direct)
		_, err := fmt.Fprintf(w, "%d workers: the filter adds %.1f µs of CPU per request, sharing %.1f µs more, which is %.0f %%\n",
			n, alone-direct, shared-alone, 100*share)
		errs = append(errs, err)
		if n != assertedAmount {
			continue
		}
		asserted = true
		if assert && share > maxSharing {
			errs = append(errs, fmt.Errorf("with %d workers sharing adds %.0f %% to the CPU time of the filter, more than %.0f %%", n, 100*share, 100*maxSharing))
		}
	}
	if assert && !asserted {
		errs = append(errs, fmt.Errorf("sharing between %d workers was not measured", assertedAmount))
	}
	return errors.Join(errs...)
}
