// Package responses shows on a real Envoy that answers pass as endpoints give them, chunk by chunk, and that clients that
// leave at any stage leave nothing behind.
package responses

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zerohop/zerohop/e2e/harness"
	"github.com/zerohop/zerohop/e2e/traffic"
)

// TestResponses runs all of this package on one Envoy per destination mode.
func TestResponses(t *testing.T) {
	traffic.EachMode(t, func(t *testing.T, mode string) {
		e := newEndpoint(t)
		b := traffic.Start(t, traffic.Options{Options: harness.Options{
			DestinationMode: mode, Endpoints: []harness.Endpoint{e.Endpoint},
		}})
		for _, http2 := range []bool{false, true} {
			t.Run(protocol(http2), func(t *testing.T) {
				t.Run("stream", func(t *testing.T) { stream(t, b, e, http2) })
				t.Run("status", func(t *testing.T) { status(t, b, e, http2) })
				t.Run("whole", func(t *testing.T) { whole(t, b, http2) })
				t.Run("trailers", func(t *testing.T) { trailers(t, b, http2) })
			})
		}
		t.Run("gone", func(t *testing.T) { gone(t, b, e) })
		t.Run("counters", func(t *testing.T) {
			b.Agree(t)
			// Every answer above and every client that left is the client's or the test's doing, but for the three
			// answers of 500 in a row.
			if n := b.FilterStats(t)["zerohop_retries_total"]; n != 0 {
				t.Errorf("%g retries, want none", n)
			}
		})
	})
}

func protocol(http2 bool) string {
	if http2 {
		return "HTTP 2"
	}
	return "HTTP 1"
}

// The paths on which the endpoint answers in different ways.
const (
	pathStream   = "/stream" + traffic.PathChat
	pathStatus   = "/status/" // and the status code, and PathChat
	pathWhole    = "/whole" + traffic.PathChat
	pathTrailers = "/trailers" + traffic.PathChat
	pathSilent   = "/silent" + traffic.PathChat
)

// endpoint is a scripted endpoint.
type endpoint struct {
	harness.Endpoint
	hits    atomic.Int64
	goOn    chan struct{} // one receive lets a stream go on
	arrived chan struct{} // one send for each request on pathSilent and each first chunk on pathStream
	left    chan struct{} // one send for each of these that was broken off
}

func newEndpoint(t *testing.T) *endpoint {
	e := &endpoint{goOn: make(chan struct{}, 1), arrived: make(chan struct{}, 8), left: make(chan struct{}, 8)}
	mux := http.NewServeMux()
	mux.HandleFunc(pathStream, e.stream)
	mux.HandleFunc(pathStatus, e.status)
	mux.HandleFunc(pathWhole, e.whole)
	mux.HandleFunc(pathTrailers, e.trailers)
	mux.HandleFunc(pathSilent, e.silent)
	mux.HandleFunc(traffic.PathChat, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "fine") })
	e.Endpoint = traffic.Backend(t, "scripted", func(w http.ResponseWriter, r *http.Request) {
		e.hits.Add(1)
		_, _ = io.Copy(io.Discard, r.Body) // only then net/http notices that the client leaves
		mux.ServeHTTP(w, r)
	})
	return e
}

// pause waits to be let go on, or until the client has left.
func (e *endpoint) pause(ctx context.Context) bool {
	e.arrived <- struct{}{}
	select {
	case <-e.goOn:
		return true
	case <-ctx.Done():
		e.left <- struct{}{}
		return false
	}
}

// The chunks of a stream: the second is sent only after the client has the first.
const (
	chunk1 = "data: {\"n\":1}\n\n"
	chunk2 = "data: {\"n\":2}\n\ndata: [DONE]\n\n"
)

func (e *endpoint) stream(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	fmt.Fprint(w, chunk1)
	_ = http.NewResponseController(w).Flush()
	if e.pause(r.Context()) {
		fmt.Fprint(w, chunk2)
	}
}

func (e *endpoint) silent(w http.ResponseWriter, r *http.Request) { e.pause(r.Context()) }

func (e *endpoint) status(w http.ResponseWriter, r *http.Request) {
	code, _ := strconv.Atoi(r.URL.Path[len(pathStatus):][:3])
	w.Header().Set("X-Custom", "kept")
	w.Header()["Set-Cookie"] = []string{"a=1", "b=2"}
	w.WriteHeader(code)
	if code != http.StatusNoContent {
		fmt.Fprintf(w, `{"error":{"code":%d}}`, code)
	}
}

// answer is a body far above all windows, for which nothing may be buffered in full or cut.
var answer = bytes.Repeat([]byte("0123456789abcdef"), 20<<20/16)

func (e *endpoint) whole(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Length", strconv.Itoa(len(answer)))
	_, _ = w.Write(answer)
}

func (e *endpoint) trailers(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Trailer", "X-Checksum")
	fmt.Fprint(w, "body")
	w.Header().Set("X-Checksum", "42")
}

// stream shows that a chunk is passed on before the next one exists.
func stream(t *testing.T, b *traffic.Bed, e *endpoint, http2 bool) {
	resp, id := b.Open(t, traffic.Request{HTTP2: http2, Path: pathStream, Body: traffic.ChatBody("hello")})
	traffic.Receive(t, "the request to arrive", e.arrived)
	first := make([]byte, len(chunk1))
	if _, err := io.ReadFull(resp.Body, first); err != nil {
		t.Fatal(err)
	}
	e.goOn <- struct{}{} // there is room
	rest, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if got := string(first) + string(rest); got != chunk1+chunk2 {
		t.Errorf("got %q", got)
	}
	if got := resp.Header.Get("Content-Type"); got != "text/event-stream; charset=utf-8" {
		t.Errorf("content type %q", got)
	}
	if p := b.Pick(t, id); p.Endpoint != e.Address || p.Attempts != 1 {
		t.Errorf("picked %+v", p)
	}
}

// status shows that statuses, headers and bodies pass, and that an answer is not asked for twice.
func status(t *testing.T, b *traffic.Bed, e *endpoint, http2 bool) {
	for _, code := range []int{200, 204, 400, 401, 404, 422, 429, 500} {
		t.Run(strconv.Itoa(code), func(t *testing.T) {
			before := e.hits.Load()
			r := b.Do(t, traffic.Request{HTTP2: http2, Path: pathStatus + strconv.Itoa(code) + traffic.PathChat, Body: traffic.ChatBody("hello")})
			want := fmt.Sprintf(`{"error":{"code":%d}}`, code)
			if code == http.StatusNoContent {
				want = ""
			}
			if r.Status != code || string(r.Body) != want {
				t.Errorf("got %d %q, want %d %q", r.Status, r.Body, code, want)
			}
			if diff := cmp.Diff([]string{"a=1", "b=2"}, r.Header.Values("Set-Cookie")); diff != "" || r.Header.Get("X-Custom") != "kept" {
				t.Errorf("headers %v", r.Header)
			}
			if n := e.hits.Load() - before; n != 1 {
				t.Errorf("%d attempts, want 1", n)
			}
			if p := b.Pick(t, r.ID); p.Attempts != 1 || p.Reason != "scored" {
				t.Errorf("picked %+v", p)
			}
		})
	}
}

// whole shows that a length that was announced stays so.
func whole(t *testing.T, b *traffic.Bed, http2 bool) {
	resp, _ := b.Open(t, traffic.Request{HTTP2: http2, Path: pathWhole, Body: traffic.ChatBody("hello")})
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if resp.ContentLength != int64(len(answer)) || len(resp.TransferEncoding) != 0 {
		t.Errorf("content length %d, transfer encoding %v, want %d and none", resp.ContentLength, resp.TransferEncoding, len(answer))
	}
	if traffic.Sum(body) != traffic.Sum(answer) {
		t.Errorf("%d bytes, another sum", len(body))
	}
}

// trailers shows that what an endpoint says behind its body arrives.
func trailers(t *testing.T, b *traffic.Bed, http2 bool) {
	r := b.Do(t, traffic.Request{HTTP2: http2, Path: pathTrailers, Body: traffic.ChatBody("hello")})
	if string(r.Body) != "body" || r.Trailer.Get("X-Checksum") != "42" {
		t.Errorf("body %q, trailers %v, want body and x-checksum 42", r.Body, r.Trailer)
	}
}
