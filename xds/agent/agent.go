// Package agent is the companion of the filter: it scrapes the endpoints and publishes snapshots over HTTP until it is
// told to stop. It only wires; discovery, scraping and publishing are packages of their own.
package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/zerohop/zerohop/xds/discovery"
	"github.com/zerohop/zerohop/xds/publish"
	"github.com/zerohop/zerohop/xds/scrape"
)

const (
	headerTimeout = 5 * time.Second  // to receive a request
	writeTimeout  = 10 * time.Second // to send a response, after a long poll's hold
	idleTimeout   = 2 * time.Minute  // between two requests of a connection
	stopTimeout   = 5 * time.Second  // to finish open responses at the end
	maxHeader     = 16 << 10
)

// Options are the agent's surroundings.
type Options struct {
	Listener  net.Listener // Run closes it
	Endpoints []discovery.Endpoint
	Interval  time.Duration  // between two scrapes of an endpoint
	Hold      time.Duration  // how long a long poll stays open when there is nothing new
	Jitter    func() float64 // random numbers in [0,1), from any goroutine
	Log       *slog.Logger
	// DialContext connects to endpoints; nil means TCP.
	DialContext func(ctx context.Context, network, address string) (net.Conn, error)
}

// scrapeShare is the part of the interval that one endpoint takes up when the scrapes are spread. A page costs a quarter of
// a millisecond to read.
const scrapeShare = 2 * time.Millisecond

// spread returns over which share of the interval the scrapes of n endpoints are spread. Few endpoints are scraped close
// together, so that their results go out in a few versions: each costs Envoy's main thread up to a millisecond.
func spread(n int, interval time.Duration) float64 {
	return min(1, float64(n)*scrapeShare.Seconds()/interval.Seconds())
}

// Run serves until ctx ends, and returns when everything that it started has ended.
func Run(ctx context.Context, o Options) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	store := publish.NewStore(time.Now())
	f := newFleet(o.Endpoints, store, o.Log)
	spread := spread(len(o.Endpoints), o.Interval)
	scraper, err := scrape.New(scrape.Options{
		Interval: o.Interval, Jitter: func() float64 { return spread * o.Jitter() }, Log: o.Log, DialContext: o.DialContext,
	})
	if err != nil {
		return err
	}
	handler := publish.Handler{Store: store, Hold: o.Hold, Ready: f.ready.Load}
	server := &http.Server{
		Handler:           handler.Routes(),
		BaseContext:       func(net.Listener) context.Context { return ctx }, // ends open long polls
		ReadHeaderTimeout: headerTimeout,
		WriteTimeout:      o.Hold + writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
		ErrorLog:          slog.NewLogLogger(o.Log.Handler(), slog.LevelWarn),
	}

	var running sync.WaitGroup
	running.Go(func() { f.run(ctx) })
	for i, e := range o.Endpoints {
		running.Go(func() { scraper.Run(ctx, e, func(s scrape.Sample) { f.report(ctx, i, s) }) })
	}
	var stopErr error
	running.Go(func() {
		<-ctx.Done()
		stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
		defer cancel()
		if stopErr = server.Shutdown(stop); stopErr != nil {
			_ = server.Close()
		}
	})
	o.Log.Info("agent serves", "address", o.Listener.Addr().String(), "endpoints", len(o.Endpoints), "interval", o.Interval.String())
	err = server.Serve(o.Listener)
	cancel()
	running.Wait()
	if errors.Is(err, http.ErrServerClosed) {
		err = nil
	}
	if err = errors.Join(err, stopErr); err != nil {
		return fmt.Errorf("serve snapshots: %w", err)
	}
	return nil
}
