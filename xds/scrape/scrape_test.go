package scrape

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/zerohop/zerohop/xds/discovery"
	"github.com/zerohop/zerohop/xds/memnet"
)

const goodPage = "vllm:num_requests_waiting 3\nvllm:num_requests_running 4\nvllm:kv_cache_usage_perc 0.5\n"

// testEndpoint is where fakes listen.
var testEndpoint = discovery.Endpoint{Namespace: "default", Name: "a", Address: netip.MustParseAddrPort("10.0.0.1:8000")}

// fake is a model server on the virtual network.
type fake struct {
	t       *testing.T
	net     memnet.Network
	server  *http.Server
	served  sync.WaitGroup
	mu      sync.Mutex
	handler http.HandlerFunc
	conns   int // connections accepted
}

func newFake(t *testing.T) *fake {
	f := &fake{t: t}
	f.up()
	return f
}

// up starts the server; down stops it, so that its address refuses connections.
func (f *fake) up() {
	srv := &http.Server{Handler: f, ConnState: func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			f.mu.Lock()
			f.conns++
			f.mu.Unlock()
		}
	}}
	l := f.net.Listen(testEndpoint.Address.String())
	f.server = srv
	f.served.Go(func() { _ = srv.Serve(l) })
}

func (f *fake) down() {
	if err := f.server.Close(); err != nil {
		f.t.Error(err)
	}
	f.served.Wait()
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	h := f.handler
	f.mu.Unlock()
	h(w, r)
}

func (f *fake) serve(h http.HandlerFunc) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.handler = h
}

func page(s string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(s)) }
}

// client connects through the virtual network.
func (f *fake) client() *http.Client {
	c := NewClient()
	c.Transport.(*http.Transport).DialContext = f.net.DialContext
	return c
}

// run scrapes in a bubble of virtual time. script gets the newest sample after each step.
func run(t *testing.T, script func(f *fake, last func() Sample), logs *bytes.Buffer) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		defer f.down()
		client := f.client()
		defer client.CloseIdleConnections()
		s := Scraper{
			Client: client, Interval: 250 * time.Millisecond, Jitter: func() float64 { return 0.5 },
			Log: slog.New(slog.NewTextHandler(logs, nil)),
		}
		ctx, cancel := context.WithCancel(t.Context())
		var mu sync.Mutex
		var newest Sample
		var done sync.WaitGroup
		done.Go(func() {
			s.Run(ctx, testEndpoint, func(x Sample) {
				mu.Lock()
				defer mu.Unlock()
				newest = x
			})
		})
		script(f, func() Sample {
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			return newest
		})
		stopping := time.Now()
		cancel()
		done.Wait()
		if took := time.Since(stopping); took != 0 {
			t.Errorf("Run returned %v after its context ended", took)
		}
	})
}

func TestRunKeepsOneConnection(t *testing.T) {
	run(t, func(f *fake, last func() Sample) {
		f.serve(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/metrics" || r.Header.Get("Accept-Encoding") != "" {
				t.Errorf("request %s with %v", r.URL, r.Header)
			}
			page(goodPage)(w, r)
		})
		start := time.Now()
		time.Sleep(124 * time.Millisecond)
		if got := last(); got.Seq != 0 {
			t.Errorf("scraped %d times before the jitter was over", got.Seq)
		}
		time.Sleep(time.Minute + time.Millisecond)
		got := last()
		want := Sample{Metrics: Metrics{Waiting: 3, Running: 4, KVUsage: 0.5}, At: start.Add(60*time.Second + 125*time.Millisecond), Seq: 241}
		if d := cmp.Diff(want, got); d != "" {
			t.Error(d)
		}
		if f.conns != 1 {
			t.Errorf("%d connections, want 1", f.conns)
		}
	}, &bytes.Buffer{})
}

func TestRunKeepsOldValuesOnFailure(t *testing.T) {
	huge := strings.Repeat("# "+strings.Repeat("x", 1022), MaxPage/1024+1)
	tests := []struct {
		name  string
		serve http.HandlerFunc // nil stops the server
		want  Failure
	}{
		{"refused", nil, FailureConnect},
		{"reset in the headers", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, FailureConnect},
		{"reset in the page", func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(goodPage))
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}, FailureConnect},
		{"hangs", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, FailureTimeout},
		{"hangs in the page", func(w http.ResponseWriter, r *http.Request) {
			_, _ = w.Write([]byte(goodPage))
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}, FailureTimeout},
		{"drips", func(w http.ResponseWriter, _ *http.Request) {
			for range 30 {
				_, _ = w.Write([]byte("# slow\n"))
				_ = http.NewResponseController(w).Flush()
				time.Sleep(100 * time.Millisecond)
			}
		}, FailureTimeout},
		{"500", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, goodPage, http.StatusInternalServerError) }, FailureStatus},
		{"redirect", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/other", http.StatusFound) }, FailureStatus},
		{"huge", page(huge), FailureSize},
		{"broken", page("vllm:num_requests_waiting{\n"), FailureContent},
		{"without the metrics", page("up 1\n"), FailureContent},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var logs bytes.Buffer
			run(t, func(f *fake, last func() Sample) {
				f.serve(page(goodPage))
				time.Sleep(200 * time.Millisecond)
				before := last()
				if before.Seq != 1 || before.Failure != "" {
					t.Fatalf("before the failure: %+v", before)
				}
				if tt.serve == nil {
					f.down()
				} else {
					f.serve(tt.serve)
				}
				time.Sleep(10 * time.Second)
				got := last()
				if got.Failure != tt.want || got.Failures < 7 {
					t.Errorf("failure = %q, counted %d times; want %q about ten or forty times", got.Failure, got.Failures, tt.want)
				}
				if got.Metrics != before.Metrics || !got.At.Equal(before.At) || got.Seq != before.Seq {
					t.Errorf("values changed from %+v to %+v", before, got)
				}
				if tt.serve == nil {
					f.up()
				}
				f.serve(page(goodPage))
				time.Sleep(10 * time.Second)
				if got := last(); got.Failure != "" || got.Seq < 30 {
					t.Errorf("after the failure: %+v", got)
				}
			}, &logs)
			if n := strings.Count(logs.String(), "\n"); n != 2 {
				t.Errorf("%d log lines, want one for the failure and one for the recovery:\n%s", n, logs.String())
			}
		})
	}
}

func TestRunStopsAtOnce(t *testing.T) {
	tests := []struct {
		name  string
		after time.Duration
	}{
		{"before the first try", time.Millisecond},
		{"in a try", 500 * time.Millisecond},
		{"between tries", 1200 * time.Millisecond},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			run(t, func(f *fake, _ func() Sample) {
				f.serve(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
				time.Sleep(tt.after)
			}, &bytes.Buffer{})
		})
	}
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
