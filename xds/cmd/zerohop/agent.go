package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/netip"
	"time"

	"github.com/zerohop/zerohop/xds/access"
	"github.com/zerohop/zerohop/xds/agent"
	"github.com/zerohop/zerohop/xds/config"
	"github.com/zerohop/zerohop/xds/discovery"
)

// minInterval is the shortest scrape interval: a vLLM server needs 7 to 8 ms for a page.
const minInterval = 10 * time.Millisecond

type agentCmd struct {
	inputs
	Listen         netip.AddrPort `placeholder:"IP:PORT" help:"HTTP: snapshots, metrics, status. Default: agent.listen of the configuration, or 127.0.0.1:18001."`
	XDSListen      netip.AddrPort `name:"xds-listen" placeholder:"IP:PORT" help:"gRPC: xDS (ADS). Default: agent.xdsListen of the configuration, or 127.0.0.1:18000."`
	ScrapeInterval time.Duration  `placeholder:"DURATION" help:"Time between two scrapes of an endpoint. Default: scrape.interval of the configuration, or 250ms."`
	LogFormat      string         `enum:"text,json" default:"text" help:"Format of the log: ${enum}. Default ${default}."`
}

// run runs the agent until ctx ends.
func (a *agentCmd) run(ctx context.Context, stderr io.Writer) error {
	if a.ScrapeInterval != 0 && a.ScrapeInterval < minInterval {
		return usageError{fmt.Errorf("--scrape-interval: %v is shorter than %v", a.ScrapeInterval, minInterval)}
	}
	if _, _, err := a.load(stderr); err != nil {
		return err
	}
	doc, err := readBounded(a.ConfigFile)
	if err != nil {
		return err
	}
	c, err := a.config(doc)
	if err != nil {
		return usageError{err}
	}
	if a.Endpoints == "" && !agent.HasSource(c) {
		return usageError{agent.ErrNoSource}
	}
	if c.Zerohop.Agent.Disabled {
		return usageError{fmt.Errorf("%s: %w", a.ConfigFile, agent.ErrDisabled)}
	}
	var handler slog.Handler = slog.NewTextHandler(stderr, nil)
	if a.LogFormat == "json" {
		handler = slog.NewJSONHandler(stderr, nil)
	}
	log := slog.New(handler)
	o := agent.Options{
		Config: c, Document: doc, ConfigFile: a.ConfigFile, Load: a.config,
		Hold: config.PollHold, Jitter: rand.Float64, Log: log,
	}
	if a.Endpoints != "" {
		o.Sources = append(o.Sources, discovery.NewFile(a.Endpoints, true, log))
	}
	if err := open(ctx, &o, &c.Zerohop.Agent); err != nil {
		return err
	}
	defer sayStop(ctx, log)()
	return agent.Run(ctx, o)
}

// sayStop logs when the agent is told to stop; ending takes seconds if responses are open. What it returns ends the waiting.
func sayStop(ctx context.Context, log *slog.Logger) func() {
	told, cancel := context.WithCancel(ctx)
	said := make(chan struct{})
	go func() {
		defer close(said)
		<-told.Done()
		if ctx.Err() != nil {
			log.Info("agent stops: it was told to")
		}
	}()
	return func() {
		cancel()
		<-said
	}
}

// config loads a document. Flags have the last word.
func (a *agentCmd) config(doc []byte) (*config.Config, error) {
	c, err := loadConfig(doc, a.FailOnInactive)
	if err != nil {
		return nil, err
	}
	z := &c.Zerohop
	if a.Listen.IsValid() {
		z.Agent.Listen = a.Listen
	}
	if a.XDSListen.IsValid() {
		z.Agent.XDSListen = a.XDSListen
	}
	if a.ScrapeInterval != 0 {
		z.Scrape.Interval = a.ScrapeInterval
	}
	return c, nil
}

// policyOf returns who may talk to an agent with that configuration.
func policyOf(c *config.Agent, log *slog.Logger) (*access.Policy, error) {
	return access.New(access.Options{
		CertFile: c.TLS.CertFile, KeyFile: c.TLS.KeyFile, ClientCAFile: c.TLS.ClientCAFile, BearerTokenFile: c.BearerTokenFile,
		MaxConnections: c.MaxConnections, RequestsPerSecond: c.RequestsPerSecond,
	}, log)
}

// open decides who may talk to the agent and opens its listeners.
func open(ctx context.Context, o *agent.Options, c *config.Agent) error {
	var err error
	if o.Access, err = policyOf(c, o.Log); err != nil {
		return usageError{err}
	}
	if err := errors.Join(o.Access.CheckListen(c.Listen), o.Access.CheckListen(c.XDSListen)); err != nil {
		return usageError{err}
	}
	if o.HTTP, err = (&net.ListenConfig{}).Listen(ctx, "tcp", c.Listen.String()); err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	if o.XDS, err = (&net.ListenConfig{}).Listen(ctx, "tcp", c.XDSListen.String()); err != nil {
		_ = o.HTTP.Close()
		return fmt.Errorf("--xds-listen: %w", err)
	}
	return nil
}
