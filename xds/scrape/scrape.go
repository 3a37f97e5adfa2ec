// Package scrape reads the metrics page of model servers over and over. One goroutine per endpoint owns that endpoint's
// numbers; after each try it reports a copy. A failed try keeps the old numbers, which age. The package knows vLLM's
// metric names and nothing of who uses the numbers.
package scrape

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/zerohop/zerohop/xds/discovery"
)

const (
	// Timeout bounds one try.
	Timeout = time.Second
	// MaxPage is the largest page that is read, in bytes. A vLLM page is about 50 KB.
	MaxPage = 4 << 20
	// maxJitter bounds the delay of the first try, which spreads the endpoints over the interval.
	maxJitter = time.Second
)

// Failure says why a try failed; empty if it did not. It is coarse on purpose, because a change of it is logged.
type Failure string

// The failures of a try.
const (
	FailureConnect Failure = "connect" // no connection, or it broke
	FailureTimeout Failure = "timeout" // no complete page within Timeout
	FailureStatus  Failure = "status"  // an HTTP status other than 200
	FailureSize    Failure = "size"    // the page is larger than MaxPage
	FailureContent Failure = "content" // the page is broken or has none of the metrics
)

// Sample is what is known of one endpoint after a try.
type Sample struct {
	Metrics
	At       time.Time // when the newest successful try began; zero if there was none
	Seq      uint32    // successful tries
	Failure  Failure   // of the newest try
	Failures uint64    // failed tries
}

// Scraper scrapes endpoints. Its fields must not change while Run runs.
type Scraper struct {
	Client   *http.Client   // NewClient, or one for tests
	Interval time.Duration  // between the beginnings of two tries; a try that is due while another one runs is left out
	Jitter   func() float64 // random numbers in [0,1)
	Log      *slog.Logger   // gets a line when an endpoint begins to fail, fails otherwise, or recovers
}

// NewClient returns a client that keeps connections open, follows no redirect and uses no proxy.
func NewClient() *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			MaxIdleConnsPerHost:    1,
			IdleConnTimeout:        time.Minute,
			DisableCompression:     true,
			MaxResponseHeaderBytes: 64 << 10,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// Run scrapes e until ctx ends. It calls report after every try, on its own goroutine; report must not block for long.
func (s *Scraper) Run(ctx context.Context, e discovery.Endpoint, report func(Sample)) {
	l := loop{scraper: s, url: "http://" + e.Address.String() + "/metrics", log: s.Log.With("endpoint", e.ID())}
	first := time.NewTimer(time.Duration(s.Jitter() * float64(min(s.Interval, maxJitter))))
	defer first.Stop()
	select {
	case <-ctx.Done():
		return
	case <-first.C:
	}
	tick := time.NewTicker(s.Interval)
	defer tick.Stop()
	for {
		if !l.try(ctx) {
			return
		}
		report(l.sample)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// loop is the state of one endpoint.
type loop struct {
	scraper *Scraper
	url     string
	log     *slog.Logger
	page    bytes.Buffer // reused
	sample  Sample
}

// try scrapes once and returns false if ctx ended meanwhile, in which case nothing was learned.
func (l *loop) try(ctx context.Context) bool {
	began := time.Now()
	failure, err := l.fetch(ctx)
	if ctx.Err() != nil {
		return false
	}
	if failure == "" {
		l.sample.At = began
		l.sample.Seq++
	} else {
		l.sample.Failures++
	}
	if failure != l.sample.Failure {
		l.logChange(failure, err)
	}
	l.sample.Failure = failure
	return true
}

func (l *loop) logChange(failure Failure, err error) {
	if failure == "" {
		l.log.Info("endpoint is scraped again", "failures", l.sample.Failures)
		return
	}
	l.log.Warn("endpoint cannot be scraped; its old metrics stay", "failure", string(failure), "error", err)
}

// fetch gets the page and updates the metrics.
func (l *loop) fetch(ctx context.Context) (Failure, error) {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, l.url, nil)
	if err != nil {
		return FailureConnect, err
	}
	resp, err := l.scraper.Client.Do(req)
	if err != nil {
		return classify(ctx), err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		// A short body is read to its end, so that the connection can be used again.
		_, _ = io.CopyN(io.Discard, resp.Body, 64<<10)
		return FailureStatus, errors.New("status " + strconv.Itoa(resp.StatusCode))
	}
	l.page.Reset()
	n, err := l.page.ReadFrom(io.LimitReader(resp.Body, MaxPage+1))
	switch {
	case err != nil:
		return classify(ctx), err
	case n > MaxPage:
		return FailureSize, errors.New("page is larger than " + strconv.Itoa(MaxPage) + " bytes")
	}
	if err := l.sample.update(l.page.Bytes()); err != nil {
		return FailureContent, err
	}
	return "", nil
}

// classify tells a timeout from other failures of the network.
func classify(ctx context.Context) Failure {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return FailureTimeout
	}
	return FailureConnect
}
