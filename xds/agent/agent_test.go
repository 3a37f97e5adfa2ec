package agent

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/zerohop/zerohop/scorers/registry"
	"github.com/zerohop/zerohop/shared/names"
	"github.com/zerohop/zerohop/shared/snapshot"
	"github.com/zerohop/zerohop/xds/access"
	"github.com/zerohop/zerohop/xds/config"
	"github.com/zerohop/zerohop/xds/discovery"
	"github.com/zerohop/zerohop/xds/memnet"
)

const (
	agentAddress = "127.0.0.1:18001"
	xdsAddress   = "127.0.0.1:18000"
)

// world is an agent and its endpoints on a virtual network and clock.
type world struct {
	t       *testing.T
	net     memnet.Network
	client  *http.Client // of Envoy's
	waiting atomic.Int64 // what the endpoints report
}

func newWorld(t *testing.T) *world {
	w := &world{t: t}
	w.client = &http.Client{Transport: &http.Transport{DialContext: w.net.DialContext}}
	return w
}

// start runs an agent with n endpoints, of which the last does not exist, and returns a function that stops it.
func start(t *testing.T, n int) (w *world, stop func()) {
	w = newWorld(t)
	var running sync.WaitGroup
	var servers []*http.Server
	eps := make([]discovery.Endpoint, n)
	for i := range eps {
		eps[i] = discovery.Endpoint{Namespace: "default", Name: "e" + strconv.Itoa(i), Address: netip.AddrPortFrom(netip.MustParseAddr("10.0.0.1"), uint16(8000+i))}
		if i == n-1 {
			break
		}
		s := &http.Server{Handler: http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
			_, _ = fmt.Fprintf(rw, "vllm:num_requests_waiting %d\n", w.waiting.Load())
		})}
		servers = append(servers, s)
		l := w.net.Listen(eps[i].Address.String())
		running.Go(func() { _ = s.Serve(l) })
	}
	ctx, cancel := context.WithCancel(t.Context())
	running.Go(func() {
		if err := Run(ctx, w.options(discovery.Static(eps))); err != nil {
			t.Error(err)
		}
	})
	synctest.Wait()
	return w, func() {
		begin := time.Now()
		cancel()
		w.client.CloseIdleConnections()
		for _, s := range servers {
			_ = s.Close()
		}
		running.Wait()
		if took := time.Since(begin); took > time.Second {
			t.Errorf("the agent took %v to stop", took)
		}
	}
}

// options returns those of an agent with the default configuration.
func (w *world) options(sources ...discovery.Source) Options {
	c, err := config.Load(nil, registry.Specs())
	if err != nil {
		w.t.Fatal(err)
	}
	everybody, err := access.New(access.Options{}, slog.New(slog.DiscardHandler))
	if err != nil {
		w.t.Fatal(err)
	}
	return Options{
		HTTP: w.net.Listen(agentAddress), XDS: w.net.Listen(xdsAddress), Access: everybody, Config: c, Sources: sources, Hold: 25 * time.Second,
		DialContext: w.net.DialContext, Jitter: func() float64 { return 0.5 }, Log: slog.New(slog.DiscardHandler),
	}
}

// get returns status and body of an agent's page.
func (w *world) get(target string) (int, []byte) {
	resp, err := w.client.Get("http://" + agentAddress + target)
	if err != nil {
		w.t.Error(err)
		return 0, nil
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		w.t.Error(err)
	}
	return resp.StatusCode, body
}

// poll returns the next snapshot.
func (w *world) poll(seen uint64) snapshot.View {
	w.t.Helper()
	status, body := w.get(names.PathSnapshot + "?v=" + strconv.FormatUint(seen, 10))
	v, err := snapshot.Open(body)
	if err != nil {
		w.t.Fatalf("status %d: %v", status, err)
	}
	return v
}

func TestUnreachableEndpointIsPublished(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, stop := start(t, 3)
		defer stop()
		if status, _ := w.get("/readyz"); status != http.StatusServiceUnavailable {
			t.Errorf("ready before the first round: status %d", status)
		}
		first := w.poll(0)
		if first.Len() != 3 {
			t.Fatalf("the first snapshot has %d endpoints, want 3", first.Len())
		}
		if status, _ := w.get("/readyz"); status != http.StatusOK {
			t.Errorf("not ready after the first round: status %d", status)
		}
		var e snapshot.Endpoint
		for i := range first.Len() {
			first.Endpoint(i, &e)
			if never := e.ScrapeAgeMs == snapshot.NeverScraped; never != (string(e.Name) == "default/e2") {
				t.Errorf("%s: never scraped is %t", e.Name, never)
			}
		}
	})
}

// TestNewNumbersArriveWithinAnInterval changes the load for ten minutes and checks how old the news is.
func TestNewNumbersArriveWithinAnInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, stop := start(t, 3)
		defer stop()
		v := w.poll(0)
		polls := 0
		for begin := time.Now(); time.Since(begin) < 10*time.Minute; polls++ {
			sent := w.waiting.Add(1)
			changed := time.Now()
			v = w.poll(v.Version())
			var e snapshot.Endpoint
			for i := range v.Len() {
				if v.Endpoint(i, &e); e.ScrapeAgeMs != snapshot.NeverScraped && int64(e.Waiting) != sent {
					t.Fatalf("%s has %d waiting, want %d", e.Name, e.Waiting, sent)
				}
			}
			if late := time.Since(changed); late > 250*time.Millisecond+coalesce {
				t.Fatalf("news took %v", late)
			}
		}
		// The interval less the scraper's slack for jitter.
		if want := int(10 * time.Minute / (250 * time.Millisecond * 39 / 40)); polls < want-2 || polls > want+2 {
			t.Errorf("%d versions in ten minutes, want %d: results of one round belong together", polls, want)
		}
	})
}

func TestStopEndsLongPolls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, stop := start(t, 1)
		v := w.poll(0)
		v = w.poll(v.Version())
		var polls sync.WaitGroup
		for range 3 {
			polls.Go(func() {
				if status, _ := w.get(names.PathSnapshot + "?v=" + strconv.FormatUint(v.Version(), 10)); status != http.StatusNotModified {
					t.Errorf("status %d", status)
				}
			})
		}
		synctest.Wait()
		stop()
		polls.Wait()
	})
}

func TestNoEndpoints(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.client.CloseIdleConnections()
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() {
			if err := Run(ctx, w.options()); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		if status, _ := w.get("/readyz"); status != http.StatusOK {
			t.Errorf("status %d", status)
		}
		if n := w.poll(0).Len(); n != 0 {
			t.Errorf("%d endpoints", n)
		}
		cancel()
		running.Wait()
	})
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
