// Command replay sends a request trace in Mooncake's format through a real Envoy to simulated model servers, once with
// zerohop and once round robin, and compares prefix cache hits and balance:
//
//	go run ./e2e/replay -json build/out/replay.json
//
// Time is scaled: at speed 5 requests come five times as fast, the simulated engines compute five times as fast and the
// agent scrapes five times as often. Lengths are not scaled.
package main

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/zerohop/zerohop/e2e/replay/mooncake"
)

// defaultTrace is the beginning of the conversation trace; testdata has its licence.
//
//go:embed testdata/conversation_trace_1000.jsonl
var defaultTrace []byte

// runTimeout bounds one policy beyond the length of the trace.
const runTimeout = 5 * time.Minute

// options are the command line.
type options struct {
	trace       string
	requests    int
	endpoints   int
	capacity    int // tokens per endpoint
	speed       float64
	json        string
	config      string
	concurrency int    // Envoy worker threads
	workers     string // concurrency of each run of zerohop, separated by commas
	policies    string
	dump        bool
}

func main() {
	o := options{}
	flag.StringVar(&o.trace, "trace", "", "trace `FILE`; default the first 1000 requests of Mooncake's conversation trace")
	flag.IntVar(&o.requests, "requests", 1000, "replay the first `N` requests")
	flag.IntVar(&o.endpoints, "endpoints", 8, "number of simulated endpoints")
	flag.IntVar(&o.capacity, "capacity-tokens", 3_072_000, "KV cache of each endpoint in `TOKENS`")
	flag.Float64Var(&o.speed, "speed", 5, "how many times faster than real time")
	flag.StringVar(&o.json, "json", "", "write the results to `FILE`; - means standard output")
	flag.StringVar(&o.config, "config", "", "EndpointPickerConfig `FILE` for zerohop; default config/epp.yaml")
	flag.StringVar(&o.workers, "workers", "1", "Envoy worker threads; several `NUMBERS`, separated by commas, run zerohop with each")
	flag.StringVar(&o.policies, "policies", "zerohop,round_robin", "comma-separated policies to run")
	flag.BoolVar(&o.dump, "v", false, "print what each endpoint counted, and zerohop's own stats")
	flag.Parse()
	if err := run(o); err != nil {
		fmt.Fprintln(os.Stderr, "replay:", err)
		os.Exit(1)
	}
}

func run(o options) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	reqs, err := readTrace(o)
	if err != nil {
		return err
	}
	if o.config != "" {
		if o.config, err = filepath.Abs(o.config); err != nil {
			return err
		}
	}
	var outcomes []Outcome
	for name := range strings.SplitSeq(o.policies, ",") {
		for workers := range strings.SplitSeq(o.workers, ",") {
			if o.concurrency, err = strconv.Atoi(workers); err != nil || o.concurrency < 1 {
				return fmt.Errorf("-workers: %q is not a number of threads", workers)
			}
			outcome, err := replay(ctx, o, name, reqs)
			if err != nil {
				return fmt.Errorf("%s, %d workers: %w", name, o.concurrency, err)
			}
			outcomes = append(outcomes, outcome)
			if name == policyRoundRobin {
				break // each worker does the same
			}
		}
	}
	return write(o, outcomes)
}

// readTrace returns the requests, spread over their bins, in the time of the trace.
func readTrace(o options) ([]mooncake.Request, error) {
	if o.speed <= 0 || o.requests <= 0 || o.endpoints <= 0 || o.capacity <= 0 {
		return nil, fmt.Errorf("-speed, -requests, -endpoints and -capacity-tokens must be positive")
	}
	data := defaultTrace
	if o.trace != "" {
		var err error
		if data, err = os.ReadFile(o.trace); err != nil {
			return nil, err
		}
	}
	reqs, err := mooncake.Read(bytes.NewReader(data), o.requests)
	if err != nil {
		return nil, err
	}
	if len(reqs) == 0 {
		return nil, fmt.Errorf("read trace: there are no requests in it")
	}
	mooncake.Spread(reqs)
	return reqs, nil
}

func write(o options, outcomes []Outcome) error {
	text, err := json.MarshalIndent(outcomes, "", "  ")
	if err != nil {
		return err
	}
	text = append(text, '\n')
	if o.json == "-" {
		_, err := os.Stdout.Write(text)
		return err
	}
	if err := printOutcomes(os.Stdout, o.speed, outcomes); err != nil || o.json == "" {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(o.json), 0o755); err != nil {
		return err
	}
	return os.WriteFile(o.json, text, 0o644)
}
