package publish

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/zerohop/zerohop/shared/names"
	"github.com/zerohop/zerohop/shared/snapshot"
	"github.com/zerohop/zerohop/xds/scrape"
)

const hold = 25 * time.Second

// get answers one request without a network. The virtual clock runs meanwhile.
func get(ctx context.Context, h *Handler, target string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.Routes().ServeHTTP(w, httptest.NewRequest(http.MethodGet, target, nil).WithContext(ctx))
	return w
}

func newHandler() *Handler {
	return &Handler{Store: NewStore(time.Now()), Hold: hold, Ready: func() bool { return true }}
}

func publish(t *testing.T, h *Handler, eps ...Endpoint) uint64 {
	t.Helper()
	if err := h.Store.Publish(eps, time.Now()); err != nil {
		t.Fatal(err)
	}
	v, err := h.Store.Newest()
	if err != nil {
		t.Fatal(err)
	}
	return v.Number
}

// open decodes a response body.
func open(t *testing.T, w *httptest.ResponseRecorder) snapshot.View {
	t.Helper()
	v, err := snapshot.Open(w.Body.Bytes())
	if err != nil {
		t.Fatalf("status %d, body %q: %v", w.Code, w.Body, err)
	}
	return v
}

func TestPollAnswersAtOnceWhenVersionsDiffer(t *testing.T) {
	for _, query := range []string{"", "?v=0", "?v=7", "?v=18446744073709551615"} {
		t.Run("query "+query, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHandler()
				number := publish(t, h)
				begin := time.Now()
				w := get(t.Context(), h, names.PathSnapshot+query)
				if took := time.Since(begin); w.Code != http.StatusOK || took != 0 {
					t.Errorf("status %d after %v", w.Code, took)
				}
				if got := open(t, w).Version(); got != number {
					t.Errorf("version %d, want %d", got, number)
				}
				if got := w.Header().Get("Content-Type"); got != names.ContentTypeSnapshot {
					t.Errorf("content type %q", got)
				}
			})
		})
	}
}

func TestPollWaits(t *testing.T) {
	tests := []struct {
		name   string
		after  time.Duration // until a new version is published; 0 for never
		cancel time.Duration // until the caller goes away; 0 for never
		status int
		took   time.Duration
	}{
		{"new version", 3 * time.Second, 0, http.StatusOK, 3 * time.Second},
		{"none", 0, 0, http.StatusNotModified, hold},
		{"new version too late", hold + time.Second, 0, http.StatusNotModified, hold},
		{"agent stops", 0, time.Second, http.StatusNotModified, time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHandler()
				number := publish(t, h)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				var others sync.WaitGroup
				defer others.Wait()
				if tt.after != 0 {
					others.Go(func() { time.Sleep(tt.after); publish(t, h) })
				}
				if tt.cancel != 0 {
					others.Go(func() { time.Sleep(tt.cancel); cancel() })
				}
				begin := time.Now()
				w := get(ctx, h, names.PathSnapshot+"?v="+strconv.FormatUint(number, 10))
				if took := time.Since(begin); w.Code != tt.status || took != tt.took {
					t.Errorf("status %d after %v, want %d after %v", w.Code, took, tt.status, tt.took)
				}
				if tt.status == http.StatusOK && open(t, w).Version() != number+1 {
					t.Errorf("not the new version")
				}
				if tt.status != http.StatusOK && w.Body.Len() != 0 {
					t.Errorf("body %q", w.Body)
				}
			})
		})
	}
}

func TestPollWaitsAsLongAsPreferred(t *testing.T) {
	tests := []struct {
		name, prefer string
		took         time.Duration
	}{
		{"seconds", "wait=2", 2 * time.Second},
		{"not at all", "wait=0", 0},
		{"among others", "respond-async, Wait = 3", 3 * time.Second},
		{"longer than the agent holds", "wait=1000", hold},
		{"no number", "wait=soon", hold},
		{"too large a number", "wait=99999999999999999999", hold},
		{"something else", "return=minimal", hold},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHandler()
				number := publish(t, h)
				begin := time.Now()
				w := request(h, http.MethodPost, names.PathSnapshot+"?v="+strconv.FormatUint(number, 10), nil, names.HeaderPrefer, tt.prefer)
				if took := time.Since(begin); w.Code != http.StatusNotModified || took != tt.took {
					t.Errorf("status %d after %v, want %v", w.Code, took, tt.took)
				}
			})
		})
	}
}

func TestPollBeforeFirstVersion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHandler()
		if w := get(t.Context(), h, "/snapshot"); w.Code != http.StatusServiceUnavailable {
			t.Errorf("status %d without a version", w.Code)
		}
		go func() { time.Sleep(time.Second); publish(t, h) }()
		begin := time.Now()
		if w := get(t.Context(), h, names.PathSnapshot); w.Code != http.StatusOK || time.Since(begin) != time.Second {
			t.Errorf("status %d after %v", w.Code, time.Since(begin))
		}
	})
}

func TestManyPollersGetEveryNewestVersion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHandler()
		last := publish(t, h) + 100
		var pollers sync.WaitGroup
		for range 20 {
			pollers.Go(func() {
				for seen := uint64(0); seen != last; {
					got := open(t, get(t.Context(), h, names.PathSnapshot+"?v="+strconv.FormatUint(seen, 10))).Version()
					if got <= seen {
						t.Errorf("version %d after %d", got, seen)
						return
					}
					seen = got
				}
			})
		}
		for range 100 {
			time.Sleep(time.Millisecond)
			publish(t, h)
		}
		pollers.Wait()
	})
}

func TestPaceFollowsThePollers(t *testing.T) {
	for pollers, want := range map[int]time.Duration{0: 0, 2: 300 * time.Microsecond, 300: 45 * time.Millisecond, 1000: maxPace} {
		synctest.Test(t, func(t *testing.T) {
			s := newHandler().Store
			ctx, cancel := context.WithCancel(t.Context())
			var running sync.WaitGroup
			for range pollers {
				running.Go(func() {
					for v := s.Wait(ctx, 0); v != nil; {
						v = s.Wait(ctx, v.Number)
					}
				})
			}
			for range 3 {
				synctest.Wait()
				if err := s.Publish(nil, time.Now()); err != nil {
					t.Fatal(err)
				}
				if got := s.Pace(); got != want {
					t.Errorf("%d pollers: pace %v, want %v", pollers, got, want)
				}
			}
			cancel()
			running.Wait()
		})
	}
}

func TestRestartedStoreRepeatsNoVersion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHandler()
		var number uint64
		for range 1000 {
			number = publish(t, h)
		}
		time.Sleep(time.Second)
		if again := publish(t, newHandler()); again <= number {
			t.Errorf("restarted store begins at %d, which is not after %d", again, number)
		}
	})
}

func TestRequestErrors(t *testing.T) {
	tests := []struct {
		name, method, target string
		want                 int
	}{
		{"version is no number", http.MethodGet, names.PathSnapshot + "?v=x", http.StatusBadRequest},
		{"negative version", http.MethodGet, names.PathSnapshot + "?v=-1", http.StatusBadRequest},
		{"version too large", http.MethodGet, names.PathSnapshot + "?v=18446744073709551616", http.StatusBadRequest},
		{"put", http.MethodPut, names.PathSnapshot, http.StatusMethodNotAllowed},
		{"unknown path", http.MethodGet, "/v2", http.StatusNotFound},
		{"healthy", http.MethodGet, "/healthz", http.StatusOK},
	}
	h := newHandler()
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := httptest.NewRecorder()
			h.Routes().ServeHTTP(w, httptest.NewRequest(tt.method, tt.target, nil))
			if w.Code != tt.want {
				t.Errorf("status %d, want %d", w.Code, tt.want)
			}
		})
	}
}

func TestReadyz(t *testing.T) {
	ready := false
	h := newHandler()
	h.Ready = func() bool { return ready }
	if w := get(t.Context(), h, "/readyz"); w.Code != http.StatusServiceUnavailable {
		t.Errorf("status %d before the first round", w.Code)
	}
	ready = true
	if w := get(t.Context(), h, "/readyz"); w.Code != http.StatusOK {
		t.Errorf("status %d after the first round", w.Code)
	}
}

// TestContents checks what readers see of one scraped and one unreachable endpoint.
func TestContents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHandler()
		at := time.Now()
		time.Sleep(150 * time.Millisecond)
		publish(t, h,
			Endpoint{Name: "default/a", Address: "10.0.0.1:80", Sample: scrape.Sample{
				Metrics: scrape.Metrics{Waiting: 1, Running: 2, KVUsage: 0.5, BlockSize: 16, NumBlocks: 100}, At: at, Seq: 7, Failures: 2, Failure: scrape.FailureTimeout,
			}},
			Endpoint{Name: "default/b", Address: "[::1]:80", Draining: true, Sample: scrape.Sample{Failures: 3, Failure: scrape.FailureConnect}},
		)
		v := open(t, get(t.Context(), h, names.PathSnapshot))
		got := map[string]snapshot.Endpoint{}
		for i := range v.Len() {
			var e snapshot.Endpoint
			v.Endpoint(i, &e)
			got[string(e.Name)] = e
		}
		name := func(n, a string) (uint64, []byte, []byte) {
			return snapshot.EndpointID([]byte(n), []byte(a)), []byte(n), []byte(a)
		}
		a := snapshot.Endpoint{ScrapeAgeMs: 150, ScrapeSeq: 7, Waiting: 1, Running: 2, KVUsage: 0.5, BlockSize: 16, NumBlocks: 100}
		a.ID, a.Name, a.Address = name("default/a", "10.0.0.1:80")
		b := snapshot.Endpoint{ScrapeAgeMs: snapshot.NeverScraped, Flags: snapshot.Draining}
		b.ID, b.Name, b.Address = name("default/b", "[::1]:80")
		if d := cmp.Diff(map[string]snapshot.Endpoint{"default/a": a, "default/b": b}, got); d != "" {
			t.Error(d)
		}

		time.Sleep(50 * time.Millisecond)
		w := get(t.Context(), h, "/snapshot")
		var page map[string]any
		if err := json.Unmarshal(w.Body.Bytes(), &page); err != nil {
			t.Fatal(err)
		}
		want := []any{
			map[string]any{
				"name": "default/a", "address": "10.0.0.1:80", "draining": false, "reported": nil, "ageMs": 200.0, "scrapes": 7.0, "failures": 2.0, "failure": "timeout",
				"waiting": 1.0, "running": 2.0, "kvUsage": 0.5, "blockSize": 16.0, "numBlocks": 100.0,
			},
			map[string]any{
				"name": "default/b", "address": "[::1]:80", "draining": true, "reported": nil, "ageMs": nil, "scrapes": 0.0, "failures": 3.0, "failure": "connect",
				"waiting": 0.0, "running": 0.0, "kvUsage": 0.0, "blockSize": 0.0, "numBlocks": 0.0,
			},
		}
		if d := cmp.Diff(want, page["endpoints"]); d != "" {
			t.Error(d)
		}
		if page["ageMs"] != 50.0 {
			t.Errorf("age of the snapshot is %v ms", page["ageMs"])
		}
	})
}

func TestFailedPublishKeepsTheVersionBefore(t *testing.T) {
	h := newHandler()
	number := publish(t, h, Endpoint{Name: "default/a", Address: "10.0.0.1:80"})
	err := h.Store.Publish([]Endpoint{{Name: "default/a", Address: "nowhere"}}, time.Now())
	if err == nil || !strings.HasPrefix(err.Error(), "encode snapshot: ") {
		t.Errorf("error = %v", err)
	}
	if v, err := h.Store.Newest(); err != nil || v.Number != number {
		t.Errorf("newest is %+v, %v", v, err)
	}
}

func TestAgeIsBounded(t *testing.T) {
	now := time.Unix(1e9, 0)
	tests := []struct {
		name string
		at   time.Time
		want uint32
	}{
		{"never", time.Time{}, snapshot.NeverScraped},
		{"clock went back", now.Add(time.Second), 0},
		{"now", now, 0},
		{"long ago", now.Add(-100 * 24 * time.Hour), snapshot.NeverScraped - 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := NewStore(now).ageMs(&scrape.Sample{At: tt.at}, now); got != tt.want {
				t.Errorf("age = %d, want %d", got, tt.want)
			}
		})
	}
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
