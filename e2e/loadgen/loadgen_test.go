package loadgen

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// server serves h over HTTP/1.1 and cleartext HTTP/2 and returns its URL.
func server(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewUnstartedServer(h)
	s.Config.Protocols = new(http.Protocols)
	s.Config.Protocols.SetHTTP1(true)
	s.Config.Protocols.SetUnencryptedHTTP2(true)
	s.Start()
	t.Cleanup(s.Close)
	return s.URL
}

func repeat(n int, req Request) Source {
	return func(i int) (Request, bool) { return req, i < n }
}

const usage = `"usage":{"prompt_tokens":20,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":16}}`

func TestStreams(t *testing.T) {
	tests := []struct {
		name    string
		body    string
		stream  bool
		wantErr string // part of it; "" means none
		chunks  int
		output  int
		cached  int
	}{
		{"stream", "data: {\"a\":1}\n\ndata: {\"a\":2}\n\ndata: [DONE]\n\n", true, "", 2, 2, 0},
		{"stream with CRLF", "data: {\"a\":1}\r\n\r\ndata: [DONE]\r\n\r\n", true, "", 1, 1, 0},
		{"stream with usage", "data: {\"choices\":[1]}\n\ndata: {\"choices\":[]," + usage + "}\n\ndata: [DONE]\n\n", true, "", 1, 5, 16},
		{"usage beside content is a chunk", "data: {\"choices\":[1]," + usage + "}\n\ndata: [DONE]\n\n", true, "", 1, 5, 16},
		{"usage null is a chunk", "data: {\"choices\":[1],\"usage\":null}\n\ndata: [DONE]\n\n", true, "", 1, 1, 0},
		{"comments and names are not chunks", ": ping\nevent: x\ndata: {}\n\ndata: [DONE]\n", true, "", 1, 1, 0},
		{"line longer than the buffer", "data: {\"a\":\"" + strings.Repeat("x", 100_000) + "\"}\n\ndata: [DONE]\n", true, "", 1, 1, 0},
		{"no end", "data: {\"a\":1}\n\n", true, ErrNoDone.Error(), 1, 1, 0},
		{"error in stream", "data: {\"a\":1}\n\ndata: {\"error\":{\"message\":\"engine died\"}}\n\n", true, "engine died", 1, 0, 0},
		{"plain", `{"choices":[1],` + usage + `}`, false, "", 0, 5, 16},
		{"plain without usage", `not json`, false, "", 0, 0, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			url := server(t, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, tt.body) })
			c := New(Options{URL: url})
			defer c.Close()
			r := c.Closed(context.Background(), repeat(1, Request{Path: "/", Body: []byte("{}"), Stream: tt.stream}), 0)
			res := r.Results[0]
			if got := fmt.Sprint(res.Err); (tt.wantErr == "") != (res.Err == nil) || !strings.Contains(got, tt.wantErr) {
				t.Errorf("error %v, want %q", res.Err, tt.wantErr)
			}
			got := []int{res.Chunks, res.OutputTokens, res.CachedTokens}
			if d := cmp.Diff([]int{tt.chunks, tt.output, tt.cached}, got); d != "" {
				t.Errorf("chunks, output, cached (-want +got):\n%s", d)
			}
			if res.Err == nil && (res.TTFT <= 0 || res.E2E < res.TTFT) {
				t.Errorf("TTFT %v, E2E %v", res.TTFT, res.E2E)
			}
			if len(res.Gaps) != max(0, res.Chunks-1) {
				t.Errorf("%d gaps for %d chunks", len(res.Gaps), res.Chunks)
			}
		})
	}
}

func TestProtocolsAndKeepAlive(t *testing.T) {
	for _, h2c := range []bool{false, true} {
		t.Run(fmt.Sprintf("h2c=%v", h2c), func(t *testing.T) {
			var mu sync.Mutex
			remotes, protos := map[string]bool{}, map[string]bool{}
			body := strings.Repeat("x", 300_000)
			url := server(t, func(_ http.ResponseWriter, r *http.Request) {
				b, _ := io.ReadAll(r.Body)
				mu.Lock()
				defer mu.Unlock()
				remotes[r.RemoteAddr] = true
				protos[r.Proto] = true
				if string(b) != body || r.Header.Get("x-test") != "1" || r.Method != http.MethodPost {
					t.Errorf("got %d bytes, header %q, method %s", len(b), r.Header.Get("x-test"), r.Method)
				}
			})
			c := New(Options{URL: url, H2C: h2c, Conns: 4})
			defer c.Close()
			r := c.Closed(context.Background(), repeat(40, Request{
				Path: "/x", Header: http.Header{"X-Test": {"1"}}, Body: []byte(body),
			}), 0)
			if r.Failed() != 0 || len(r.Results) != 40 {
				t.Fatalf("%d results, errors %v", len(r.Results), r.Errors)
			}
			want := map[string]bool{"HTTP/1.1": true}
			if h2c {
				want = map[string]bool{"HTTP/2.0": true}
			}
			if d := cmp.Diff(want, protos); d != "" {
				t.Errorf("protocols (-want +got):\n%s", d)
			}
			if len(remotes) > 4 {
				t.Errorf("%d connections for 4 loops", len(remotes))
			}
		})
	}
}

func TestClosedIsBounded(t *testing.T) {
	var inFlight, peak atomic.Int32
	url := server(t, func(http.ResponseWriter, *http.Request) {
		n := inFlight.Add(1)
		defer inFlight.Add(-1)
		for p := peak.Load(); n > p && !peak.CompareAndSwap(p, n); p = peak.Load() {
		}
	})
	c := New(Options{URL: url, Conns: 3})
	defer c.Close()
	ctx, cancel := context.WithCancel(context.Background())
	c.opts.Progress = func(done int, _ Result) {
		if done == 50 {
			cancel()
		}
	}
	r := c.Closed(ctx, repeat(1_000_000, Request{Path: "/"}), 0)
	if n := len(r.Results); n < 50 || n > 53 {
		t.Errorf("%d results, want 50 and at most those in flight", n)
	}
	if peak.Load() > 3 {
		t.Errorf("%d in flight at once, want at most 3", peak.Load())
	}
}

func TestOpenLoop(t *testing.T) {
	release := make(chan struct{})
	var arrived atomic.Int32
	url := server(t, func(_ http.ResponseWriter, r *http.Request) {
		arrived.Add(1)
		if r.URL.Path == "/wait" {
			<-release
		}
	})
	c := New(Options{URL: url, MaxInFlight: 5})
	defer c.Close()
	c.opts.Progress = func(done int, r Result) {
		// Five wait and fill the bound, so three are not sent; only then may the five go on.
		if done == 3 {
			close(release)
		}
	}
	src := func(i int) (Request, bool) { return Request{At: time.Duration(i), Path: "/wait"}, i < 8 }
	r := c.Open(context.Background(), src)
	if d := cmp.Diff(map[string]int{"too many requests in flight": 3}, r.Errors); d != "" {
		t.Errorf("errors (-want +got):\n%s", d)
	}
	overrun := 0
	for _, res := range r.Results {
		if errors.Is(res.Err, ErrOverrun) {
			overrun++
		} else if res.Err != nil {
			t.Errorf("request %d: %v", res.Index, res.Err)
		} else if res.Late < 0 {
			t.Errorf("request %d sent %v early", res.Index, -res.Late)
		}
	}
	if overrun != 3 || arrived.Load() != 5 {
		t.Errorf("%d not sent, %d arrived, want 3 and 5", overrun, arrived.Load())
	}
}

func TestErrorsAreKinds(t *testing.T) {
	url := server(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/reset" {
			panic(http.ErrAbortHandler)
		}
		http.Error(w, "busy", http.StatusServiceUnavailable)
	})
	c := New(Options{URL: url})
	defer c.Close()
	r := c.Closed(context.Background(), func(i int) (Request, bool) {
		return Request{Path: []string{"/reset", "/busy"}[i%2], Body: []byte("{}")}, i < 4
	}, 0)
	if d := cmp.Diff(map[string]int{"EOF": 2, "status 503": 2}, r.Errors); d != "" {
		t.Errorf("errors (-want +got):\n%s", d)
	}
	if r.Failed() != 4 || r.E2E.Len() != 0 {
		t.Errorf("failed %d, measured %d", r.Failed(), r.E2E.Len())
	}
}

func TestSample(t *testing.T) {
	var s Sample
	if s.P(50) != 0 || s.Mean() != 0 {
		t.Error("an empty sample has values")
	}
	for i := range 100 {
		s.add(time.Duration(100 - i))
	}
	slices.Sort(s.v)
	for p, want := range map[float64]time.Duration{0: 1, 1: 1, 50: 50, 90: 90, 99: 99, 99.5: 100, 100: 100} {
		if got := s.P(p); got != want {
			t.Errorf("P(%g) = %d, want %d", p, got, want)
		}
	}
	if s.Mean() != 50 {
		t.Errorf("Mean = %d, want 50", s.Mean())
	}
}
