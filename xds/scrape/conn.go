package scrape

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"time"
)

const (
	// maxHeader bounds all headers of a response.
	maxHeader = 64 << 10
	// maxInterim bounds the responses of status 1xx before the real one.
	maxInterim = 5
	// readBuffer takes headers and the beginning of a page; the rest is read past it into the page's buffer.
	readBuffer = 4 << 10
	// firstPage is the size of a page's buffer when its length is not known beforehand; maxKept that from which a buffer is
	// not kept, so that a huge page does not stay in memory.
	firstPage = 64 << 10
	maxKept   = 512 << 10
)

var (
	// errUnanswered says that a kept connection ended before the first byte of a response.
	errUnanswered = errors.New("the connection ended without an answer")
	errHeader     = errors.New("the headers are larger than 64 KiB")
)

// getRequest tells the response reader what was asked for.
var getRequest = &http.Request{Method: http.MethodGet}

// conn is a connection to an endpoint, which is kept between tries.
type conn struct {
	raw     net.Conn // closing it ends every call, also that of another goroutine
	stream  net.Conn // raw, or TLS on it
	limit   io.LimitedReader
	reader  *bufio.Reader
	unwatch func() bool // stops waiting for the end of the context
	used    bool
}

// dial connects. The connection is closed when ctx ends.
func (l *loop) dial(ctx context.Context, deadline time.Time) (Failure, error) {
	o := &l.scraper.options
	dialCtx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	raw, err := o.DialContext(dialCtx, "tcp", l.address)
	if err != nil {
		return classify(FailureConnect, err, deadline), err
	}
	c := &conn{raw: raw, stream: raw, unwatch: context.AfterFunc(ctx, func() { _ = raw.Close() })}
	l.conn = c
	if l.scraper.tls != nil {
		config, err := l.scraper.tls.config(l.address)
		if err != nil {
			return FailureTLS, err
		}
		if err := raw.SetDeadline(deadline); err != nil {
			return FailureConnect, err
		}
		client := tls.Client(raw, config)
		if err := client.HandshakeContext(dialCtx); err != nil {
			return classify(FailureTLS, err, deadline), err
		}
		c.stream = client
	}
	c.limit.R = c.stream
	c.reader = bufio.NewReaderSize(&c.limit, readBuffer)
	return "", nil
}

// hangUp closes the connection, if there is one. A TLS connection ends without a goodbye, for which a peer could make us wait.
func (l *loop) hangUp() {
	if l.conn == nil {
		return
	}
	l.conn.unwatch()
	_ = l.conn.raw.Close()
	l.conn = nil
}

// exchange sends the request, reads the response and updates the metrics. After a failure the connection is of no use.
func (l *loop) exchange(deadline time.Time) (int, Failure, error) {
	c := l.conn
	resp, failure, err := c.ask(l.request, deadline)
	if err != nil {
		return 0, failure, err
	}
	switch encoding := resp.Header.Get("Content-Encoding"); {
	case resp.StatusCode != http.StatusOK:
		return 0, FailureStatus, fmt.Errorf("status %d", resp.StatusCode)
	case encoding != "" && encoding != "identity":
		return 0, FailureContent, fmt.Errorf("the page is encoded (%.20q), which was not asked for", encoding)
	}
	s := l.scraper
	page, _ := s.pages.Get().(*[]byte)
	if page == nil {
		page = new([]byte)
	}
	defer func() {
		if cap(*page) <= maxKept {
			s.pages.Put(page)
		}
	}()
	*page, failure, err = readPage((*page)[:0], resp, s.options.MaxPage, deadline)
	if err != nil {
		return len(*page), failure, err
	}
	if err := l.update(*page); err != nil {
		return len(*page), FailureContent, err
	}
	if l.models || resp.Close || c.reader.Buffered() > 0 { // more than the response: whose would the next one be?
		l.hangUp()
	}
	return len(*page), "", nil
}

// ask sends a request and reads the headers of the response.
func (c *conn) ask(request []byte, deadline time.Time) (*http.Response, Failure, error) {
	used := c.used
	c.used = true
	if err := c.stream.SetDeadline(deadline); err != nil {
		return nil, FailureConnect, unanswered(used, err)
	}
	c.limit.N = maxHeader
	if _, err := c.stream.Write(request); err != nil {
		return nil, classify(FailureConnect, err, deadline), unanswered(used, err)
	}
	if _, err := c.reader.Peek(1); err != nil {
		return nil, classify(FailureConnect, err, deadline), unanswered(used, err)
	}
	for range maxInterim {
		resp, err := http.ReadResponse(c.reader, getRequest)
		switch {
		case err != nil && c.limit.N <= 0:
			return nil, FailureSize, errHeader
		case err != nil:
			return nil, classify(FailureConnect, err, deadline), err
		case resp.StatusCode >= 200:
			c.limit.N = math.MaxInt64 // readPage has a limit of its own
			return resp, "", nil
		}
	}
	return nil, FailureStatus, errors.New("too many responses of status 1xx")
}

// unanswered marks the error of a connection that was kept.
func unanswered(used bool, err error) error {
	if used {
		return fmt.Errorf("%w: %w", errUnanswered, err)
	}
	return err
}

// readPage appends the body to page, which is returned in any case. The body is not closed, which would read it to its end.
func readPage(page []byte, resp *http.Response, limit int64, deadline time.Time) ([]byte, Failure, error) {
	want := int64(firstPage)
	if resp.ContentLength >= 0 {
		want = resp.ContentLength + 1 // one more, so that the end is found without growing
	}
	if want = min(want, limit+1); resp.ContentLength > limit {
		return page, FailureSize, fmt.Errorf("the page has %d bytes, more than %d", resp.ContentLength, limit)
	}
	if int64(cap(page)) < want {
		page = make([]byte, 0, want)
	}
	for {
		n, err := resp.Body.Read(page[len(page):cap(page)])
		page = page[:len(page)+n]
		switch {
		case int64(len(page)) > limit:
			return page, FailureSize, fmt.Errorf("the page has more than %d bytes", limit)
		case err == io.EOF:
			return page, "", nil
		case err != nil:
			return page, classify(FailureConnect, err, deadline), fmt.Errorf("read the page: %w", err)
		}
		if len(page) == cap(page) {
			grown := make([]byte, len(page), min(2*int64(cap(page)), limit+1))
			copy(grown, page)
			page = grown
		}
	}
}

// classify returns FailureTimeout when the time is up, FailureTLS when the peer ended TLS (one that wants a client certificate
// does so only after the handshake), otherwise f.
func classify(f Failure, err error, deadline time.Time) Failure {
	if !time.Now().Before(deadline) {
		return FailureTimeout
	}
	if op := (*net.OpError)(nil); errors.As(err, &op) && op.Op == "remote error" {
		return FailureTLS
	}
	return f
}
