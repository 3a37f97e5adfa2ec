package publish

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/zerohop/zerohop/shared/names"
	"github.com/zerohop/zerohop/shared/report"
	"github.com/zerohop/zerohop/shared/snapshot"
	"github.com/zerohop/zerohop/xds/memnet"
	"github.com/zerohop/zerohop/xds/scrape"
)

const acceptBoth = names.ContentTypeSnapshot + ", " + names.ContentTypeDelta

// request answers one request without a network.
func request(h *Handler, method, target string, body []byte, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, bytes.NewReader(body))
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.Routes().ServeHTTP(w, r)
	return w
}

// scraped returns n endpoints, of which those from on were scraped just now and the others long before.
func scraped(n, from int, seq uint32) []Endpoint {
	eps := make([]Endpoint, n)
	for i := range eps {
		eps[i] = named(i)
		eps[i].Sample = scrape.Sample{At: time.Unix(1e9, 0), Seq: 1}
		if i >= from {
			eps[i].Sample = scrape.Sample{At: time.Now(), Seq: seq, Metrics: scrape.Metrics{Waiting: seq}}
		}
	}
	return eps
}

func TestPollAnswersWithADelta(t *testing.T) {
	const n = 100
	tests := []struct {
		name   string
		accept string
		seen   func(first, second uint64) uint64
		next   []Endpoint
		kind   string
	}{
		{"from the version before", acceptBoth, func(_, second uint64) uint64 { return second }, scraped(n, 90, 3), names.ContentTypeDelta},
		{"from an older version", acceptBoth, func(first, _ uint64) uint64 { return first }, scraped(n, 90, 3), names.ContentTypeDelta},
		{"without Accept", "", func(_, second uint64) uint64 { return second }, scraped(n, 90, 3), names.ContentTypeSnapshot},
		{"accepts anything", "*/*", func(_, second uint64) uint64 { return second }, scraped(n, 90, 3), names.ContentTypeSnapshot},
		{"from nothing", acceptBoth, func(_, _ uint64) uint64 { return 0 }, scraped(n, 90, 3), names.ContentTypeSnapshot},
		{"from an unknown version", acceptBoth, func(_, second uint64) uint64 { return second + 10 }, scraped(n, 90, 3), names.ContentTypeSnapshot},
		{"other endpoints", acceptBoth, func(_, second uint64) uint64 { return second }, scraped(n-1, 90, 3), names.ContentTypeSnapshot},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := newHandler()
			first := publish(t, h, scraped(n, 0, 1)...)
			blobs := map[uint64][]byte{first: newest(t, h).Blob}
			time.Sleep(time.Millisecond)
			second := publish(t, h, scraped(n, 95, 2)...)
			blobs[second] = newest(t, h).Blob
			publish(t, h, tt.next...)
			seen := tt.seen(first, second)
			w := request(h, http.MethodGet, names.PathSnapshot+"?v="+strconv.FormatUint(seen, 10), nil, "Accept", tt.accept)
			if got := w.Header().Get("Content-Type"); w.Code != http.StatusOK || got != tt.kind {
				t.Fatalf("status %d, content type %q, want %q", w.Code, got, tt.kind)
			}
			got := w.Body.Bytes()
			if tt.kind == names.ContentTypeDelta {
				var err error
				if got, err = snapshot.ApplyDelta(nil, blobs[seen], got); err != nil {
					t.Fatal(err)
				}
			}
			if !bytes.Equal(got, newest(t, h).Blob) {
				t.Error("the answer is not the newest version")
			}
		})
	}
}

func newest(t *testing.T, h *Handler) *Version {
	t.Helper()
	v, err := h.Store.Newest()
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestPastIsBounded(t *testing.T) {
	h := newHandler()
	first := publish(t, h, scraped(100, 0, 1)...)
	for i := range uint32(maxPast) {
		publish(t, h, scraped(100, 99, i)...)
	}
	v := newest(t, h)
	if d := h.Store.Delta(v, first); d == nil {
		t.Errorf("no delta over %d versions", maxPast)
	}
	publish(t, h, scraped(100, 99, 99)...)
	v = newest(t, h)
	if d := h.Store.Delta(v, first); d != nil || len(v.past) != maxPast {
		t.Errorf("%d versions are kept", len(v.past))
	}
	// Large versions are fewer: 32 MB of them would be kept by number.
	big := make([]Endpoint, 100)
	for i := range big {
		big[i] = named(i)
		big[i].Name = "default/" + strings.Repeat("n", 20_000) + strconv.Itoa(i)
	}
	if publish(t, h, big...); len(newest(t, h).past) != 0 {
		t.Error("versions with other endpoints are kept")
	}
	for range maxPast {
		publish(t, h, big...)
	}
	v = newest(t, h)
	if v.past[0].number != v.Number-uint64(len(v.past)) {
		t.Errorf("the oldest version kept is %d before the newest of %d", v.Number-v.past[0].number, len(v.past))
	}
	if n := len(v.past) * len(v.Blob); len(v.past) == 0 || n > maxPastBytes {
		t.Errorf("%d versions of %d bytes are kept", len(v.past), len(v.Blob))
	}
}

// TestAgesGrowAlike publishes and scrapes at odd nanoseconds: what was not scraped in between costs a delta nothing.
func TestAgesGrowAlike(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHandler()
		eps := make([]Endpoint, 100)
		for i := range eps {
			time.Sleep(time.Duration(i*7919) * time.Microsecond / 100)
			eps[i] = named(i)
			eps[i].Sample = scrape.Sample{At: time.Now(), Seq: 1}
		}
		before := publish(t, h, eps...)
		for i := range 50 {
			time.Sleep(10*time.Millisecond + time.Duration(i*104_729))
			after := publish(t, h, eps...)
			d := h.Store.Delta(newest(t, h), before)
			if len(d) != 72 {
				t.Fatalf("delta of %d bytes though nothing was scraped, want the header alone", len(d))
			}
			before = after
		}
	})
}

// TestHoldOutlivesTheBody holds a poll longer than its body may take to arrive.
func TestHoldOutlivesTheBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const address = "127.0.0.1:18001"
		var network memnet.Network
		h := newHandler()
		server := &http.Server{Handler: h.Routes()}
		var running sync.WaitGroup
		l := network.Listen(address)
		running.Go(func() { _ = server.Serve(l) })
		client := &http.Client{Transport: &http.Transport{DialContext: network.DialContext}}
		number := publish(t, h)
		for range 2 { // the second one on the same connection
			begin := time.Now()
			resp, err := client.Post("http://"+address+names.PathSnapshot+"?v="+strconv.FormatUint(number, 10), names.ContentTypeReport, strings.NewReader("x"))
			if err != nil {
				t.Fatal(err)
			}
			_ = resp.Body.Close()
			if took := time.Since(begin); resp.StatusCode != http.StatusNotModified || took != hold {
				t.Errorf("status %s after %v", resp.Status, took)
			}
		}
		client.CloseIdleConnections()
		_ = server.Close()
		running.Wait()
	})
}

// TestHundredsOfEnvoys lets 300 pollers on real connections follow versions. All get each one; each is encoded once, and
// so is its delta, however many ask.
func TestHundredsOfEnvoys(t *testing.T) {
	const pollers, versions, endpoints = 300, 20, 100
	h := newHandler()
	h.Fleet = NewFleet(h.Store)
	server := httptest.NewServer(h.Routes())
	defer server.Close()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: pollers}}
	defer client.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()

	first := publish(t, h, scraped(endpoints, 0, 1)...)
	var received atomic.Int64
	got := make(chan uint64, pollers)
	var running sync.WaitGroup
	for i := range pollers {
		running.Go(func() {
			f := follower{t: t, ctx: ctx, client: client, url: server.URL + names.PathSnapshot, node: "envoy-" + strconv.Itoa(i)}
			for f.version < first+versions {
				received.Add(int64(f.poll()))
				if t.Failed() || ctx.Err() != nil {
					return
				}
				got <- f.version
			}
		})
	}
	for number := first; ; number++ {
		for range pollers {
			select {
			case v := <-got:
				if v != number {
					t.Fatalf("a poller got version +%d, want +%d", v-first, number-first)
				}
			case <-ctx.Done():
				t.Fatalf("version +%d did not reach all", number-first)
			}
		}
		if number == first+versions {
			break
		}
		publish(t, h, scraped(endpoints, 90, uint32(number-first+2))...)
	}
	running.Wait()
	s, store := h.Stats(), h.Store.Stats()
	if store.Versions != versions+1 || store.Deltas != versions {
		t.Errorf("%d versions and %d deltas were encoded", store.Versions, store.Deltas)
	}
	if s.Whole != pollers || s.Delta != pollers*versions || s.Reports != pollers*(versions+1) || s.Open != 0 {
		t.Errorf("stats %+v", s)
	}
	if n := received.Load(); n != int64(s.WholeBytes+s.DeltaBytes) || n > int64(pollers*endpoints*(100+versions*10)) {
		t.Errorf("%d bytes received, %d and %d sent", n, s.WholeBytes, s.DeltaBytes)
	}
	if l := h.Fleet.Loads()[idOf(named(0))]; l.Picks != pollers*(versions+1) || len(h.Fleet.Envoys()) != pollers {
		t.Errorf("load %+v of %d Envoys", l, len(h.Fleet.Envoys()))
	}
}

// follower polls as a filter's leader does.
type follower struct {
	t         *testing.T
	ctx       context.Context
	client    *http.Client
	url, node string
	blob      []byte
	version   uint64
	picks     uint64
}

// poll reports, takes the next version and returns the size of the answer.
func (f *follower) poll() int {
	f.picks++
	v := &vm{Worker: report.Worker{Epoch: 1, At: f.picks, Picks: f.picks}, eps: []report.Endpoint{{ID: idOf(named(0)), Picks: f.picks}}}
	rec, err := report.AppendRecord(nil, &v.Worker, v.eps, nil)
	if err != nil {
		f.t.Error(err)
		return 0
	}
	body, _, err := report.AppendReport(nil, 1, f.picks, nil, [][]byte{rec})
	if err != nil {
		f.t.Error(err)
		return 0
	}
	req, err := http.NewRequestWithContext(f.ctx, http.MethodPost, f.url+"?v="+strconv.FormatUint(f.version, 10), bytes.NewReader(body))
	if err != nil {
		f.t.Error(err)
		return 0
	}
	req.Header.Set("Accept", acceptBoth)
	req.Header.Set(names.HeaderNode, f.node)
	resp, err := f.client.Do(req)
	if err != nil {
		f.t.Error(err)
		return 0
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		f.t.Error(err)
		return 0
	}
	n := len(b)
	if snapshot.IsDelta(b) {
		if b, err = snapshot.ApplyDelta(nil, f.blob, b); err != nil {
			f.t.Error(err)
			return 0
		}
	}
	opened, err := snapshot.Open(b)
	if err != nil {
		f.t.Errorf("status %s: %v", resp.Status, err)
		return 0
	}
	f.blob, f.version = b, opened.Version()
	return n
}

// TestStuckPollersDelayNobody has pollers that never read their answer, and one that sends its body for ever. The pipes of
// memnet have no buffer, so they block the agent at the first byte.
func TestStuckPollersDelayNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const address, stuck = "127.0.0.1:18001", 50
		var network memnet.Network
		h := newHandler()
		var open atomic.Int64
		server := &http.Server{Handler: h.Routes(), ConnState: func(_ net.Conn, s http.ConnState) {
			switch s {
			case http.StateNew:
				open.Add(1)
			case http.StateClosed:
				open.Add(-1)
			}
		}}
		l := network.Listen(address)
		var running sync.WaitGroup
		running.Go(func() { _ = server.Serve(l) })
		number := publish(t, h, scraped(100, 0, 1)...)
		var conns []net.Conn
		for i := range stuck + 1 {
			c, err := network.DialContext(t.Context(), "tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			conns = append(conns, c)
			head := "GET " + names.PathSnapshot + " HTTP/1.1\r\nHost: a\r\n\r\n"
			if i == stuck {
				head = "POST " + names.PathSnapshot + " HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\nslow"
			}
			if _, err := io.WriteString(c, head); err != nil {
				t.Fatal(err)
			}
		}
		client := &http.Client{Transport: &http.Transport{DialContext: network.DialContext}}
		f := follower{t: t, ctx: t.Context(), client: client, url: "http://" + address + names.PathSnapshot, node: "n"}
		f.poll()
		for i := range uint64(20) {
			begin := time.Now()
			running.Go(func() { time.Sleep(time.Millisecond); publish(t, h, scraped(100, 90, 2)...) })
			if f.poll(); time.Since(begin) != time.Millisecond || f.version != number+i+1 {
				t.Errorf("version +%d after %v", f.version-number, time.Since(begin))
			}
		}
		if n := open.Load(); n != stuck+2 {
			t.Errorf("%d connections", n)
		}
		time.Sleep(max(writeTimeout, bodyTimeout+farewellTimeout))
		synctest.Wait()
		if n := open.Load(); n != 1 {
			t.Errorf("%d connections are open after the time limit, want the good one", n)
		}
		if d := cmp.Diff(map[string]uint64{"node": 0, "version": 0, "body": 1, "write": stuck}, h.Stats().Errors); d != "" {
			t.Error(d)
		}
		client.CloseIdleConnections()
		for _, c := range conns {
			_ = c.Close()
		}
		_ = server.Close()
		running.Wait()
	})
}

func TestPost(t *testing.T) {
	good := &vm{Worker: report.Worker{Epoch: 1, At: 1, Picks: 1}}
	rec, err := report.AppendRecord(nil, &good.Worker, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	body, _, err := report.AppendReport(nil, 5, 1, nil, [][]byte{rec})
	if err != nil {
		t.Fatal(err)
	}
	newer := bytes.Clone(body)
	newer[4]++
	tests := []struct {
		name    string
		node    string
		body    []byte
		status  int
		text    string // of the answer, if it is no snapshot
		reports string // node and process of the report that gets through
		refused map[string]uint64
		errors  map[string]uint64
	}{
		{"report", "n1", body, 200, "", "n1 5", nil, nil},
		{"no node", "", body, 200, "", "unknown 5", nil, nil},
		{"no report", "n1", nil, 200, "", "", nil, nil},
		{"longest node", strings.Repeat("n", 256), body, 200, "", strings.Repeat("n", 256) + " 5", nil, nil},
		{"node too long", strings.Repeat("n", 257), body, 400, "x-zerohop-node: must be printable and at most 256 bytes; set a node id", "", nil, map[string]uint64{"node": 1}},
		{"node with tab", "a\tb", body, 400, "x-zerohop-node: ", "", nil, map[string]uint64{"node": 1}},
		{"node that is no text", "a\xff", body, 400, "x-zerohop-node: ", "", nil, map[string]uint64{"node": 1}},
		{"report of a newer filter", "n1", newer, 200, "", "", map[string]uint64{"version": 1}, nil},
		{"no report at all", "n1", []byte("hello"), 200, "", "", map[string]uint64{"content": 1}, nil},
		{"too large", "n1", make([]byte, report.MaxReport+1), 413, "body: a report has at most 1048576 bytes", "", nil, map[string]uint64{"body": 1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var log bytes.Buffer
			h := newHandler()
			h.Log = slog.New(slog.NewTextHandler(&log, nil))
			h.Fleet = NewFleet(h.Store)
			publish(t, h)
			headers := []string{}
			if tt.node != "" {
				headers = append(headers, names.HeaderNode, tt.node)
			}
			w := request(h, http.MethodPost, names.PathSnapshot+"?v=0", tt.body, headers...)
			if w.Code != tt.status {
				t.Fatalf("status %d, %s", w.Code, w.Body)
			}
			if tt.status == http.StatusOK {
				open(t, w)
			} else if !strings.HasPrefix(w.Body.String(), tt.text) {
				t.Errorf("text %q", w.Body)
			}
			got := ""
			for _, e := range h.Fleet.Envoys() {
				got += fmt.Sprint(e.Node, " ", e.Process)
			}
			if got != tt.reports {
				t.Errorf("report %q, want %q", got, tt.reports)
			}
			if n := h.Fleet.Totals().Picks; (n == 1) != (tt.reports != "") {
				t.Errorf("%d picks", n)
			}
			refused := map[string]uint64{"version": 0, "content": 0, "capacity": 0}
			maps.Copy(refused, tt.refused)
			errs := map[string]uint64{"node": 0, "version": 0, "body": 0, "write": 0}
			maps.Copy(errs, tt.errors)
			stats := h.Stats()
			if d := cmp.Diff([]map[string]uint64{refused, errs}, []map[string]uint64{stats.Refused, stats.Errors}); d != "" {
				t.Error(d)
			}
			if logged := strings.Contains(log.String(), "report is refused"); logged != (tt.refused != nil) {
				t.Errorf("log %q", &log)
			}
		})
	}
}

func TestRefusedReportsAreLoggedSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		h := newHandler()
		h.Log = slog.New(slog.NewTextHandler(&log, nil))
		publish(t, h)
		for range 61 {
			request(h, http.MethodPost, names.PathSnapshot, []byte("bad"))
			time.Sleep(time.Second)
		}
		if n := strings.Count(log.String(), "\n"); n != 2 {
			t.Errorf("%d lines for 61 refused reports in a minute", n)
		}
	})
}

// TestPageShowsReports checks draining and what filters report, for two records with the same name.
func TestPageShowsReports(t *testing.T) {
	h := newHandler()
	h.Fleet = NewFleet(h.Store)
	old, young := named(0), named(0)
	old.Draining, young.Address = true, "10.1.1.1:80"
	publish(t, h, old, young)
	w := &vm{Worker: report.Worker{Epoch: 1, At: 1}, eps: []report.Endpoint{{ID: idOf(old), InFlight: 2, InFlightTokens: 20, Picks: 9, Fallbacks: 1, Failures: 3, Flags: report.CoolingDown}}}
	mustReport(t, h.Fleet, "n", view(t, 1, 1, w))
	v := newest(t, h)
	page := v.page(time.Now(), h.Fleet.Loads())
	want := []PageEndpoint{
		{Name: old.Name, Address: old.Address, Draining: true, Reported: &Load{InFlight: 2, InFlightTokens: 20, CoolingDown: 1, Picks: 9, Fallbacks: 1, Failures: 3}},
		{Name: young.Name, Address: young.Address, Reported: &Load{}},
	}
	if d := cmp.Diff(want, page.Endpoints); d != "" {
		t.Error(d)
	}
}

func BenchmarkPublish(b *testing.B) {
	for _, n := range []int{16, 1000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			s := NewStore(time.Now())
			eps := scraped(n, 0, 1)
			b.ReportAllocs()
			for b.Loop() {
				if err := s.Publish(eps, time.Now()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
