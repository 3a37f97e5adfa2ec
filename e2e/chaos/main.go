// Command chaos tortures one Envoy with four workers: a steady load of streaming and non-streaming requests while endpoints, the
// agent, the configuration, a worker's VM and clients fail by a schedule drawn from a seed. It checks throughout that every
// request ends by success or by an error that the fault of the moment allows (package table: faults), that no response is lost
// or doubled, that nothing outside the snapshot is contacted, that counts of requests in flight agree, and that memory is flat.
// It writes report.html and report.json into build/out/chaos and exits with status 1 on any violation. See docs/chaos.md.
//
//	go run ./e2e/chaos -seed 1 -minutes 3
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/zerohop/zerohop/e2e/harness"
)

func main() {
	var o options
	flag.Uint64Var(&o.seed, "seed", 1, "number from which faults and requests are drawn")
	minutes := flag.Float64("minutes", 3, "length of the run")
	flag.IntVar(&o.rate, "rate", defaultRate, "requests per second")
	flag.StringVar(&o.mode, "mode", "", "destination mode: header, filter_state or list; empty means the default")
	flag.StringVar(&o.out, "out", "", "folder of the report; empty means build/out/chaos")
	kinds := flag.String("kinds", "", "draw only from these faults, with commas between; none for none, empty for all")
	flag.Parse()
	o.length = time.Duration(*minutes * float64(time.Minute))
	o.say = func(format string, args ...any) { fmt.Fprintf(os.Stderr, "chaos: "+format+"\n", args...) }
	var err error
	if o.kinds, err = parseKinds(*kinds); err != nil {
		fmt.Fprintln(os.Stderr, "chaos: -kinds:", err)
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	err = run(ctx, o)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "chaos:", err)
		os.Exit(1)
	}
}

// errViolated says that the run came to its end and that a check failed.
var errViolated = errors.New("the run has violations")

// options are the command line.
type options struct {
	seed   uint64
	length time.Duration
	rate   int
	mode   string
	out    string
	kinds  []Kind // draw only from these; nil means all
	say    func(format string, args ...any)
}

// run makes a run, writes the report and returns errViolated if a check failed.
func run(ctx context.Context, o options) error {
	if o.length < minLength {
		return fmt.Errorf("length %v: want at least %v", o.length, minLength)
	}
	if o.rate < 1 {
		return fmt.Errorf("rate %d: want at least 1 request per second", o.rate)
	}
	if o.out == "" {
		root, err := harness.Root()
		if err != nil {
			return err
		}
		o.out = filepath.Join(root, "build", "out", "chaos")
	}
	if err := os.MkdirAll(o.out, 0o755); err != nil {
		return fmt.Errorf("make the report's folder: %w", err)
	}
	plan := newSchedule(o.seed, o.length, o.kinds)
	rec, err := torture(ctx, o, plan)
	if err != nil {
		return err
	}
	rep := judge(rec)
	if err := rep.write(o.out); err != nil {
		return err
	}
	rep.print(o.say)
	o.say("report: %s", filepath.Join(o.out, "report.html"))
	if rep.Violations > 0 {
		return errViolated
	}
	return nil
}
