// Package loadgen sends HTTP requests to an inference server and measures what a client sees: time to first token,
// gaps between chunks, and the whole. It runs open loop (each request at its own time, whatever became of earlier ones)
// or closed loop (a fixed number of connections, each sending its next request when the last one is done), over
// HTTP/1.1 or cleartext HTTP/2. Everything is bounded: requests, connections, time, and the samples that are kept.
//
// The definitions are those of the usual benchmarks: TTFT is from send to the first content chunk, ITL the gap between
// two chunks, TPOT (whole - TTFT) / (output tokens - 1).
package loadgen

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"
)

// Request is one request to send. Loadgen only reads it.
type Request struct {
	// At is the time after the start of the run at which an open loop sends the request. A closed loop ignores it.
	At     time.Duration
	Path   string // of the URL, for example "/v1/chat/completions"
	Header http.Header
	Body   []byte // kept until the request is done; several requests may share it
	Stream bool   // the response is read as server-sent events
	Done   func() // called when Body is not needed any more; nil means not at all
}

// Source yields the requests of a run in order: the i-th (from 0), or false when there are no more. It is called from
// one goroutine at a time, just before the request is due, so that large bodies need not all exist at once.
type Source func(i int) (Request, bool)

// Options configure a run.
type Options struct {
	URL     string        // base URL, "http://ip:port"
	H2C     bool          // cleartext HTTP/2 with prior knowledge; false means HTTP/1.1
	Conns   int           // closed loop: concurrent requests; 0 means 1
	Timeout time.Duration // of one request as a whole; 0 means 10 minutes
	// MaxInFlight bounds an open loop: a request that would exceed it is not sent and counts as ErrOverrun. 0 means 4096.
	MaxInFlight int
	// Progress is called after each finished request, from any goroutine, one at a time; nil means not at all.
	Progress func(done int, r Result)
}

// ErrOverrun is the error of a request that an open loop did not send because too many were in flight.
var ErrOverrun = errors.New("not sent: too many requests in flight")

// Client sends requests over kept-alive connections. It may be used for several runs, one after the other.
type Client struct {
	opts      Options
	transport *http.Transport
}

// New returns a client. Close releases its connections.
func New(o Options) *Client {
	o.Conns = max(o.Conns, 1)
	if o.Timeout <= 0 {
		o.Timeout = 10 * time.Minute
	}
	if o.MaxInFlight <= 0 {
		o.MaxInFlight = 4096
	}
	t := &http.Transport{
		MaxIdleConns:        o.MaxInFlight,
		MaxIdleConnsPerHost: o.MaxInFlight,
		DisableCompression:  true,
		WriteBufferSize:     64 << 10,
		ReadBufferSize:      16 << 10,
		Protocols:           new(http.Protocols),
	}
	if o.H2C {
		t.Protocols.SetUnencryptedHTTP2(true)
	} else {
		t.Protocols.SetHTTP1(true)
	}
	return &Client{opts: o, transport: t}
}

// Close closes the connections that are idle; call it when no run is in progress.
func (c *Client) Close() { c.transport.CloseIdleConnections() }

// collector gathers results from concurrent requests.
type collector struct {
	mu       sync.Mutex
	results  []Result
	progress func(int, Result)
}

func (c *collector) add(r Result) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.results = append(c.results, r)
	if c.progress != nil {
		c.progress(len(c.results), r)
	}
}

// Open sends every request of src at its time, whatever became of the earlier ones, and waits for all. Lateness of
// sending is in the results. When ctx ends, requests in flight are cut off and no more are sent.
func (c *Client) Open(ctx context.Context, src Source) Report {
	var wg sync.WaitGroup
	col := collector{progress: c.opts.Progress}
	slots := make(chan struct{}, c.opts.MaxInFlight)
	start := time.Now()
	for i := 0; ; i++ {
		req, ok := src(i)
		if !ok || !sleepUntil(ctx, start.Add(req.At)) {
			break
		}
		select {
		case slots <- struct{}{}:
		default:
			col.add(Result{Index: i, At: req.At, Err: ErrOverrun})
			continue
		}
		wg.Go(func() {
			defer func() { <-slots }()
			r := c.do(ctx, req)
			r.Index, r.At = i, req.At
			r.Late = r.Sent.Sub(start) - req.At
			col.add(r)
		})
	}
	wg.Wait()
	return newReport(col.results, time.Since(start))
}

// Closed sends the requests of src over Options.Conns loops, each sending its next request when the last one is done,
// until src has no more, length has passed (0 means no limit) or ctx ends. Requests in flight are finished.
func (c *Client) Closed(ctx context.Context, src Source, length time.Duration) Report {
	var (
		wg   sync.WaitGroup
		mu   sync.Mutex
		next int
	)
	col := collector{progress: c.opts.Progress}
	start := time.Now()
	take := func() (int, Request, bool) {
		mu.Lock()
		defer mu.Unlock()
		if ctx.Err() != nil || (length > 0 && time.Since(start) >= length) {
			return 0, Request{}, false
		}
		req, ok := src(next)
		next++
		return next - 1, req, ok
	}
	for range c.opts.Conns {
		wg.Go(func() {
			for {
				i, req, ok := take()
				if !ok {
					return
				}
				r := c.do(ctx, req)
				r.Index = i
				col.add(r)
			}
		})
	}
	wg.Wait()
	return newReport(col.results, time.Since(start))
}

// sleepUntil reports whether t came before ctx ended.
func sleepUntil(ctx context.Context, t time.Time) bool {
	d := time.Until(t)
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
