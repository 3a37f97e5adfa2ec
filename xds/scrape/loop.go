package scrape

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/zerohop/zerohop/xds/discovery"
	"github.com/zerohop/zerohop/xds/scrape/promtext"
)

// logGap is the least time between two lines about one endpoint.
const logGap = 5 * time.Second

// loop is the state of one endpoint.
type loop struct {
	scraper *Scraper
	address string
	head    []byte // the request up to the headers that may change
	request []byte // reused
	conn    *conn  // nil while there is none
	models  bool   // the page is the list of models
	log     *slog.Logger
	slot    int64 // of the try that is due

	engine   *engine
	reader   reader
	values   []promtext.Value
	adapters adapterReader

	sample   Sample
	failed   int       // tries in a row
	earliest time.Time // before which no try begins
	logged   Failure
	loggedAt time.Time
}

func newLoop(s *Scraper, e *discovery.Endpoint) *loop {
	o := &s.options
	l := &loop{
		scraper: s, address: e.Address.String(), models: o.Models, log: o.Log.With("endpoint", e.ID()),
		slot: s.clock.first(time.Now(), o.Jitter()), engine: s.engineOf(e),
	}
	if l.engine.name == engineTriton && !l.models {
		s.growing.Do(func() {
			l.log.Warn("engine triton has no number of running requests: what counts instead only grows; rather use triton-tensorrt-llm")
		})
	}
	l.reader = newReader(l.engine.wants)
	l.values = make([]promtext.Value, len(l.engine.wants))
	// identity: without the header a server may choose.
	accept := "text/plain;version=0.0.4"
	if o.Models { // seldom: no connection is kept
		accept = "application/json\r\nConnection: close"
	}
	l.head = []byte("GET " + o.Path + " HTTP/1.1\r\nHost: " + l.address +
		"\r\nUser-Agent: zerohop\r\nAccept: " + accept + "\r\nAccept-Encoding: identity\r\n")
	return l
}

// try scrapes once and returns false if ctx ended meanwhile, in which case nothing was learned.
func (l *loop) try(ctx context.Context) bool {
	began := time.Now()
	bytes, failure, err := l.scrape(ctx, began.Add(l.scraper.options.Timeout))
	if ctx.Err() != nil {
		return false
	}
	ended := time.Now()
	l.earliest = ended
	l.sample.Failure, l.sample.Bytes, l.sample.Duration = failure, bytes, ended.Sub(began)
	if failure == "" {
		l.sample.At = began
		l.sample.Seq++
		l.failed = 0
	} else {
		l.hangUp()
		l.sample.Failures++
		l.sample.FailuresBy.add(failure)
		l.failed++
		if at := began.Add(l.backOff()); at.After(ended) {
			l.earliest = at
		}
	}
	l.logChange(ended, failure, err)
	return true
}

// backOff returns how long after the beginning of the last try no other one begins. After one failure the next period is
// soon enough, because one failure is mostly a hiccup: then 2, 4, 8 periods are between tries. One success ends it.
func (l *loop) backOff() time.Duration {
	o := &l.scraper.options
	wait := time.Duration(0)
	for range l.failed - 1 {
		if wait = 2*wait + o.Interval; wait >= o.MaxBackOff {
			return o.MaxBackOff
		}
	}
	return wait
}

// words are the lines that are logged.
type words struct{ again, fails string }

func (l *loop) words() words {
	if l.models {
		return words{"endpoint tells its models again", "endpoint does not tell its models; the old ones stay"}
	}
	return words{"endpoint is scraped again", "endpoint cannot be scraped; its old metrics stay"}
}

// logChange logs a failure that differs from the one that was logged last, but an endpoint that comes and goes not each time.
func (l *loop) logChange(now time.Time, failure Failure, err error) {
	if failure == l.logged || !l.loggedAt.IsZero() && now.Sub(l.loggedAt) < logGap {
		return
	}
	l.logged, l.loggedAt = failure, now
	what := l.words()
	if failure == "" {
		l.log.Info(what.again, "failures", l.sample.Failures)
		return
	}
	l.log.Warn(what.fails, "failure", string(failure), "error", err)
}

// scrape gets the page and updates the metrics. A kept connection that the server has closed meanwhile is no failure: the
// page is asked for once more on a fresh one.
func (l *loop) scrape(ctx context.Context, deadline time.Time) (int, Failure, error) {
	l.compose()
	if l.conn != nil {
		n, failure, err := l.exchange(deadline)
		if !errors.Is(err, errUnanswered) || !time.Now().Before(deadline) || ctx.Err() != nil {
			return n, failure, err
		}
		l.hangUp()
	}
	if failure, err := l.dial(ctx, deadline); failure != "" {
		return 0, failure, err
	}
	return l.exchange(deadline)
}

// compose writes the request.
func (l *loop) compose() {
	l.request = append(l.request[:0], l.head...)
	if t := l.scraper.token; t != nil {
		l.request = append(append(append(l.request, "Authorization: Bearer "...), t.Value()...), "\r\n"...)
	}
	l.request = append(l.request, "\r\n"...)
}
