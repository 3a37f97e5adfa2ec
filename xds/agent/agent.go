// Package agent is the companion of the filter: it finds and scrapes the endpoints, publishes snapshots, sends the filter's
// plan to Envoy, and puts changes of its configuration into force while it runs, until it is told to stop. It only wires;
// discovery, scraping, publishing and the control plane are packages of their own.
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

	"github.com/zerohop/zerohop/xds/access"
	"github.com/zerohop/zerohop/xds/config"
	"github.com/zerohop/zerohop/xds/controlplane"
	"github.com/zerohop/zerohop/xds/discovery"
	"github.com/zerohop/zerohop/xds/publish"
	"github.com/zerohop/zerohop/xds/scrape"
	"github.com/zerohop/zerohop/xds/status"
	"github.com/zerohop/zerohop/xds/telemetry"
	"github.com/zerohop/zerohop/xds/watch"
)

const (
	headerTimeout = 5 * time.Second  // to receive a request
	readTimeout   = 10 * time.Second // to receive a report
	writeTimeout  = 10 * time.Second // to send a response, after a long poll's hold
	idleTimeout   = 2 * time.Minute  // between two requests of a connection
	stopTimeout   = 5 * time.Second  // to finish open responses at the end
	maxHeader     = 16 << 10
)

// Options are the agent's surroundings.
type Options struct {
	HTTP, XDS net.Listener   // Run closes them
	Access    *access.Policy // who may talk to them
	Config    *config.Config // in force at first
	Document  []byte         // that Config was loaded from
	// ConfigFile is watched, and Load reads what it contains; empty means that the configuration never changes.
	ConfigFile string
	Load       func(document []byte) (*config.Config, error)
	// Watch follows a file; nil means watch.File.
	Watch   func(ctx context.Context, path string, changed func(content []byte, err error))
	Sources []discovery.Source // beside those that the configuration names
	Hold    time.Duration      // how long a long poll stays open when there is nothing new
	Jitter  func() float64     // random numbers in [0,1), from any goroutine
	Log     *slog.Logger
	// DialContext connects to endpoints; nil means TCP.
	DialContext func(ctx context.Context, network, address string) (net.Conn, error)
}

// Run serves until ctx ends, and returns when everything that it started has ended.
func Run(ctx context.Context, o Options) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if o.Watch == nil {
		o.Watch = watch.File
	}
	a, err := assemble(o)
	if err != nil {
		return errors.Join(err, o.HTTP.Close(), o.XDS.Close())
	}
	var running sync.WaitGroup
	running.Go(func() { a.fleet.run(ctx) })
	running.Go(func() { a.director.discover(ctx) })
	running.Go(func() { a.health.run(ctx) })
	if o.ConfigFile != "" {
		running.Go(func() {
			o.Watch(ctx, o.ConfigFile, func(document []byte, err error) { a.director.changed(ctx, document, err) })
		})
	}
	var xdsErr error
	running.Go(func() {
		if xdsErr = a.control.Serve(ctx); xdsErr != nil {
			cancel()
		}
	})
	o.Log.Info("agent serves", "address", o.HTTP.Addr().String(), "xds_address", o.XDS.Addr().String(),
		"interval", o.Config.Zerohop.Scrape.Interval.String())
	err = a.serveHTTP(ctx, o)
	cancel()
	running.Wait()
	return errors.Join(err, xdsErr)
}

// parts are what an agent consists of.
type parts struct {
	store    *publish.Store
	reports  *publish.Fleet
	control  *controlplane.Server
	fleet    *fleet
	director *director
	health   *health
}

// assemble makes the parts without starting any.
func assemble(o Options) (*parts, error) {
	a := &parts{store: publish.NewStore(time.Now())}
	a.reports = publish.NewFleet(a.store)
	a.control = controlplane.New(controlplane.Options{Listener: o.Access.Listener(o.XDS), Server: o.Access.GRPC(), Log: o.Log})
	a.health = &health{store: a.store, reports: a.reports, set: a.control.SetEndpoints, changed: make(chan struct{}, 1)}
	scraperOf := func(so scrape.Options) (scraper, error) {
		so.Log, so.DialContext = o.Log, o.DialContext
		so.Jitter = func() float64 { return o.Jitter() * spread(a.fleet.count.Load(), so.Interval) }
		return scrape.New(so)
	}
	newScraper := func(s config.Scrape, m *config.Metrics) (scraper, error) { return scraperOf(scrapeOptions(s, m)) }
	newAsker := func(s config.Scrape, m config.Models) (scraper, error) {
		if !m.Wanted {
			return nil, nil
		}
		return scraperOf(modelOptions(s, m))
	}
	first, err := newScraper(o.Config.Zerohop.Scrape, &o.Config.Metrics)
	if err != nil {
		return nil, err
	}
	asking, err := newAsker(o.Config.Zerohop.Scrape, o.Config.Models)
	if err != nil {
		return nil, err
	}
	set := settings{
		scraper: first, models: asking, wants: wantsOf(o.Config), drain: o.Config.Zerohop.DrainTimeout,
		engineLabel: o.Config.Metrics.EngineLabel,
	}
	a.fleet = newFleet(set, a.store, a.reports, a.health.wake, o.Log)
	a.director = &director{
		load: o.Load, scraper: newScraper, asker: newAsker, fleet: a.fleet, control: a.control, flags: o.Sources, log: o.Log, renew: make(chan struct{}, 1),
		document: o.Document, config: o.Config, scraping: first, asking: asking,
		state:  status.Config{File: o.ConfigFile, OK: true, Since: time.Now()},
		counts: telemetry.Config{Loaded: 1, LastSuccess: time.Now()},
		source: status.Source{OK: true, Since: time.Now()},
	}
	return a, nil
}

// scrapeShare is the part of the interval that one endpoint takes up when the scrapes are spread. A page costs a quarter of
// a millisecond to read.
const scrapeShare = 2 * time.Millisecond

// spread returns over which share of the interval the scrapes of n endpoints are spread. Few endpoints are scraped close
// together, so that their results go out in a few versions: each costs Envoy's main thread up to a millisecond.
func spread(n int64, interval time.Duration) float64 {
	return min(1, float64(n)*scrapeShare.Seconds()/interval.Seconds())
}

// serveHTTP serves until ctx ends.
func (a *parts) serveHTTP(ctx context.Context, o Options) error {
	server := &http.Server{
		Handler:           a.routes(o),
		BaseContext:       func(net.Listener) context.Context { return ctx }, // ends open long polls
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      o.Hold + writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
		TLSConfig:         o.Access.TLSConfig(),
		ErrorLog:          slog.NewLogLogger(o.Log.Handler(), slog.LevelWarn),
	}
	var stopErr error
	var stopping sync.WaitGroup
	stopping.Go(func() {
		<-ctx.Done()
		stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
		defer cancel()
		if stopErr = server.Shutdown(stop); stopErr != nil {
			_ = server.Close()
		}
	})
	serve := server.Serve
	if server.TLSConfig != nil {
		serve = func(l net.Listener) error { return server.ServeTLS(l, "", "") }
	}
	err := serve(o.Access.Listener(o.HTTP))
	if ctx.Err() == nil {
		_ = server.Close()
		return fmt.Errorf("serve HTTP: %w", err)
	}
	stopping.Wait()
	if stopErr != nil {
		return fmt.Errorf("stop serving HTTP: %w", stopErr)
	}
	return nil
}
