package reports

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zerohop/zerohop/e2e/traffic"
	"github.com/zerohop/zerohop/filter"
	"github.com/zerohop/zerohop/shared/names"
	"github.com/zerohop/zerohop/shared/report"
	"github.com/zerohop/zerohop/shared/snapshot"
)

// agent plays the agent: it answers polls with a snapshot or a delta and keeps what the newest report of each worker said.
type agent struct {
	mu        sync.Mutex
	endpoints []snapshot.Endpoint
	version   uint64
	blob      []byte // of that version
	base      []byte // of the version before
	deltas    int    // sent
	news      chan struct{}
	node      string
	reports   int
	processes map[uint64]bool
	newest    map[uint64]said      // by epoch
	leads     map[uint64]time.Time // by epoch: when a record was written that first said so
	problems  []string
}

// said is what one worker said.
type said struct {
	report.Worker
	at        time.Time // when it was written
	endpoints map[uint64]report.Endpoint
	fallbacks map[string]uint64
}

// fillers are endpoints that drain, so that nothing is sent to them: a delta pays from some fifty endpoints on.
const fillers = 80

// holdFor is how long a poll without news waits.
const holdFor = 300 * time.Millisecond

// serveAgent starts an agent at an address until the test ends.
func serveAgent(t *testing.T, addr string, eps []snapshot.Endpoint) *agent {
	t.Helper()
	for i := range fillers {
		name, address := fmt.Appendf(nil, "default/filler-%d", i), fmt.Appendf(nil, "127.0.0.1:%d", i+1)
		eps = append(eps, snapshot.Endpoint{
			ID: snapshot.EndpointID(name, address), Name: name, Address: address, Flags: snapshot.Draining, ScrapeAgeMs: snapshot.NeverScraped,
		})
	}
	a := &agent{endpoints: eps, version: 6, news: make(chan struct{}), processes: map[uint64]bool{}, newest: map[uint64]said{}, leads: map[uint64]time.Time{}}
	a.publish(t)
	l, err := net.Listen("tcp4", addr)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: a, ReadHeaderTimeout: time.Second}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(l)
	}()
	t.Cleanup(func() {
		server.Close()
		<-done
	})
	return a
}

// ServeHTTP implements http.Handler.
func (a *agent) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // Envoy ended
	}
	a.take(r, body)
	have := r.URL.Query().Get("v")
	a.mu.Lock()
	current, news := have == fmt.Sprint(a.version), a.news
	a.mu.Unlock()
	if current {
		select {
		case <-r.Context().Done():
		case <-time.After(holdFor):
			w.WriteHeader(http.StatusNotModified)
			return
		case <-news:
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if delta, ok := snapshot.AppendDelta(nil, a.base, a.blob); ok && have == fmt.Sprint(a.version-1) {
		a.deltas++
		w.Header().Set("Content-Type", names.ContentTypeDelta)
		_, _ = w.Write(delta)
		return
	}
	w.Header().Set("Content-Type", names.ContentTypeSnapshot)
	_, _ = w.Write(a.blob)
}

// publish makes the next version, in which a filler's metrics change.
func (a *agent) publish(t *testing.T) (version uint64) {
	t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.version++
	a.endpoints[len(a.endpoints)-1].Waiting++
	blob, err := snapshot.Append(nil, a.version, a.endpoints)
	if err != nil {
		t.Fatal(err)
	}
	a.base, a.blob = a.blob, blob
	close(a.news)
	a.news = make(chan struct{})
	return a.version
}

// take checks a poll and keeps its report.
func (a *agent) take(r *http.Request, body []byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for name, want := range map[string]string{
		"Accept":           names.ContentTypeSnapshot + ", " + names.ContentTypeDelta,
		"Content-Type":     names.ContentTypeReport,
		names.HeaderModule: filter.Module,
		names.HeaderPrefer: filter.Prefer,
	} {
		if got := r.Header.Get(name); got != want {
			a.problems = append(a.problems, fmt.Sprintf("header %s is %q, want %q", name, got, want))
		}
	}
	if r.Method != http.MethodPost || r.URL.Path != names.PathSnapshot {
		a.problems = append(a.problems, r.Method+" "+r.URL.Path)
	}
	a.node = r.Header.Get(names.HeaderNode)
	if len(body) == 0 {
		return
	}
	v, err := report.Open(body)
	if err != nil {
		a.problems = append(a.problems, err.Error())
		return
	}
	a.reports++
	a.processes[v.Process()] = true
	for it := v.Records(); it.Next(); {
		one := said{at: time.Now().Add(-time.Duration(it.AgeMs) * time.Millisecond), endpoints: map[uint64]report.Endpoint{}, fallbacks: map[string]uint64{}}
		it.Record.Worker(&one.Worker)
		for i := range it.Record.Len() {
			var e report.Endpoint
			it.Record.Endpoint(i, &e)
			one.endpoints[e.ID] = e
		}
		for _, f := range v.Fallbacks(nil, it.Record) {
			one.fallbacks[f.Name] = f.Count
		}
		a.newest[one.Epoch] = one
		if _, known := a.leads[one.Epoch]; !known && one.Flags&report.Leading != 0 {
			a.leads[one.Epoch] = one.at
		}
	}
}

// sums are what all workers said since since, added up.
type sums struct {
	workers, leaders int
	oldest           uint64 // lowest snapshot version of a worker
	retries          uint64
	all              report.Endpoint            // of all endpoints
	by               map[uint64]report.Endpoint // by endpoint
	fallbacks        map[string]uint64
	picks            map[uint64]uint64 // by epoch
}

// sum adds up what was said of workers whose records were written after a time, or fails if that is less than want workers.
func (a *agent) sum(after time.Time, want int) (s sums, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.problems) > 0 {
		return s, fmt.Errorf("polls: %s", strings.Join(a.problems, "; "))
	}
	s.by, s.fallbacks, s.picks = map[uint64]report.Endpoint{}, map[string]uint64{}, map[uint64]uint64{}
	for _, one := range a.newest {
		if !one.at.After(after) {
			continue
		}
		s.workers++
		if s.workers == 1 || one.Snapshot < s.oldest {
			s.oldest = one.Snapshot
		}
		s.retries += one.Retries
		s.picks[one.Epoch] = one.Picks
		if one.Flags&report.Leading != 0 {
			s.leaders++
		}
		for id, e := range one.endpoints {
			s.all = added(s.all, e)
			s.by[id] = added(s.by[id], e)
		}
		for name, n := range one.fallbacks {
			s.fallbacks[name] += n
		}
	}
	if s.workers != want {
		return s, fmt.Errorf("%d workers have reported since, want %d", s.workers, want)
	}
	return s, nil
}

func added(a, b report.Endpoint) report.Endpoint {
	return report.Endpoint{
		ID: b.ID, InFlight: a.InFlight + b.InFlight, InFlightTokens: a.InFlightTokens + b.InFlightTokens, Picks: a.Picks + b.Picks,
		Fallbacks: a.Fallbacks + b.Fallbacks, Failures: a.Failures + b.Failures, Flags: a.Flags | b.Flags,
	}
}

// wait waits for reports of want workers, written from now on, that ok accepts.
func (a *agent) wait(t *testing.T, what string, want int, ok func(s sums) error) {
	t.Helper()
	start := time.Now()
	traffic.Until(t, what, func() error {
		s, err := a.sum(start, want)
		if err != nil {
			return err
		}
		return ok(s)
	})
}
