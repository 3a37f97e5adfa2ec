package telemetry

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"
	dto "github.com/prometheus/client_model/go"
	"go.uber.org/goleak"

	"github.com/zerohop/zerohop/shared/report"
	"github.com/zerohop/zerohop/shared/snapshot"
	"github.com/zerohop/zerohop/xds/access"
	"github.com/zerohop/zerohop/xds/publish"
	"github.com/zerohop/zerohop/xds/scrape"
)

const (
	nameA, addressA = "default/a", "10.0.0.1:80"
	nameB, addressB = "default/b", "10.0.0.2:80"
)

// sources returns a full set of sources with two endpoints, of which filters have reported one.
func sources(t *testing.T) Sources {
	t.Helper()
	store := publish.NewStore(time.Now())
	fleet := publish.NewFleet(store)
	policy, err := access.New(access.Options{}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	publishBoth(t, store)
	w := report.Worker{Epoch: 1, Picks: 9, Retries: 2, Failures: 3}
	rec, err := report.AppendRecord(nil, &w, []report.Endpoint{{
		ID: snapshot.EndpointID([]byte(nameA), []byte(addressA)), InFlight: 4, InFlightTokens: 500, Picks: 6, Fallbacks: 5, Failures: 1, Flags: report.CoolingDown,
	}}, []uint64{7})
	if err != nil {
		t.Fatal(err)
	}
	body, _, err := report.AppendReport(nil, 1, 0, []string{"no_body"}, [][]byte{rec})
	if err != nil {
		t.Fatal(err)
	}
	v, err := report.Open(body)
	if err != nil {
		t.Fatal(err)
	}
	if err := fleet.Report("node", v); err != nil {
		t.Fatal(err)
	}
	return Sources{
		Store: store, Fleet: fleet, Policy: policy,
		Handler: &publish.Handler{Store: store, Ready: func() bool { return true }},
		Groups:  func() map[string]Group { return map[string]Group{"edge": {Connected: 3, Rejecting: 1, Nacks: 2}} },
		Config:  func() Config { return Config{Loaded: 4, Failed: 1, LastSuccess: time.Unix(1000, 5e8)} },
	}
}

func publishBoth(t *testing.T, store *publish.Store) {
	t.Helper()
	a := publish.Endpoint{Name: nameA, Address: addressA, Draining: true, Sample: scrape.Sample{
		Metrics: scrape.Metrics{Waiting: 1, Running: 2, KVUsage: 0.5}, At: time.Now(), Seq: 7, Bytes: 50_000, Duration: 5 * time.Millisecond,
	}}
	b := publish.Endpoint{Name: nameB, Address: addressB, Sample: scrape.Sample{Failure: scrape.FailureTimeout, Failures: 3}}
	if err := store.Publish([]publish.Endpoint{a, b}, time.Now()); err != nil {
		t.Fatal(err)
	}
}

// values returns the page's own values by name and labels.
func values(t *testing.T, s Sources) map[string]float64 {
	t.Helper()
	families, err := registry(s).Gather()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]float64{}
	for _, f := range families {
		if !strings.HasPrefix(f.GetName(), "zerohop_agent_") {
			continue
		}
		for _, m := range f.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetValue())
			}
			v := m.GetGauge().GetValue()
			if f.GetType() == dto.MetricType_COUNTER {
				v = m.GetCounter().GetValue()
			}
			out[strings.TrimPrefix(f.GetName(), "zerohop_agent_")+" "+strings.Join(labels, " ")] = v
		}
	}
	return out
}

func TestPage(t *testing.T) {
	got := values(t, sources(t))
	const a, b = addressA + " " + nameA, addressB + " " + nameB
	want := map[string]float64{
		"endpoint_waiting_requests " + a: 1, "endpoint_running_requests " + a: 2, "endpoint_kv_cache_usage_ratio " + a: 0.5,
		"endpoint_up " + a: 1, "endpoint_draining " + a: 1, "endpoint_scrapes_total " + a: 7,
		"endpoint_scrape_duration_seconds " + a: 0.005, "endpoint_scrape_bytes " + a: 50_000,
		"endpoint_in_flight_requests " + a: 4, "endpoint_in_flight_tokens " + a: 500, "endpoint_cooling_down_workers " + a: 1,
		"endpoint_picks_total " + a: 6, "endpoint_fallbacks_total " + a: 5, "endpoint_failures_total " + a: 1,

		"endpoint_up " + b: 0, "endpoint_draining " + b: 0, "endpoint_scrapes_total " + b: 0,
		"endpoint_scrape_duration_seconds " + b: 0, "endpoint_scrape_bytes " + b: 0,
		"endpoint_in_flight_requests " + b: 0, "endpoint_in_flight_tokens " + b: 0, "endpoint_cooling_down_workers " + b: 0,
		"endpoint_picks_total " + b: 0, "endpoint_fallbacks_total " + b: 0, "endpoint_failures_total " + b: 0,

		"snapshot_versions_total ": 1, "snapshot_failures_total ": 0, "snapshot_deltas_total ": 0, "snapshot_endpoints ": 2, "ready ": 1,
		"open_polls ": 0, "polls_total whole": 0, "polls_total delta": 0, "polls_total unchanged": 0,
		"poll_response_bytes_total whole": 0, "poll_response_bytes_total delta": 0, "reports_total ": 0,
		"poll_errors_total node": 0, "poll_errors_total version": 0, "poll_errors_total body": 0, "poll_errors_total write": 0,
		"reports_refused_total version": 0, "reports_refused_total content": 0, "reports_refused_total capacity": 0,
		"reporting_envoys ": 1, "reporting_workers ": 1, "picks_total ": 9, "retries_total ": 2, "failures_total ": 3, "fallbacks_total no_body": 7,
		"xds_nodes edge": 3, "xds_rejecting_nodes edge": 1, "xds_nacks_total edge": 2,
		"config_loads_total ok": 4, "config_loads_total failed": 1, "config_last_success_timestamp_seconds ": 1000.5,
		"connections ": 0, "connections_refused_total ": 0, "requests_denied_total credentials": 0, "requests_denied_total rate": 0,
		"credential_reload_failures_total ": 0,
		"discovery_healthy ":                0,
	}
	for _, f := range scrape.Failures() {
		want["endpoint_scrape_failures_total "+a+" "+string(f)] = 0
		want["endpoint_scrape_failures_total "+b+" "+string(f)] = 0
	}
	for _, name := range []string{"endpoint_scrape_age_seconds " + a, "snapshot_bytes ", "snapshot_timestamp_seconds "} {
		if v, ok := got[name]; !ok || v < 0 {
			t.Errorf("%s = %v, %v", name, v, ok)
		}
		delete(got, name)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// TestNames lints every name, help text and unit as Prometheus' own linter does.
func TestNames(t *testing.T) {
	s := sources(t)
	problems, err := testutil.GatherAndLint(registry(s))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		if strings.HasPrefix(p.Metric, "zerohop_") {
			t.Errorf("%s: %s", p.Metric, p.Text)
		}
	}
}

func TestEndpointThatIsGoneVanishes(t *testing.T) {
	s := sources(t)
	if err := s.Store.Publish([]publish.Endpoint{{Name: nameB, Address: addressB}}, time.Now()); err != nil {
		t.Fatal(err)
	}
	for name := range values(t, s) {
		if strings.Contains(name, nameA) {
			t.Errorf("%s is still there", name)
		}
	}
	publishBoth(t, s.Store)
	if v := values(t, s)["endpoint_picks_total "+addressA+" "+nameA]; v != 0 {
		t.Errorf("an endpoint that comes back begins with %v picks", v)
	}
}

func TestOnlyAStore(t *testing.T) {
	store := publish.NewStore(time.Now())
	want := map[string]float64{"snapshot_versions_total ": 0, "snapshot_failures_total ": 0, "snapshot_deltas_total ": 0}
	if d := cmp.Diff(want, values(t, Sources{Store: store})); d != "" {
		t.Error(d)
	}
}

// TestNamesThatAreNoText checks that such a name spoils neither the page nor another endpoint's numbers.
func TestNamesThatAreNoText(t *testing.T) {
	s := sources(t)
	eps := []publish.Endpoint{{Name: "a\xff", Address: addressA}, {Name: "a\xff", Address: addressB}, {Name: nameB, Address: addressB}}
	if err := s.Store.Publish(eps, time.Now()); err != nil {
		t.Fatal(err)
	}
	got := values(t, s)
	for _, name := range []string{addressA + " a\uFFFD", addressB + " a\uFFFD", addressB + " " + nameB} {
		if _, ok := got["endpoint_up "+name]; !ok {
			t.Errorf("%q is missing", name)
		}
	}
}

func TestHandler(t *testing.T) {
	server := httptest.NewServer(New(sources(t), slog.New(slog.DiscardHandler)))
	defer server.Close()
	resp, err := server.Client().Get(server.URL + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatal(resp.Status, err)
	}
	for _, part := range []string{
		`zerohop_agent_endpoint_picks_total{address="10.0.0.1:80",endpoint_name="default/a"} 6`, "go_goroutines ", "process_cpu_seconds_total ", "go_build_info{",
	} {
		if !strings.Contains(string(body), part) {
			t.Errorf("the page has no %q", part)
		}
	}
}

func BenchmarkPage(b *testing.B) {
	store := publish.NewStore(time.Now())
	eps := make([]publish.Endpoint, 1000)
	for i := range eps {
		eps[i] = publish.Endpoint{Name: "default/e" + string(rune('a'+i%26)), Address: "10.0." + strconv.Itoa(i/250) + "." + strconv.Itoa(i%250) + ":80", Sample: scrape.Sample{At: time.Now()}}
	}
	if err := store.Publish(eps, time.Now()); err != nil {
		b.Fatal(err)
	}
	h := New(Sources{Store: store, Fleet: publish.NewFleet(store)}, slog.New(slog.DiscardHandler))
	b.ReportAllocs()
	for b.Loop() {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
		b.ReportMetric(float64(w.Body.Len()), "page-bytes")
	}
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
