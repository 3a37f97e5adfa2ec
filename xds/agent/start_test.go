package agent

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zerohop/zerohop/shared/snapshot"
	"github.com/zerohop/zerohop/xds/access"
	"github.com/zerohop/zerohop/xds/discovery"
	"github.com/zerohop/zerohop/xds/publish"
	"github.com/zerohop/zerohop/xds/scrape"
)

// begin runs an agent until do returns.
func begin(t *testing.T, w *world, o Options, do func()) {
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if err := Run(ctx, o); err != nil {
			t.Error(err)
		}
	})
	synctest.Wait()
	do()
	cancel()
	w.client.CloseIdleConnections()
	running.Wait()
}

// TestFirstVersionIsComplete checks that an agent that starts says nothing to the filters before it has numbers: they may
// have better ones of the agent before.
func TestFirstVersionIsComplete(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, stop := start(t, 4)
		defer stop()
		var e snapshot.Endpoint
		v := w.poll(0)
		for i := range v.Len() {
			if v.Endpoint(i, &e); e.ScrapeAgeMs == snapshot.NeverScraped && string(e.Name) != "default/e3" {
				t.Errorf("%s has no numbers", e.Name)
			}
		}
	})
}

// TestFirstVersionWaitsNotForEver has an endpoint that lets nobody in.
func TestFirstVersionWaitsNotForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		hangs := netip.MustParseAddrPort("10.0.0.1:80")
		defer w.net.Listen(hangs.String()).Close()
		o := w.options(discovery.Static([]discovery.Endpoint{{Namespace: "n", Name: "a", Address: hangs}}))
		o.Config.Zerohop.Scrape.Timeout = time.Minute
		begin(t, w, o, func() {
			began := time.Now()
			if n := w.poll(0).Len(); n != 1 {
				t.Errorf("%d endpoints", n)
			}
			if took := time.Since(began); took < firstPatience || took > firstPatience+drainCheck {
				t.Errorf("the first version took %v, want %v", took, firstPatience)
			}
			if status, _ := w.get("/readyz"); status != http.StatusServiceUnavailable {
				t.Errorf("status %d: the first round is not complete", status)
			}
		})
	})
}

// TestConnectionsOfAllListenersAreCapped has one connection too many, for xDS.
func TestConnectionsOfAllListenersAreCapped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		o := w.options()
		policy, err := access.New(access.Options{MaxConnections: 1}, o.Log)
		if err != nil {
			t.Fatal(err)
		}
		o.Access = policy
		begin(t, w, o, func() {
			if status, _ := w.get("/healthz"); status != http.StatusOK {
				t.Errorf("status %d", status)
			}
			conn, err := w.net.DialContext(t.Context(), "tcp", xdsAddress)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if n, err := conn.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
				t.Errorf("read %d, %v from the control plane, want the end", n, err)
			}
			if s := policy.Stats(); s.Open != 1 || s.Refused != 1 {
				t.Errorf("%+v", s)
			}
		})
	})
}

// TestEditForEnvoysWithoutAgent checks that an agent does not take what it would not start with.
func TestEditForEnvoysWithoutAgent(t *testing.T) {
	startLive(t, func(l *live) {
		l.set("a@10.0.0.1")
		first := l.status()
		if s := l.edit(header + "agent: {enabled: false}\n"); s.Config.OK || s.Revision != first.Revision || !strings.Contains(s.Config.Error, "agent.enabled") {
			t.Errorf("after the edit: %+v", s)
		}
	})
}

// idle is a scraper that tries nothing.
type idle struct{}

func (idle) Run(ctx context.Context, _ discovery.Endpoint, _ func(scrape.Sample)) { <-ctx.Done() }

// counting is a scraper that notes how many endpoints there were when each of its runs began.
type counting struct {
	f           *fleet
	runs, least atomic.Int64
}

func (c *counting) Run(ctx context.Context, _ discovery.Endpoint, _ func(scrape.Sample)) {
	c.runs.Add(1)
	if known := c.f.count.Load(); known < c.least.Load() {
		c.least.Store(known)
	}
	<-ctx.Done()
}

// TestPhasesKnowTheFleet checks that no scraping of the first list begins before the number of endpoints is known: all would
// begin together, and stay together.
func TestPhasesKnowTheFleet(t *testing.T) {
	const n = 100
	synctest.Test(t, func(t *testing.T) {
		var list []discovery.Endpoint
		for i := range n {
			list = append(list, discovery.Endpoint{
				Namespace: "n", Name: strconv.Itoa(i), Address: netip.AddrPortFrom(netip.MustParseAddr("10.0.0.1"), uint16(8000+i)),
			})
		}
		store := publish.NewStore(time.Now())
		f := newFleet(settings{drain: time.Minute}, store, publish.NewFleet(store), func() {}, slog.New(slog.DiscardHandler))
		c := &counting{f: f}
		c.least.Store(n)
		f.set.scraper = c
		ctx, cancel := context.WithCancel(t.Context())
		f.take(ctx, list)
		synctest.Wait()
		cancel()
		f.running.Wait()
		if runs, got := c.runs.Load(), c.least.Load(); runs != n || got != n {
			t.Errorf("%d of %d scrapings began, one when %d endpoints were known", runs, n, got)
		}
	})
}

// TestOtherEngine checks that an endpoint whose labels name another engine is scraped anew, and one whose other labels change
// is not.
func TestOtherEngine(t *testing.T) {
	store := publish.NewStore(time.Now())
	f := newFleet(settings{scraper: idle{}, drain: time.Minute}, store, publish.NewFleet(store), func() {}, slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithCancel(t.Context())
	take := func(labels map[string]string) uint64 {
		e := discovery.Endpoint{Namespace: "n", Name: "a", Address: netip.MustParseAddrPort("10.0.0.1:80"), Labels: labels}
		f.take(ctx, []discovery.Endpoint{e})
		return f.members[keyOf(&e)].scraping.run
	}
	first := take(nil)
	if run := take(map[string]string{"zone": "a"}); run != first {
		t.Error("another zone begins the scraping anew")
	}
	if run := take(map[string]string{"zone": "a", scrape.LabelEngine: "sglang"}); run == first {
		t.Error("the scraping goes on as for the engine before")
	}
	cancel()
	f.running.Wait()
}

// TestLateResultIsDropped has an endpoint leave and come back while a result of its first scraping is on its way.
func TestLateResultIsDropped(t *testing.T) {
	store := publish.NewStore(time.Now())
	f := newFleet(settings{scraper: idle{}, drain: time.Minute}, store, publish.NewFleet(store), func() {}, slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithCancel(t.Context())
	list := []discovery.Endpoint{{Namespace: "n", Name: "a", Address: netip.MustParseAddrPort("10.0.0.1:80")}}
	k := keyOf(&list[0])
	f.take(ctx, list)
	first := f.members[k].scraping.run
	f.learn(result{k, first, scrape.Sample{Seq: 7, At: time.Now()}})
	f.take(ctx, nil)
	f.take(ctx, list)
	if f.learn(result{k, first, scrape.Sample{Seq: 8, At: time.Now()}}) {
		t.Error("a result of the first scraping counts for the second")
	}
	f.learn(result{k, f.members[k].scraping.run, scrape.Sample{Seq: 1, At: time.Now()}})
	if seq := f.members[k].sample.Seq; seq != 8 {
		t.Errorf("%d scrapes, want 8", seq)
	}
	cancel()
	f.running.Wait()
}
