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

// newest keeps the last sample of a Run.
type newest struct {
	mu     sync.Mutex
	sample Sample
}

func (n *newest) report(s Sample) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.sample = s
}

// get returns it when everything has come to rest.
func (n *newest) get() Sample {
	synctest.Wait()
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.sample
}

// scrapeWhile runs script in a bubble of virtual time, beside a scraper without jitter: its period is 243.75 ms. It checks
// that Run returns at once when its context ends.
func scrapeWhile(t *testing.T, o Options, script func(last func() Sample)) {
	t.Helper()
	o.Jitter = func() float64 { return 0 }
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	s.clock.random = func(int64) float64 { return 0 }
	ctx, cancel := context.WithCancel(t.Context())
	var n newest
	var done sync.WaitGroup
	done.Go(func() { s.Run(ctx, testEndpoint, n.report) })
	script(n.get)
	stopping := time.Now()
	cancel()
	done.Wait()
	if took := time.Since(stopping); took != 0 {
		t.Errorf("Run returned %v after its context ended", took)
	}
}

// run is scrapeWhile with a fake.
func run(t *testing.T, script func(f *fake, last func() Sample), logs *bytes.Buffer) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		defer f.down()
		o := Options{DialContext: f.net.DialContext, Log: slog.New(slog.NewTextHandler(logs, nil))}
		f.serve(page(goodPage))
		scrapeWhile(t, o, func(last func() Sample) { script(f, last) })
	})
}

func TestRunKeepsOneConnection(t *testing.T) {
	run(t, func(f *fake, last func() Sample) {
		f.serve(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.String() != "/metrics" || r.Host != "10.0.0.1:8000" || r.Header.Get("Accept-Encoding") != "identity" ||
				r.Header.Get("Accept") != "text/plain;version=0.0.4" || len(r.Header) != 3 {
				t.Errorf("request %s to %s with %v", r.URL, r.Host, r.Header)
			}
			page(goodPage)(w, r)
		})
		start := time.Now()
		time.Sleep(240*243750*time.Microsecond + time.Millisecond)
		got := last()
		want := Sample{
			Metrics: Metrics{Waiting: 3, Running: 4, KVUsage: 0.5}, At: start.Add(240 * 243750 * time.Microsecond), Seq: 241,
			Bytes: len(goodPage),
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Error(d)
		}
		if f.conns != 1 {
			t.Errorf("%d connections, want 1", f.conns)
		}
	}, &bytes.Buffer{})
}

func TestRunKeepsOldValuesOnFailure(t *testing.T) {
	huge := strings.Repeat("# "+strings.Repeat("x", 1022), DefaultMaxPage/1024+1)
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
		{"204", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }, FailureStatus},
		{"redirect", func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != DefaultPath {
				t.Errorf("the redirect was followed")
			}
			http.Redirect(w, r, "http://10.0.0.1:8000/other", http.StatusFound)
		}, FailureStatus},
		{"huge", page(huge), FailureSize},
		{"broken", page("vllm:num_requests_waiting{\n"), FailureContent},
		{"without the metrics", page("up 1\n"), FailureContent},
		{"compressed", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write([]byte(goodPage))
		}, FailureContent},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var logs bytes.Buffer
			run(t, func(f *fake, last func() Sample) {
				time.Sleep(6 * time.Second)
				before := last()
				if before.Seq != 25 || before.Failure != "" {
					t.Fatalf("before the failure: %+v", before)
				}
				if tt.serve == nil {
					f.down()
				} else {
					f.serve(tt.serve)
				}
				time.Sleep(20 * time.Second)
				got := last()
				// Backed off: after .25, .5, 1, 2, 4, 5, 5 s, or more after a timeout of a second each.
				if got.Failure != tt.want || got.Failures < 6 || got.Failures > 9 || got.FailuresBy.Of(tt.want) != got.Failures {
					t.Errorf("failure = %q, counted %d times, %v; want %q", got.Failure, got.Failures, got.FailuresBy, tt.want)
				}
				if got.Metrics != before.Metrics || !got.At.Equal(before.At) || got.Seq != before.Seq {
					t.Errorf("values changed from %+v to %+v", before, got)
				}
				if tt.serve == nil {
					f.up()
				}
				f.serve(page(goodPage))
				time.Sleep(DefaultMaxBackOff + DefaultTimeout)
				recovered := last()
				if recovered.Failure != "" || recovered.Failures > got.Failures+1 {
					t.Errorf("not recovered: %+v", recovered)
				}
				time.Sleep(10 * DefaultInterval)
				if got := last(); got.Seq < recovered.Seq+10 {
					t.Errorf("%d tries in the ten intervals after recovery", got.Seq-recovered.Seq)
				}
			}, &logs)
			if n := strings.Count(logs.String(), "\n"); n != 2 {
				t.Errorf("%d log lines, want one for the failure and one for the recovery:\n%s", n, logs.String())
			}
		})
	}
}

// TestRunRetriesAtOnceAfterOneFailure has every second try fail: none is delayed, and the log stays short.
func TestRunRetriesAtOnceAfterOneFailure(t *testing.T) {
	var logs bytes.Buffer
	run(t, func(f *fake, last func() Sample) {
		tries := 0
		f.serve(func(w http.ResponseWriter, r *http.Request) {
			if tries++; tries%2 == 0 {
				w.WriteHeader(http.StatusServiceUnavailable)
				return
			}
			page(goodPage)(w, r)
		})
		time.Sleep(time.Minute)
		if got := last(); got.Seq != 124 || got.Failures != 123 {
			t.Errorf("%d tries succeeded and %d failed, want 124 and 123", got.Seq, got.Failures)
		}
	}, &logs)
	if n := strings.Count(logs.String(), "\n"); n < 2 || n > 13 {
		t.Errorf("%d log lines in a minute:\n%s", n, logs.String())
	}
}

// TestRunSlowServer has a server take longer than the interval for a page: tries do not pile up.
func TestRunSlowServer(t *testing.T) {
	run(t, func(f *fake, last func() Sample) {
		f.serve(func(w http.ResponseWriter, r *http.Request) {
			select {
			case <-time.After(400 * time.Millisecond):
				page(goodPage)(w, r)
			case <-r.Context().Done():
			}
		})
		time.Sleep(time.Minute)
		got := last()
		if got.Seq < 120 || got.Failures != 0 || got.Duration != 400*time.Millisecond {
			t.Errorf("%+v; want a page every second period", got)
		}
		if f.conns != 1 {
			t.Errorf("%d connections, want 1", f.conns)
		}
	}, &bytes.Buffer{})
}

func TestRunStopsAtOnce(t *testing.T) {
	tests := []struct {
		name  string
		after time.Duration
	}{
		{"in the first try", time.Millisecond},
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
	t.Run("before the first try", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, err := New(Options{Jitter: func() float64 { return 0.9 }})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			defer cancel()
			s.Run(ctx, testEndpoint, func(Sample) { t.Error("a try") })
		})
	})
	t.Run("while dialling", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			o := Options{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
				<-ctx.Done()
				return nil, ctx.Err()
			}}
			scrapeWhile(t, o, func(last func() Sample) {
				time.Sleep(1100 * time.Millisecond)
				if got := last(); got.Failure != FailureTimeout {
					t.Errorf("failure %q", got.Failure)
				}
			})
		})
	})
}

func TestNewRefuses(t *testing.T) {
	missing := t.TempDir() + "/missing"
	tests := []struct {
		name    string
		options Options
		want    string
	}{
		{"interval", Options{Interval: -1}, "interval: -1 is negative"},
		{"size", Options{MaxPage: -5}, "maxPageBytes: -5 is negative"},
		{"path", Options{Path: "metrics"}, `path: "metrics" is no path; write one such as "/metrics"`},
		{"path with a line end", Options{Path: "/a\r\nx: y"}, "path: "},
		{"path with a blank", Options{Path: "/a b"}, "path: "},
		{"address for a path", Options{Path: "http://other/metrics"}, "path: "},
		{"scheme", Options{Scheme: "ftp"}, `scheme: "ftp" is neither "http" nor "https"`},
		{"engine", Options{Engine: "llama.cpp"}, `engine: "llama.cpp" is unknown; known are sglang, triton, triton-tensorrt-llm, trtllm-serve, vllm`},
		{"half a certificate", Options{Scheme: "https", TLS: TLS{CertFile: missing}}, "tls: certFile and keyFile go together"},
		{"missing CA", Options{Scheme: "https", TLS: TLS{CAFile: missing}}, "tls.caFile: open "},
		{"no CA", Options{Scheme: "https", TLS: TLS{CAFile: "scrape_test.go"}}, "scrape_test.go: has no certificate in PEM form"},
		{"no certificate", Options{Scheme: "https", TLS: TLS{CertFile: "scrape.go", KeyFile: "scrape.go"}}, "tls.certFile and tls.keyFile: "},
		{"missing token", Options{BearerTokenFile: missing}, "bearerTokenFile: open "},
		{"no token", Options{BearerTokenFile: "scrape_test.go"}, "bearerTokenFile: scrape_test.go: must hold one token and nothing else"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := New(tt.options); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error = %v, want one with %q", err, tt.want)
			}
		})
	}
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
