package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/zerohop/zerohop/e2e/vllmsim/simserver"
	"github.com/zerohop/zerohop/shared/names"
)

const (
	chatPath = "/v1/chat/completions"

	// patience is how long a client waits for the end of a response. Nothing takes a third of it.
	patience = 45 * time.Second

	// http2Conns is over how many connections requests of HTTP/2 are spread, so that all workers get some.
	http2Conns = 12

	trapHeader = "X-Zerohop-Fault"
)

// Outcome is what became of a request.
type Outcome struct {
	ID        string
	Start     time.Time
	FirstByte time.Time // of the response; zero if there was none
	Began     time.Time // when the endpoint that answered began to, by its journal; zero if unknown
	End       time.Time
	Status    int
	Endpoint  string // that answered
	Worker    int    // that had the request, or noWorker
	Class     Class
	Code      string // of a refusal
	Detail    string
	Stream    bool
	Trap      bool // the request that made the VM trap

	PromptTokens, CachedTokens int
}

// client sends requests to one Envoy.
type client struct {
	addr  string // of Envoy
	decoy string // that requests name as their destination
	http1 *http.Transport
	http2 []*http2Conn
	next  chan int // which of http2
}

func newClient(addr, decoy string) *client {
	c := &client{addr: addr, decoy: decoy, next: make(chan int, http2Conns)}
	c.http1 = &http.Transport{MaxIdleConns: 4096, MaxIdleConnsPerHost: 4096, DisableCompression: true}
	for i := range http2Conns {
		c.http2 = append(c.http2, newHTTP2Conn())
		c.next <- i
	}
	return c
}

func (c *client) close() {
	c.http1.CloseIdleConnections()
	for _, t := range c.http2 {
		t.CloseIdleConnections()
	}
}

// transport returns the connections that a request may use, and the worker that they are of if that is known.
func (c *client) transport(s *spec) (*http.Transport, int) {
	if !s.http2 {
		return c.http1, noWorker
	}
	i := <-c.next
	c.next <- i
	return c.http2[i].Transport, int(c.http2[i].worker.Load())
}

// errLeft is why a client's context ends when the client goes away.
var errLeft = errors.New("the client left")

// send sends a request and reads the response to its end, or goes away before.
func (c *client) send(ctx context.Context, s *spec) Outcome {
	t, worker := c.transport(s)
	o := Outcome{ID: s.id, Start: time.Now(), Worker: worker, Stream: s.stream, Trap: s.trap}
	if s.leave == leavesInHeaders {
		c.leaveInHeaders(ctx, s, &o)
		o.End = time.Now()
		return o
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	ctx, left := context.WithCancelCause(ctx)
	defer left(nil)
	resp, err := c.roundTrip(ctx, t, s, func() { left(errLeft) })
	if err == nil {
		o.FirstByte, o.Status, o.Endpoint = time.Now(), resp.StatusCode, resp.Header.Get(simserver.HeaderEndpoint)
		if s.leave == leavesAtFirstByte {
			left(errLeft)
		}
		err = o.read(s, resp, func() { left(errLeft) })
		resp.Body.Close()
	}
	o.End = time.Now()
	switch {
	case err == nil:
	case context.Cause(ctx) == errLeft: //nolint:errorlint // the very cause
		o.Class = Left
	case errors.Is(err, context.DeadlineExceeded):
		o.Class, o.Detail = Hung, err.Error()
	default:
		o.Class, o.Detail = broken(&o, err), err.Error()
	}
	return o
}

// broken names the class of a transport error.
func broken(o *Outcome, err error) Class {
	var op *net.OpError
	switch {
	case o.Status != 0:
		return Cut
	case errors.As(err, &op) && op.Op == "dial":
		return Unsent
	}
	return NoAnswer
}

func (c *client) roundTrip(ctx context.Context, t *http.Transport, s *spec, left func()) (*http.Response, error) {
	// A reader that net/http cannot rewind: the client itself must never send a request twice.
	body := &leavingReader{body: s.body}
	if s.leave == leavesInBody {
		body.at, body.left = len(s.body)/2, left
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+c.addr+chatPath+"?id="+s.id, body)
	if err != nil {
		return nil, err
	}
	req.ContentLength = int64(len(s.body))
	req.Header.Set("Content-Type", "application/json")
	if s.steer {
		req.Header.Set(names.HeaderDestination, c.decoy)
		req.Header.Set(names.HeaderFallback, "1")
	}
	if s.trap {
		req.Header.Set(trapHeader, "trap")
	}
	if s.leave == leavesBeforeAnswer {
		defer time.AfterFunc(s.after, left).Stop()
	}
	return t.RoundTrip(req)
}

// leaveInHeaders sends the beginning of a request's headers and closes the connection.
func (c *client) leaveInHeaders(ctx context.Context, s *spec, o *Outcome) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", c.addr)
	if err != nil {
		o.Class, o.Detail = Unsent, err.Error()
		return
	}
	defer conn.Close()
	fmt.Fprintf(conn, "POST %s?id=%s HTTP/1.1\r\nhost: x\r\ncontent-le", chatPath, s.id)
	o.Class = Left
}

// leavingReader reads a body, and lets the client leave at one place of it.
type leavingReader struct {
	body []byte
	read int
	at   int
	left func() // nil: stays
}

func (r *leavingReader) Read(p []byte) (int, error) {
	if r.left != nil && r.read >= r.at {
		r.left()
		return 0, errLeft
	}
	rest := r.body[r.read:]
	if r.left != nil {
		rest = r.body[r.read:r.at]
	}
	if len(rest) == 0 {
		return 0, io.EOF
	}
	n := copy(p, rest)
	r.read += n
	return n, nil
}

// read reads a response and sets its class; an error is one of the transport.
func (o *Outcome) read(s *spec, resp *http.Response, left func()) error {
	if resp.StatusCode != http.StatusOK {
		b, err := io.ReadAll(io.LimitReader(resp.Body, 4096))
		if err != nil {
			return err
		}
		o.classify(resp.Header.Get(names.HeaderDropReason), string(b))
		return nil
	}
	a := answer{midst: -1}
	if s.leave == leavesInMidst {
		a.midst, a.left = s.chunks, left
	}
	if err := a.read(resp.Body, s.stream); err != nil {
		return err
	}
	o.PromptTokens, o.CachedTokens = a.prompt, a.cached
	o.Class = Success
	if echo := resp.Header.Get(simserver.HeaderRequest); echo != s.id {
		o.Class, o.Detail = Garbled, fmt.Sprintf("the response is to request %q", echo)
	} else if why := a.wrong(s); why != "" {
		o.Class, o.Detail = Garbled, why
	}
	return nil
}

// classify names the class of an error status.
func (o *Outcome) classify(dropReason, body string) {
	o.Detail = strings.TrimSpace(body[:min(len(body), 300)])
	switch {
	case o.Endpoint != "" && o.Status == http.StatusInternalServerError:
		o.Class = Status5
	case dropReason != "":
		o.Class, o.Code = Refused, dropReason
	case o.Status == http.StatusGatewayTimeout:
		o.Class = Timeout
	default:
		o.Class, o.Code = Unserved, fmt.Sprint(o.Status)
	}
}
