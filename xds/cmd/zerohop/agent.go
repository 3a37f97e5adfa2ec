package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/netip"
	"time"

	"github.com/zerohop/zerohop/xds/agent"
	"github.com/zerohop/zerohop/xds/config"
)

// minInterval is the shortest scrape interval: a vLLM server needs 7 to 8 ms for a page.
const minInterval = 10 * time.Millisecond

type agentCmd struct {
	inputs
	Listen         netip.AddrPort `default:"127.0.0.1:18001" placeholder:"IP:PORT" help:"Where snapshots are served; only Envoy should reach it. Default ${default}."`
	ScrapeInterval time.Duration  `default:"250ms" placeholder:"DURATION" help:"Time between two scrapes of an endpoint. Default ${default}."`
}

// run runs the agent until ctx ends.
func (a *agentCmd) run(ctx context.Context, stderr io.Writer) error {
	if a.ScrapeInterval < minInterval {
		return usageError{fmt.Errorf("--scrape-interval: %v is shorter than %v", a.ScrapeInterval, minInterval)}
	}
	// The agent needs nothing from the document; it is read so that a wrong one is refused here too.
	_, eps, err := a.load(stderr)
	if err != nil {
		return err
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", a.Listen.String())
	if err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	return agent.Run(ctx, agent.Options{
		Listener: l, Endpoints: eps, Interval: a.ScrapeInterval, Hold: config.PollHold,
		Jitter: rand.Float64, Log: slog.New(slog.NewTextHandler(stderr, nil)),
	})
}
