package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/zerohop/zerohop/scorers/registry"
	"github.com/zerohop/zerohop/shared/names"
	"github.com/zerohop/zerohop/shared/report"
	"github.com/zerohop/zerohop/shared/snapshot"
	"github.com/zerohop/zerohop/xds/config"
	"github.com/zerohop/zerohop/xds/discovery"
	"github.com/zerohop/zerohop/xds/status"
)

// live is an agent whose endpoints and configuration file a test changes.
type live struct {
	*world
	lists     chan discovery.Update
	documents chan []byte
	reports   uint64 // sent
	restarts  uint64 // of the worker that reports
}

func (l *live) String() string { return "the test" }

// Run implements discovery.Source.
func (l *live) Run(ctx context.Context, update func(discovery.Update)) {
	for {
		select {
		case <-ctx.Done():
			return
		case u := <-l.lists:
			update(u)
		}
	}
}

func (l *live) watch(ctx context.Context, _ string, changed func([]byte, error)) {
	for {
		select {
		case <-ctx.Done():
			return
		case doc := <-l.documents:
			if doc == nil {
				changed(nil, errors.New("no such file"))
				continue
			}
			changed(doc, nil)
		}
	}
}

// startLive runs an agent for as long as do runs. Endpoints answer on every address of 10.0.0.1 to 10.0.0.3, port 80.
func startLive(t *testing.T, do func(l *live)) {
	synctest.Test(t, func(t *testing.T) {
		l := &live{world: newWorld(t), lists: make(chan discovery.Update), documents: make(chan []byte)}
		stopEndpoints := l.serve("10.0.0.%d:80", 3)
		var running sync.WaitGroup
		ctx, cancel := context.WithCancel(t.Context())
		o := l.options(l)
		o.ConfigFile, o.Watch = "epp.yaml", l.watch
		o.Load = func(doc []byte) (*config.Config, error) { return config.Load(doc, registry.Specs()) }
		running.Go(func() {
			if err := Run(ctx, o); err != nil {
				t.Error(err)
			}
		})
		do(l)
		cancel()
		l.client.CloseIdleConnections()
		stopEndpoints()
		running.Wait()
	})
}

// serve starts n endpoints at the addresses that pattern gives for 1 to n.
func (l *live) serve(pattern string, n int) (stop func()) {
	var running sync.WaitGroup
	var servers []*http.Server
	for i := 1; i <= n; i++ {
		s := &http.Server{Handler: http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
			_, _ = fmt.Fprintf(rw, "vllm:num_requests_waiting %d\n", l.waiting.Load())
		})}
		servers = append(servers, s)
		listener := l.net.Listen(fmt.Sprintf(pattern, i))
		running.Go(func() { _ = s.Serve(listener) })
	}
	return func() {
		for _, s := range servers {
			_ = s.Close()
		}
		running.Wait()
	}
}

// set makes the endpoints, given as NAME@IP, those that discovery knows.
func (l *live) set(endpoints ...string) {
	list := []discovery.Endpoint{}
	for _, e := range endpoints {
		name, ip, _ := strings.Cut(e, "@")
		list = append(list, discovery.Endpoint{Namespace: "n", Name: name, Address: netip.AddrPortFrom(netip.MustParseAddr(ip), 80)})
	}
	l.lists <- discovery.Update{Endpoints: list}
	synctest.Wait()
}

// published returns the endpoints of the newest snapshot, NAME@IP, with "-" in front of those that drain.
func (l *live) published() []string {
	v := l.poll(0)
	out := make([]string, 0, v.Len())
	var e snapshot.Endpoint
	for i := range v.Len() {
		v.Endpoint(i, &e)
		ip, _, _ := strings.Cut(string(e.Address), ":")
		text := strings.TrimPrefix(string(e.Name), "n/") + "@" + ip
		if e.Flags&snapshot.Draining != 0 {
			text = "-" + text
		}
		out = append(out, text)
	}
	slices.SortFunc(out, func(a, b string) int { return strings.Compare(strings.TrimPrefix(a, "-"), strings.TrimPrefix(b, "-")) })
	return out
}

func (l *live) want(what string, endpoints ...string) {
	l.t.Helper()
	if d := cmp.Diff(endpoints, l.published()); d != "" {
		l.t.Errorf("%s: endpoints (-want +got):\n%s", what, d)
	}
}

func TestRemovedEndpointDrains(t *testing.T) {
	startLive(t, func(l *live) {
		l.set("a@10.0.0.1", "b@10.0.0.2")
		l.want("at first", "a@10.0.0.1", "b@10.0.0.2")
		time.Sleep(time.Second)
		l.set("a@10.0.0.1")
		l.want("after b went", "a@10.0.0.1", "-b@10.0.0.2")
		time.Sleep(29 * time.Second)
		l.want("before the drain timeout", "a@10.0.0.1", "-b@10.0.0.2")
		time.Sleep(2 * time.Second)
		l.want("after the drain timeout", "a@10.0.0.1")
	})
}

func TestReturningEndpointGoesOn(t *testing.T) {
	startLive(t, func(l *live) {
		l.set("a@10.0.0.1", "b@10.0.0.2")
		time.Sleep(2 * time.Second)
		before := l.scrapes("n/b")
		l.set("a@10.0.0.1")
		time.Sleep(5 * time.Second)
		l.set("a@10.0.0.1", "b@10.0.0.2")
		l.want("when b is back", "a@10.0.0.1", "b@10.0.0.2")
		time.Sleep(40 * time.Second)
		l.want("after the drain timeout", "a@10.0.0.1", "b@10.0.0.2")
		if after := l.scrapes("n/b"); after <= before+100 {
			t.Errorf("%d scrapes before, %d after: the count must go on", before, after)
		}
	})
}

func TestChangedAddressIsAnotherEndpoint(t *testing.T) {
	startLive(t, func(l *live) {
		l.set("a@10.0.0.1")
		time.Sleep(time.Second)
		l.set("a@10.0.0.2")
		l.want("after the change", "-a@10.0.0.1", "a@10.0.0.2")
		time.Sleep(31 * time.Second)
		l.want("after the drain", "a@10.0.0.2")
	})
}

// TestDrainEndsWithTheLastRequest lets the filters report the requests in flight.
func TestDrainEndsWithTheLastRequest(t *testing.T) {
	startLive(t, func(l *live) {
		l.set("a@10.0.0.1", "b@10.0.0.2")
		time.Sleep(time.Second)
		l.report(1, map[string]uint32{"b@10.0.0.2": 3})
		l.set("a@10.0.0.1")
		for range 8 {
			time.Sleep(time.Second)
			l.report(1, map[string]uint32{"b@10.0.0.2": 3})
		}
		l.want("with requests in flight", "a@10.0.0.1", "-b@10.0.0.2")
		l.report(1, nil)
		time.Sleep(time.Second)
		l.want("without", "a@10.0.0.1")
	})
}

func TestSourceErrorChangesNothing(t *testing.T) {
	startLive(t, func(l *live) {
		l.set("a@10.0.0.1")
		l.lists <- discovery.Update{Err: errors.New("gone")}
		time.Sleep(time.Minute)
		l.want("after the error", "a@10.0.0.1")
		if s := l.status(); s.Discovery.OK || s.Discovery.Error != "gone" {
			t.Errorf("status: %+v", s.Discovery)
		}
		l.set("a@10.0.0.1")
		if s := l.status(); !s.Discovery.OK || s.Discovery.Error != "" {
			t.Errorf("status after the source is healthy again: %+v", s.Discovery)
		}
	})
}

// scrapes returns how often an endpoint was scraped with success.
func (l *live) scrapes(name string) uint32 {
	_, body := l.get("/snapshot")
	var page struct {
		Endpoints []struct {
			Name    string
			Scrapes uint32
		}
	}
	if err := json.Unmarshal(body, &page); err != nil {
		l.t.Fatal(err)
	}
	for _, e := range page.Endpoints {
		if e.Name == name {
			return e.Scrapes
		}
	}
	return 0
}

// report sends the record of one worker, whose plan is revision, with requests in flight by NAME@IP.
func (l *live) report(revision uint64, inFlight map[string]uint32) {
	l.t.Helper()
	l.reports++
	var eps []report.Endpoint
	for e, n := range inFlight {
		name, ip, _ := strings.Cut(e, "@")
		eps = append(eps, report.Endpoint{ID: snapshot.EndpointID([]byte("n/"+name), []byte(ip+":80")), InFlight: n, Picks: 10})
	}
	record, err := report.AppendRecord(nil, &report.Worker{Epoch: 1 + l.restarts, Revision: revision, At: l.reports, PlanMin: 1, PlanMax: 1, Picks: 10}, eps, nil)
	if err != nil {
		l.t.Fatal(err)
	}
	body, _, err := report.AppendReport(nil, 1+l.restarts, l.reports, nil, [][]byte{record})
	if err != nil {
		l.t.Fatal(err)
	}
	req, err := http.NewRequest(http.MethodPost, "http://"+agentAddress+names.PathSnapshot+"?v=0", bytes.NewReader(body))
	if err != nil {
		l.t.Fatal(err)
	}
	req.Header.Set(names.HeaderNode, "envoy-1")
	resp, err := l.client.Do(req)
	if err != nil {
		l.t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		l.t.Fatalf("report: status %d", resp.StatusCode)
	}
}

// status returns the agent's status.
func (l *live) status() status.Status {
	l.t.Helper()
	_, body := l.get(status.Path)
	var s status.Status
	if err := json.Unmarshal(body, &s); err != nil {
		l.t.Fatal(err)
	}
	return s
}

// edit changes the configuration file and returns the status that follows.
func (l *live) edit(doc string) status.Status {
	l.documents <- []byte(doc)
	synctest.Wait()
	return l.status()
}

const header = "apiVersion: zerohop.dev/v1alpha1\nkind: ZerohopConfig\n"

func TestEdits(t *testing.T) {
	startLive(t, func(l *live) {
		l.set("a@10.0.0.1", "b@10.0.0.2")
		first := l.status()
		if !first.Config.OK || first.Revision == "" || first.Config.File != "epp.yaml" {
			t.Fatalf("at first: %+v", first)
		}
		second := l.edit(header + "destinationMode: filter_state\n")
		if !second.Config.OK || second.Revision == first.Revision {
			t.Errorf("after an edit: %+v", second)
		}
		bad := l.edit(header + "destinationMode: tunnel\nfoo: 1\n")
		if bad.Config.OK || bad.Revision != second.Revision || !strings.Contains(bad.Config.Error, "tunnel") || !strings.Contains(bad.Config.Error, "foo") {
			t.Errorf("after a bad edit: %+v", bad)
		}
		l.documents <- nil
		synctest.Wait()
		if gone := l.status(); gone.Config.OK || gone.Revision != second.Revision {
			t.Errorf("without file: %+v", gone)
		}
		if back := l.edit(header + "destinationMode: filter_state\n"); !back.Config.OK || back.Revision != second.Revision {
			t.Errorf("when the file is back: %+v", back)
		}
		for _, empty := range []string{"", "\n", "# nothing\n---\n"} {
			if s := l.edit(empty); s.Config.OK || s.Revision != second.Revision {
				t.Errorf("after the file was emptied: %+v", s)
			}
		}
		if last := l.edit(header); last.Revision != first.Revision {
			t.Errorf("the first configuration has revision %s, before %s", last.Revision, first.Revision)
		}
	})
}

// TestEditOfScraping checks that another interval takes effect, and that what is known of the endpoints stays.
func TestEditOfScraping(t *testing.T) {
	startLive(t, func(l *live) {
		l.set("a@10.0.0.1")
		time.Sleep(10 * time.Second)
		before := l.scrapes("n/a")
		if before < 38 || before > 43 {
			t.Fatalf("%d scrapes in 10 s at 250 ms", before)
		}
		l.edit(header + "scrape: {interval: 2s}\n")
		time.Sleep(20 * time.Second)
		if n := l.scrapes("n/a") - before; n < 9 || n > 13 {
			t.Errorf("%d scrapes in 20 s at 2 s", n)
		}
		if bad := l.edit(header + "scrape: {scheme: https, tls: {caFile: /nowhere/ca.pem}}\n"); bad.Config.OK {
			t.Error("a missing CA file is accepted")
		}
		if n := l.scrapes("n/a") - before; n == 0 {
			t.Error("scraping has ended")
		}
	})
}

// TestEditOfDiscovery adds a static list to the source of the flags, and removes it.
func TestEditOfDiscovery(t *testing.T) {
	startLive(t, func(l *live) {
		l.set("a@10.0.0.1")
		l.documents <- []byte(header + `discovery: {endpoints: [{name: b, namespace: "n", address: 10.0.0.2, port: "80"}]}` + "\n")
		synctest.Wait()
		l.set("a@10.0.0.1") // the sources begin anew
		l.want("with a second source", "a@10.0.0.1", "b@10.0.0.2")
		l.documents <- []byte(header)
		synctest.Wait()
		l.set("a@10.0.0.1")
		l.want("without it", "a@10.0.0.1", "-b@10.0.0.2")
	})
}

// TestEditOfDiscoveryWhileASourceIsDown adds a static list while the source of the flags has an error: its endpoints stay.
func TestEditOfDiscoveryWhileASourceIsDown(t *testing.T) {
	startLive(t, func(l *live) {
		l.set("a@10.0.0.1")
		l.documents <- []byte(header + `discovery: {endpoints: [{name: b, namespace: "n", address: 10.0.0.2, port: "80"}]}` + "\n")
		synctest.Wait()
		l.lists <- discovery.Update{Err: errors.New("down")}
		synctest.Wait()
		l.want("with a second source", "a@10.0.0.1", "b@10.0.0.2")
		time.Sleep(time.Minute)
		l.want("a minute later", "a@10.0.0.1", "b@10.0.0.2")
	})
}

// TestLateEnvoyBeginsWithTheEndpointsOfThen checks that an Envoy that starts long after the last edit is not sent the
// endpoints of the edit, which may be gone.
func TestLateEnvoyBeginsWithTheEndpointsOfThen(t *testing.T) {
	startLive(t, func(l *live) {
		l.set("a@10.0.0.1")
		first := l.status()
		l.set("b@10.0.0.2")
		r := l.connect("late")
		if text := string(r.GetResources()[0].GetValue()); !strings.Contains(text, "10.0.0.2:80") || strings.Contains(text, "10.0.0.1:80") {
			t.Errorf("the plan has not the endpoints of now: %q", text)
		}
		if r.GetVersionInfo() != first.Revision {
			t.Errorf("version %s, revision %s", r.GetVersionInfo(), first.Revision)
		}
	})
}

func TestReportedRevisionIsInTheStatus(t *testing.T) {
	startLive(t, func(l *live) {
		l.set("a@10.0.0.1")
		l.report(0xabc, nil)
		code, page := l.get("/metrics")
		if code != http.StatusOK || !bytes.Contains(page, []byte("zerohop_agent_")) {
			t.Errorf("metrics: status %d", code)
		}
		id := strconv.FormatUint(0xabc, 16)
		if s := l.status(); len(s.Nodes) != 1 || len(s.Nodes[0].Workers) != 1 || !strings.HasSuffix(s.Nodes[0].Workers[0].Revision, id) {
			t.Errorf("status: %+v", s)
		}
	})
}
