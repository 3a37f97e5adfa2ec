// Package scrape reads the metrics pages of model servers, or their lists of models, over and over. One goroutine per
// endpoint owns that endpoint's connection and numbers, and shares nothing that another could hold; after each try it reports
// a copy. A failed try keeps the old numbers, which age. The package knows what engines call their metrics and nothing of who
// uses the numbers.
//
// A try is one GET on a kept connection, written and read by that goroutine: no redirect is followed, no proxy is asked, and
// what a server sends is bounded in time and size. Without the goroutines of net/http's client a try costs a third less, and a
// quarter of the allocations (BenchmarkTry).
//
// A page is never asked for compressed. A vLLM page of 56 KB takes 7 µs to receive and as gzip 90 µs to receive and unpack
// (BenchmarkGzip), and packing it costs the model server more, in the event loop that serves its requests.
package scrape

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/zerohop/zerohop/xds/credfile"
	"github.com/zerohop/zerohop/xds/discovery"
)

// What stands in for zero Options.
const (
	DefaultInterval = 250 * time.Millisecond
	DefaultTimeout  = time.Second
	// DefaultMaxBackOff is short beside the start of a model server (18 s for vLLM at the least), so that one that is back
	// gets its share soon, and long enough that a thousand endpoints that are gone cost nothing.
	DefaultMaxBackOff = 5 * time.Second
	// DefaultMaxPage leaves room: a vLLM page is about 56 KB.
	DefaultMaxPage = 4 << 20
	DefaultPath    = "/metrics"
	DefaultScheme  = "http"
	DefaultEngine  = "vllm"
	// With Options.Models. Models change when people change them.
	DefaultModelsInterval = 10 * time.Second
	DefaultModelsPath     = "/v1/models"
	DefaultModelsPage     = 1 << 20
)

// Failure says why a try failed; empty if it did not. It is coarse on purpose, because a change of it is logged.
type Failure string

// The failures of a try.
const (
	FailureConnect Failure = "connect" // no connection, or it broke, perhaps within the page
	FailureTLS     Failure = "tls"     // no handshake, mostly because of a certificate
	FailureTimeout Failure = "timeout" // no complete page in time
	FailureStatus  Failure = "status"  // an HTTP status other than 200
	FailureSize    Failure = "size"    // page or headers are too large
	FailureContent Failure = "content" // the page is broken, compressed, or has none of the metrics
)

var failures = [...]Failure{FailureConnect, FailureTLS, FailureTimeout, FailureStatus, FailureSize, FailureContent}

// Failures returns all failures.
func Failures() []Failure { return failures[:] }

// Counts has one counter for each failure.
type Counts [len(failures)]uint64

// Of returns the counter of f.
func (c *Counts) Of(f Failure) uint64 {
	if i := slices.Index(failures[:], f); i >= 0 {
		return c[i]
	}
	return 0
}

func (c *Counts) add(f Failure) { c[slices.Index(failures[:], f)]++ }

// Sample is what is known of one endpoint after a try.
type Sample struct {
	Metrics
	Models     *Models       // with Options.Models; nil if no try has succeeded. What it points to never changes.
	At         time.Time     // when the newest successful try began; zero if there was none
	Seq        uint32        // successful tries
	Failure    Failure       // of the newest try
	Failures   uint64        // failed tries
	FailuresBy Counts        // failed tries by failure
	Bytes      int           // that the newest try read of its page
	Duration   time.Duration // of the newest try
}

// Options say how to scrape. Zero values mean the defaults above.
type Options struct {
	// Interval is the longest time between the beginnings of two tries. Because of the jitter it is 2.5 % less on average. A
	// try that is due while another one runs is left out.
	Interval   time.Duration
	Timeout    time.Duration // of a try, from dialling to the end of the page
	MaxBackOff time.Duration // the longest time between two tries at an endpoint that fails
	MaxPage    int64         // the largest page that is read, in bytes
	Path       string        // of the page, with a query if need be
	Scheme     string        // "http" or "https"
	// Models makes the page the list of served models (GET /v1/models), and Sample.Models what is reported of it.
	Models bool
	// Engine names the metrics of endpoints whose labels (LabelEngine) do not say better.
	Engine          string
	EngineLabel     string         // the label that names an endpoint's engine
	Engines         []EngineConfig // beside the built-in ones, or in their place
	TLS             TLS            // of https
	BearerTokenFile string         // a token to send; read again when it changes
	Jitter          func() float64 // random numbers in [0,1), from any goroutine: the phase of each Run
	Log             *slog.Logger   // gets a line when an endpoint begins to fail, fails otherwise, or recovers
	// DialContext connects, with a deadline in the context; nil means TCP.
	DialContext func(ctx context.Context, network, address string) (net.Conn, error)
}

func (o *Options) setDefaults() {
	if o.Models {
		o.Interval = cmp.Or(o.Interval, DefaultModelsInterval)
		o.MaxPage = cmp.Or(o.MaxPage, DefaultModelsPage)
		o.Path = cmp.Or(o.Path, DefaultModelsPath)
		o.MaxBackOff = cmp.Or(o.MaxBackOff, 3*o.Interval)
	}
	o.Interval = cmp.Or(o.Interval, DefaultInterval)
	o.Timeout = cmp.Or(o.Timeout, DefaultTimeout)
	o.MaxBackOff = cmp.Or(o.MaxBackOff, DefaultMaxBackOff)
	o.MaxPage = cmp.Or(o.MaxPage, DefaultMaxPage)
	o.Path = cmp.Or(o.Path, DefaultPath)
	o.Scheme = cmp.Or(o.Scheme, DefaultScheme)
	o.Engine = cmp.Or(o.Engine, DefaultEngine)
	o.EngineLabel = cmp.Or(o.EngineLabel, LabelEngine)
	if o.Jitter == nil {
		o.Jitter = rand.Float64
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.DialContext == nil {
		o.DialContext = (&net.Dialer{}).DialContext
	}
}

// check lists what is wrong with o, by the names that the fields have in a ZerohopConfig.
func (o *Options) check() error {
	var errs []error
	for _, d := range []struct {
		name  string
		value int64
	}{{"interval", int64(o.Interval)}, {"timeout", int64(o.Timeout)}, {"maxBackOff", int64(o.MaxBackOff)}, {"maxPageBytes", o.MaxPage}} {
		if d.value < 0 {
			errs = append(errs, fmt.Errorf("%s: %d is negative", d.name, d.value))
		}
	}
	if u, err := url.ParseRequestURI(o.Path); err != nil || u.Host != "" || !strings.HasPrefix(o.Path, "/") || strings.ContainsFunc(o.Path, notVisible) {
		errs = append(errs, fmt.Errorf("path: %q is no path; write one such as %q", o.Path, DefaultPath))
	}
	if o.Scheme != "http" && o.Scheme != "https" {
		errs = append(errs, fmt.Errorf("scheme: %q is neither \"http\" nor \"https\"", o.Scheme))
	}
	return errors.Join(errs...)
}

// notVisible finds what must not stand in a request line or a header value.
func notVisible(r rune) bool { return r <= ' ' || r >= 0x7f }

// Scraper scrapes endpoints.
type Scraper struct {
	options Options
	clock   *clock
	engines map[string]*engine
	tls     *tlsFiles              // nil without TLS
	token   *credfile.File[string] // nil for none
	pages   sync.Pool              // of *[]byte: few scrapes are in the middle of a page at once
	growing sync.Once              // warns of an engine
}

// New returns a scraper. An error lists everything that is wrong with o, files included.
func New(o Options) (*Scraper, error) {
	o.setDefaults()
	s := &Scraper{options: o}
	err := errors.Join(o.check(), s.setEngines())
	now := time.Now()
	s.clock = newClock(now, o.Interval, uint64(now.UnixNano()))
	var tlsErr, tokenErr error
	if o.Scheme == "https" {
		s.tls, tlsErr = newTLSFiles(o.TLS, o.Log)
	}
	if o.BearerTokenFile != "" {
		if s.token, tokenErr = credfile.Open(o.Log, parseToken, o.BearerTokenFile); tokenErr != nil {
			tokenErr = fmt.Errorf("bearerTokenFile: %w", tokenErr)
		}
	}
	if err := errors.Join(err, tlsErr, tokenErr); err != nil {
		return nil, fmt.Errorf("set up scraping: %w", err)
	}
	return s, nil
}

// Run scrapes e until ctx ends, and leaves no connection and no goroutine. It calls report after every try, on its own
// goroutine; report must not block for long.
func (s *Scraper) Run(ctx context.Context, e discovery.Endpoint, report func(Sample)) {
	l := newLoop(s, &e)
	defer l.hangUp()
	timer := time.NewTimer(time.Until(s.clock.due(l.slot)))
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		if !l.try(ctx) {
			return
		}
		report(l.sample)
		l.slot = s.clock.next(l.slot, l.earliest)
		timer.Reset(time.Until(s.clock.due(l.slot)))
	}
}
