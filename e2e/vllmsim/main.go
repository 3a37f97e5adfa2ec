// Command vllmsim starts simulated vLLM servers: one process, any number of endpoints. See package simserver for what they do.
//
//	go run ./e2e/vllmsim --listen 127.0.0.1:8101 --count 4 --speed 10
package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/alecthomas/kong"

	"github.com/zerohop/zerohop/e2e/engine"
	"github.com/zerohop/zerohop/e2e/vllmsim/simserver"
)

// options are the command line.
type options struct {
	Listen          []string      `help:"Address to listen on, once per endpoint; port 0 takes a free one." default:"127.0.0.1:8101" placeholder:"HOST:PORT"`
	Count           int           `help:"Number of endpoints on consecutive ports from each address." default:"1"`
	Name            string        `help:"Name of the one endpoint, in the place of a prefix and a number."`
	NamePrefix      string        `help:"Endpoints are called PREFIX0, PREFIX1 and so on (response header x-sim-endpoint)." default:"sim-"`
	Model           []string      `help:"Served model name; may be given several times." default:"${model}"`
	Lora            []string      `help:"Served LoRA adapter; may be given several times. The metrics tell which are in use."`
	MaxLora         int           `help:"Adapters in use at once, as the metrics tell it; 0 is 4." default:"0"`
	Speed           float64       `help:"How many times faster than real time." default:"1"`
	CapacityTokens  int           `help:"KV cache of each endpoint in tokens; 0 is that of the profile, 307328." default:"0"`
	BlockSize       int           `help:"Tokens in a KV block." default:"16"`
	MaxModelLen     int           `help:"Most tokens of prompt and answer; 0 is 131072 or the cache, whichever is less." default:"0"`
	MaxNumSeqs      int           `help:"Most requests in one step; 0 is that of the profile, 256." default:"0"`
	StreamInterval  int           `help:"Tokens between two chunks of a stream." default:"1"`
	Instant         bool          `help:"Answer at once, without engine, with the least CPU."`
	Records         int           `help:"Requests kept for GET /sim/requests; 0 is 64, or none with --instant; -1 is none." default:"0"`
	Journal         string        `help:"File to which each step of an inference request with an id in its query is appended." placeholder:"FILE"`
	ShutdownTimeout time.Duration `help:"How long requests may finish after SIGTERM or SIGINT." default:"5s"`
}

func main() {
	var o options
	kong.Parse(&o, kong.Name("vllmsim"), kong.Description("Simulated vLLM servers."),
		kong.Vars{"model": simserver.DefaultModel})
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "vllmsim:", err)
		os.Exit(1)
	}
}

// run serves until ctx ends. It prints one line "NAME URL" per endpoint once all of them listen.
func run(ctx context.Context, o options) error {
	addrs, err := addresses(o.Listen, o.Count)
	if err != nil {
		return err
	}
	if o.Name != "" && len(addrs) > 1 {
		return fmt.Errorf("name %q: there are %d endpoints; use --name-prefix", o.Name, len(addrs))
	}
	journal, err := o.journal()
	if err != nil {
		return err
	}
	servers := make([]*simserver.Server, 0, len(addrs))
	defer func() {
		shutdown(servers, o.ShutdownTimeout)
		if journal != nil {
			_ = journal.Close() // every line is written already
		}
	}()
	for i, addr := range addrs {
		cfg := o.config()
		cfg.Name, cfg.Listen = o.NamePrefix+strconv.Itoa(i), addr
		if o.Name != "" {
			cfg.Name = o.Name
		}
		if journal != nil {
			cfg.Journal = journal
		}
		s, err := simserver.Start(cfg)
		if err != nil {
			return err
		}
		servers = append(servers, s)
	}
	for _, s := range servers {
		fmt.Println(s.Name(), s.URL())
	}
	<-ctx.Done()
	return nil
}

// journal opens the file for the journal; nil if none is kept.
func (o options) journal() (*os.File, error) {
	if o.Journal == "" {
		return nil, nil
	}
	f, err := os.OpenFile(o.Journal, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	return f, nil
}

// config returns what all endpoints have in common.
func (o options) config() simserver.Config {
	profile := engine.Qwen3x32B()
	if o.MaxNumSeqs > 0 {
		profile.MaxRunning = o.MaxNumSeqs
	}
	return simserver.Config{
		Models: o.Model, Adapters: o.Lora, MaxLoRA: o.MaxLora, Speed: o.Speed, StreamInterval: o.StreamInterval, Instant: o.Instant, Records: o.Records,
		Engine: engine.Config{
			Profile: profile, BlockTokens: o.BlockSize, CapacityTokens: o.CapacityTokens, MaxModelLen: o.MaxModelLen,
		},
	}
}

// addresses returns count addresses with consecutive ports from each base. A base with port 0 stays as it is.
func addresses(bases []string, count int) ([]string, error) {
	if count < 1 {
		return nil, fmt.Errorf("count %d: want at least 1", count)
	}
	var addrs []string
	for _, base := range bases {
		host, portText, err := net.SplitHostPort(base)
		if err != nil {
			return nil, fmt.Errorf("listen %q: want HOST:PORT: %w", base, err)
		}
		port, err := strconv.ParseUint(portText, 10, 16)
		if err != nil || int(port)+count-1 > 65535 {
			return nil, fmt.Errorf("listen %q: port %s and %d after it are not all between 0 and 65535", base, portText, count-1)
		}
		for i := range count {
			p := int(port)
			if p != 0 {
				p += i
			}
			addrs = append(addrs, net.JoinHostPort(host, strconv.Itoa(p)))
		}
	}
	return addrs, nil
}

// shutdown lets all endpoints finish at the same time.
func shutdown(servers []*simserver.Server, timeout time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	var wg sync.WaitGroup
	for _, s := range servers {
		wg.Go(func() {
			if err := s.Shutdown(ctx); err != nil && !errors.Is(err, context.DeadlineExceeded) {
				fmt.Fprintln(os.Stderr, "vllmsim:", err)
			}
		})
	}
	wg.Wait()
}
