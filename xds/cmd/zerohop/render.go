package main

import (
	"fmt"
	"io"
	"net/netip"
	"os"
	"time"

	"github.com/zerohop/zerohop/xds/bootstrap"
	"github.com/zerohop/zerohop/xds/config"
)

type envoyCmd struct {
	inputs
	DestinationMode string           `default:"header" enum:"header,filter_state" help:"How the filter tells Envoy the destination: ${enum}. Default ${default}."`
	FailureMode     string           `default:"FailClose" enum:"FailClose,FailOpen" help:"What happens to requests while there is no endpoint: 503 (FailClose) or the fallback cluster (FailOpen). Default ${default}."`
	Listen          netip.AddrPort   `default:"127.0.0.1:8080" placeholder:"IP:PORT" help:"Where clients connect. Default ${default}."`
	Admin           netip.AddrPort   `default:"127.0.0.1:9901" placeholder:"IP:PORT" help:"Envoy's admin page. Default ${default}."`
	Agent           netip.AddrPort   `default:"127.0.0.1:18001" placeholder:"IP:PORT" help:"Where the agent serves snapshots. Default ${default}."`
	ScrapeInterval  time.Duration    `default:"250ms" placeholder:"DURATION" help:"The agent's scrape interval, by which metrics are judged too old. Default ${default}."`
	Wasm            string           `default:"build/out/zerohop.wasm" placeholder:"FILE" help:"The module, as Envoy finds it. Default ${default}."`
	Fallback        []netip.AddrPort `placeholder:"IP:PORT" help:"Endpoints of the fallback cluster. Default: those of the endpoint file."`
	Output          string           `short:"o" placeholder:"FILE" help:"Where to write. Default: standard output."`
}

// run renders the bootstrap.
func (e *envoyCmd) run(stdout, stderr io.Writer) error {
	if e.ScrapeInterval < minInterval {
		return usageError{fmt.Errorf("--scrape-interval: %v is shorter than %v", e.ScrapeInterval, minInterval)}
	}
	if e.Listen == e.Admin || e.Listen == e.Agent || e.Admin == e.Agent {
		return usageError{fmt.Errorf("--listen %v, --admin %v and --agent %v must differ", e.Listen, e.Admin, e.Agent)}
	}
	c, eps, err := e.load(stderr)
	if err != nil {
		return err
	}
	fallback := e.Fallback
	if len(fallback) == 0 {
		for i := range eps {
			fallback = append(fallback, eps[i].Address)
		}
	}
	c.Zerohop.DestinationMode, c.Zerohop.FailureMode, c.Zerohop.Scrape.Interval = e.DestinationMode, e.FailureMode, e.ScrapeInterval
	out, err := bootstrap.Render(bootstrap.Options{
		Plan:   c.Plan(config.Settings{AgentCluster: c.Zerohop.Envoy.AgentCluster, Endpoints: eps}),
		Listen: e.Listen, Admin: e.Admin, Agent: e.Agent, Wasm: e.Wasm, Fallback: fallback,
	})
	if err != nil {
		return usageError{err}
	}
	if e.Output == "" {
		_, err = stdout.Write(out)
		return err
	}
	if err := os.WriteFile(e.Output, out, 0o644); err != nil {
		return fmt.Errorf("--output: %w", err)
	}
	return nil
}
