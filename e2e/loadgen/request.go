package loadgen

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"time"
)

// maxGaps bounds the inter-token gaps that are kept of one response.
const maxGaps = 1 << 14

// maxPlain bounds how much of a response that is not a stream is looked at for its usage; the rest is read and dropped.
const maxPlain = 1 << 20

// Result is what became of one request.
type Result struct {
	Index  int           // position in the source
	At     time.Duration // planned send time (open loop)
	Sent   time.Time     // when the request was handed to the connection
	Late   time.Duration // how long after At it was sent (open loop)
	Status int           // HTTP status; 0 if there was no response
	Err    error         // transport error, broken stream, or a status other than 2xx
	Header http.Header   // of the response

	FirstByte time.Duration   // send to response headers
	TTFT      time.Duration   // send to the first content chunk; whole time if the response is not a stream
	E2E       time.Duration   // send to the end of the response
	Gaps      []time.Duration // between content chunks
	Chunks    int             // content chunks; 0 if the response is not a stream

	PromptTokens int // from the response's usage; 0 if it has none
	CachedTokens int
	OutputTokens int // from the usage, else Chunks
}

// TPOT returns the time per output token after the first; 0 if there is at most one.
func (r *Result) TPOT() time.Duration {
	if r.OutputTokens < 2 || r.TTFT <= 0 {
		return 0
	}
	return (r.E2E - r.TTFT) / time.Duration(r.OutputTokens-1)
}

// do sends one request and reads the whole response.
func (c *Client) do(ctx context.Context, req Request) (res Result) {
	ctx, cancel := context.WithTimeout(ctx, c.opts.Timeout)
	defer cancel()
	if req.Done != nil {
		defer req.Done()
	}
	method := http.MethodPost
	var body io.Reader
	if req.Body == nil {
		method = http.MethodGet
	} else {
		body = bytes.NewReader(req.Body)
	}
	hr, err := http.NewRequestWithContext(ctx, method, c.opts.URL+req.Path, body)
	if err != nil {
		return Result{Err: err, Sent: time.Now()}
	}
	if req.Header != nil {
		hr.Header = req.Header.Clone()
	}
	if body != nil && hr.Header.Get("content-type") == "" {
		hr.Header.Set("content-type", "application/json")
	}
	res.Sent = time.Now()
	resp, err := c.transport.RoundTrip(hr)
	if err != nil {
		res.Err = err
		return res
	}
	defer resp.Body.Close()
	res.FirstByte = time.Since(res.Sent)
	res.Status, res.Header = resp.StatusCode, resp.Header
	if resp.StatusCode/100 != 2 {
		b, _ := io.ReadAll(io.LimitReader(resp.Body, 200))
		_, _ = io.Copy(io.Discard, resp.Body) // so that the connection can be used again
		res.E2E = time.Since(res.Sent)
		res.Err = fmt.Errorf("status %d: %s", resp.StatusCode, b)
		return res
	}
	if req.Stream {
		res.Err = readStream(resp.Body, &res)
	} else {
		res.Err = readPlain(resp.Body, &res)
	}
	return res
}

// readPlain reads a response that comes in one piece.
func readPlain(body io.Reader, res *Result) error {
	b, err := io.ReadAll(io.LimitReader(body, maxPlain))
	if err == nil {
		_, err = io.Copy(io.Discard, body)
	}
	res.E2E = time.Since(res.Sent)
	res.TTFT = res.E2E
	if err != nil {
		return fmt.Errorf("read response: %w", err)
	}
	readUsage(b, res)
	return nil
}
