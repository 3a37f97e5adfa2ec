package scrape

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zerohop/zerohop/xds/memnet"
)

// rawServer answers every request with the same bytes. If the answers are to end with their connection, it closes it.
type rawServer struct {
	answer string
	close  bool

	mu       sync.Mutex
	conns    int
	requests int
}

// serve accepts connections until l is closed.
func (s *rawServer) serve(l net.Listener) {
	var all sync.WaitGroup
	defer all.Wait()
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		s.mu.Lock()
		s.conns++
		s.mu.Unlock()
		all.Go(func() { s.converse(c) })
	}
}

func (s *rawServer) converse(c net.Conn) {
	defer c.Close()
	r := bufio.NewReader(c)
	answer := []byte(s.answer)
	for {
		for { // the headers
			line, err := r.ReadString('\n')
			if err != nil {
				return
			}
			if line == "\r\n" {
				break
			}
		}
		s.mu.Lock()
		s.requests++
		s.mu.Unlock()
		if _, err := c.Write(answer); err != nil || s.close {
			return
		}
	}
}

func (s *rawServer) counts() (conns, requests int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conns, s.requests
}

func TestResponses(t *testing.T) {
	length := strconv.Itoa(len(goodPage))
	const ok = "HTTP/1.1 200 OK\r\n"
	chunk := func(s string) string { return strconv.FormatInt(int64(len(s)), 16) + "\r\n" + s + "\r\n" }
	tests := []struct {
		name   string
		answer string
		close  bool
		want   Failure
		conns  int // for ten tries; 0 means any number
	}{
		{"plain", ok + "Content-Length: " + length + "\r\n\r\n" + goodPage, false, "", 1},
		{"chunks", ok + "Transfer-Encoding: chunked\r\n\r\n" + chunk(goodPage[:7]) + chunk(goodPage[7:]) + "0\r\n\r\n", false, "", 1},
		{"until the end", ok + "\r\n" + goodPage, true, "", 10},
		{"HTTP/1.0", "HTTP/1.0 200 OK\r\nContent-Length: " + length + "\r\n\r\n" + goodPage, true, "", 10},
		{"says that it closes", ok + "Connection: close\r\nContent-Length: " + length + "\r\n\r\n" + goodPage, false, "", 10},
		{"closes without saying so", ok + "Content-Length: " + length + "\r\n\r\n" + goodPage, true, "", 10},
		{"identity", ok + "Content-Encoding: identity\r\nContent-Length: " + length + "\r\n\r\n" + goodPage, false, "", 1},
		{"interim response", "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + ok + "Content-Length: " + length + "\r\n\r\n" + goodPage, false, "", 1},
		{"more than the response", ok + "Content-Length: " + length + "\r\n\r\n" + goodPage + "HTTP/1.1 200 OK\r\n", false, "", 10},
		{"interim responses for ever", strings.Repeat("HTTP/1.1 102 Processing\r\n\r\n", 100), false, FailureStatus, 0},
		{"length too large for the page", ok + "Content-Length: 1000\r\n\r\n" + goodPage, true, FailureConnect, 0},
		{"length too small for the page", ok + "Content-Length: 30\r\n\r\n" + goodPage, false, FailureContent, 0},
		{"length over the limit", ok + "Content-Length: 5000000\r\n\r\n" + goodPage, true, FailureSize, 0},
		{"absurd length", ok + "Content-Length: 9223372036854775807\r\n\r\n" + goodPage, true, FailureSize, 0},
		{"negative length", ok + "Content-Length: -1\r\n\r\n" + goodPage, true, FailureConnect, 0},
		{"two lengths", ok + "Content-Length: 1\r\nContent-Length: 2\r\n\r\n" + goodPage, true, FailureConnect, 0},
		{"cut between chunks", ok + "Transfer-Encoding: chunked\r\n\r\n" + chunk(goodPage), true, FailureConnect, 0},
		{"cut in a chunk", ok + "Transfer-Encoding: chunked\r\n\r\n" + chunk(goodPage)[:40], true, FailureConnect, 0},
		{"endless chunk header", ok + "Transfer-Encoding: chunked\r\n\r\n" + strings.Repeat("0", 100_000), true, FailureConnect, 0},
		{"mostly chunk headers", ok + "Transfer-Encoding: chunked\r\n\r\n" + strings.Repeat("1;x="+strings.Repeat("y", 3000)+"\r\n#\r\n", 100), true, FailureConnect, 0},
		{"cut in the headers", ok + "Content-Le", true, FailureConnect, 0},
		{"header flood", ok + strings.Repeat("X-Header: "+strings.Repeat("y", 100)+"\r\n", 10_000), false, FailureSize, 0},
		{"endless header", ok + "X-Header: " + strings.Repeat("y", 1<<20), false, FailureSize, 0},
		{"not HTTP", "SSH-2.0-OpenSSH_9.6\r\n", false, FailureConnect, 0},
		{"closes at once", "", true, FailureConnect, 0},
		{"gzip", ok + "Content-Encoding: gzip\r\n\r\n" + gzipped(t, strings.Repeat(goodPage, 100)), true, FailureContent, 0},
		{"gzip in the transfer", ok + "Transfer-Encoding: gzip\r\n\r\n", true, FailureConnect, 0},
		{"HTML", ok + "Content-Type: text/html\r\nContent-Length: 14\r\n\r\n<html></html>\n", false, FailureContent, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var network memnet.Network
				server := &rawServer{answer: tt.answer, close: tt.close}
				l := network.Listen(testEndpoint.Address.String())
				var served sync.WaitGroup
				served.Go(func() { server.serve(l) })
				defer served.Wait()
				defer l.Close()
				scrapeWhile(t, Options{DialContext: network.DialContext}, func(last func() Sample) {
					time.Sleep(9*243750*time.Microsecond + time.Millisecond)
					got := last()
					if got.Failure != tt.want || tt.want == "" && (got.Failures != 0 || got.Seq != 10) || tt.want != "" && got.Seq != 0 {
						t.Errorf("%+v; want failure %q", got, tt.want)
					}
					if tt.want == "" && got.Metrics != (Metrics{Waiting: 3, Running: 4, KVUsage: 0.5}) {
						t.Errorf("metrics %+v", got.Metrics)
					}
					conns, requests := server.counts()
					if tt.conns != 0 && conns != tt.conns || requests > 10 {
						t.Errorf("%d requests on %d connections, want 10 on %d", requests, conns, tt.conns)
					}
				})
			})
		})
	}
}

// TestPageLimit checks both sides of the limit, with the length known and unknown.
func TestPageLimit(t *testing.T) {
	const limit = 200_000
	fill := func(n int) string { return goodPage + "#" + strings.Repeat("x", n-len(goodPage)-2) + "\n" }
	tests := []struct {
		name, head string
		size       int
		want       Failure
	}{
		{"largest, known", "Content-Length: " + strconv.Itoa(limit) + "\r\n", limit, ""},
		{"too large, known", "Content-Length: " + strconv.Itoa(limit+1) + "\r\n", limit + 1, FailureSize},
		{"largest, unknown", "", limit, ""},
		{"too large, unknown", "", limit + 1, FailureSize},
		{"far too large, unknown", "", 50 * limit, FailureSize},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var network memnet.Network
				server := &rawServer{answer: "HTTP/1.1 200 OK\r\n" + tt.head + "\r\n" + fill(tt.size), close: true}
				l := network.Listen(testEndpoint.Address.String())
				var served sync.WaitGroup
				served.Go(func() { server.serve(l) })
				defer served.Wait()
				defer l.Close()
				scrapeWhile(t, Options{DialContext: network.DialContext, MaxPage: limit}, func(last func() Sample) {
					if got := last(); got.Failure != tt.want || got.Bytes > limit+1 {
						t.Errorf("%+v; want failure %q", got, tt.want)
					}
				})
			})
		})
	}
}

func gzipped(tb testing.TB, s string) string {
	tb.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := io.WriteString(w, s); err != nil {
		tb.Fatal(err)
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return b.String()
}

// serveLoopback answers every request on a real port with the same bytes.
func serveLoopback(tb testing.TB, answer string) *loop {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	server := &rawServer{answer: answer}
	var served sync.WaitGroup
	served.Go(func() { server.serve(l) })
	s, err := New(Options{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		tb.Fatal(err)
	}
	e := testEndpoint
	e.Address = l.Addr().(*net.TCPAddr).AddrPort()
	loop := newLoop(s, &e)
	tb.Cleanup(func() {
		loop.hangUp()
		_ = l.Close()
		served.Wait()
	})
	return loop
}

// BenchmarkTry scrapes a vLLM page over loopback, server included: as the package does it, and with net/http's client, the
// page in a reused buffer and the same scanner.
func BenchmarkTry(b *testing.B) {
	page, err := os.ReadFile("testdata/vllm_0.32_under_load.txt")
	if err != nil {
		b.Fatal(err)
	}
	l := serveLoopback(b, "HTTP/1.1 200 OK\r\nContent-Length: "+strconv.Itoa(len(page))+"\r\n\r\n"+string(page))
	b.Run("scrape", func(b *testing.B) {
		b.SetBytes(int64(len(page)))
		b.ReportAllocs()
		for b.Loop() {
			if l.try(b.Context()); l.sample.Failure != "" {
				b.Fatal(l.sample.Failure)
			}
		}
	})
	b.Run("nethttp", func(b *testing.B) {
		client := &http.Client{Transport: &http.Transport{DisableCompression: true}}
		defer client.CloseIdleConnections()
		var in bytes.Buffer
		b.SetBytes(int64(len(page)))
		b.ReportAllocs()
		for b.Loop() {
			ctx, cancel := context.WithTimeout(b.Context(), DefaultTimeout)
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+l.address+DefaultPath, nil)
			if err != nil {
				b.Fatal(err)
			}
			resp, err := client.Do(req)
			if err != nil {
				b.Fatal(err)
			}
			in.Reset()
			if _, err := in.ReadFrom(io.LimitReader(resp.Body, DefaultMaxPage+1)); err != nil {
				b.Fatal(err)
			}
			_ = resp.Body.Close()
			if err := l.update(in.Bytes()); err != nil {
				b.Fatal(err)
			}
			cancel()
		}
	})
}

// BenchmarkGzip compares what receiving a vLLM page costs when it comes plain and when it comes compressed and is unpacked.
// What compressing costs the server is not in it.
func BenchmarkGzip(b *testing.B) {
	page, err := os.ReadFile("testdata/vllm_0.32_under_load.txt")
	if err != nil {
		b.Fatal(err)
	}
	packed := gzipped(b, string(page))
	for _, bb := range []struct {
		name, body string
		unpack     bool
	}{{"plain", string(page), false}, {"gzip", packed, true}} {
		b.Run(bb.name, func(b *testing.B) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				b.Fatal(err)
			}
			server := &rawServer{answer: bb.body}
			var served sync.WaitGroup
			served.Go(func() { server.serve(l) })
			c, err := net.Dial("tcp", l.Addr().String())
			if err != nil {
				b.Fatal(err)
			}
			defer served.Wait()
			defer l.Close()
			defer c.Close()
			in, out := make([]byte, len(bb.body)), make([]byte, len(page)+1)
			var unpacker gzip.Reader
			b.ReportMetric(float64(len(bb.body)), "B/page")
			for b.Loop() {
				if _, err := io.WriteString(c, "GET\r\n\r\n"); err != nil {
					b.Fatal(err)
				}
				if _, err := io.ReadFull(c, in); err != nil {
					b.Fatal(err)
				}
				if !bb.unpack {
					continue
				}
				if err := unpacker.Reset(bytes.NewReader(in)); err != nil {
					b.Fatal(err)
				}
				if n, err := io.ReadFull(&unpacker, out); n != len(page) || err != io.ErrUnexpectedEOF {
					b.Fatal(n, err)
				}
			}
		})
	}
}

// canned is a connection whose peer sends bytes and then closes.
type canned struct {
	net.Conn
	rest []byte
	read int
}

func (c *canned) Read(b []byte) (int, error) {
	if len(c.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(b, c.rest)
	c.rest = c.rest[n:]
	c.read += n
	return n, nil
}

func (c *canned) Write(b []byte) (int, error)   { return len(b), nil }
func (c *canned) SetDeadline(_ time.Time) error { return nil }
func (c *canned) Close() error                  { return nil }

// FuzzResponse has a server answer with anything: a try succeeds or fails, and a failed one changes nothing.
func FuzzResponse(f *testing.F) {
	f.Add([]byte(answer(goodPage)))
	f.Add([]byte("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1c\r\nvllm:num_requests_waiting 3\n\r\n0\r\n\r\n"))
	f.Add([]byte("HTTP/1.0 200 OK\r\nContent-Encoding: gzip\r\n\r\n\x1f\x8b"))
	f.Add([]byte("HTTP/1.1 301 Moved\r\nLocation: /\r\n\r\n"))
	f.Fuzz(func(t *testing.T, sent []byte) {
		const limit = 1000
		c := &canned{rest: sent}
		s, err := New(Options{MaxPage: limit, DialContext: func(context.Context, string, string) (net.Conn, error) { return c, nil }})
		if err != nil {
			t.Fatal(err)
		}
		l := newLoop(s, &testEndpoint)
		defer l.hangUp()
		l.try(t.Context())
		got := l.sample
		if (got.Failure == "") != (got.Seq == 1) || got.Failure != "" && got.Metrics != (Metrics{}) {
			t.Errorf("%+v", got)
		}
		if got.Bytes > limit+1 {
			t.Errorf("a page of %d bytes was taken in", got.Bytes)
		}
		// Headers, page, chunk headers of at most 16 bytes and as much as the data each, and a buffer.
		if most := maxHeader + 20*limit + 64<<10; c.read > most {
			t.Errorf("%d bytes were read, more than %d", c.read, most)
		}
	})
}
