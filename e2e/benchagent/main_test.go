package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// TestRun measures five endpoints for a second with each parser. Times depend on the machine; counts hardly.
func TestRun(t *testing.T) {
	o := options{
		json: filepath.Join(t.TempDir(), "out.json"), endpoints: []int{5}, interval: 50 * time.Millisecond, duration: time.Second,
		parsers: parsers,
	}
	if err := run(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(o.json)
	if err != nil {
		t.Fatal(err)
	}
	var got []Result
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	want := []Result{{Endpoints: 5, IntervalMs: 50, Parser: ownParser}, {Endpoints: 5, IntervalMs: 50, Parser: otherParser}}
	measured := cmpopts.IgnoreFields(Result{}, "Cores", "AgeP99Ms", "PageP99Ms", "RSSMb", "ScrapesPS", "VersionsPS", "Samples")
	if d := cmp.Diff(want, got, measured); d != "" {
		t.Error(d)
	}
	for _, r := range got {
		// 5 endpoints 20 times a second, and a little more for the jitter.
		if r.ScrapesPS < 50 || r.ScrapesPS > 110 || r.VersionsPS < 10 || r.Samples < 100 || r.Samples%5 != 0 {
			t.Errorf("%s: %.0f scrapes and %.0f versions a second, %d samples", r.Parser, r.ScrapesPS, r.VersionsPS, r.Samples)
		}
		if r.AgeP99Ms < 20 || r.PageP99Ms < 20 || r.RSSMb < 5 || r.Cores < 0 {
			t.Errorf("not plausible: %+v", r)
		}
	}
}

func TestParseFlags(t *testing.T) {
	o, err := parseFlags([]string{"-endpoints", "1,20", "-assert", "-parser", otherParser, "-duration", "1s"})
	if err != nil {
		t.Fatal(err)
	}
	want := options{
		json: "build/out/bench_agent.json", assert: true, endpoints: []int{1, 20}, interval: 250 * time.Millisecond,
		duration: time.Second, parsers: []string{otherParser},
	}
	if d := cmp.Diff(want, o, cmp.AllowUnexported(options{})); d != "" {
		t.Error(d)
	}
}

func TestCheck(t *testing.T) {
	good := Result{Endpoints: 1000, IntervalMs: 250, Cores: 1.4, AgeP99Ms: 259, Parser: ownParser, Samples: 1}
	with := func(change func(*Result)) []Result {
		r := good
		change(&r)
		return []Result{good, r}
	}
	tests := []struct {
		name    string
		results []Result
		want    string
	}{
		{"good", []Result{good}, ""},
		{"busy", with(func(r *Result) { r.Endpoints, r.Cores = 100, 0.16 }), "100 endpoints: 0.160 cores, more than 0.150"},
		{"old", with(func(r *Result) { r.AgeP99Ms = 261 }), "1000 endpoints: numbers 261.0 ms old (p99), more than 260.0"},
		{"missing", with(func(r *Result) { r.Missing = 1 }), "1 of 1 times an endpoint had no numbers"},
		{"the other parser may", with(func(r *Result) { r.Cores, r.Parser = 9, otherParser }), ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if err := check(tt.results); (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error = %v, want one with %q", err, tt.want)
			}
		})
	}
}

func TestParseStat(t *testing.T) {
	got, err := parseStat("42 (a) b) S 1 42 42 0 -1 4194304 500 0 0 0 123 45 0 0 20 0 9 0 100 1 2\n")
	if err != nil || got != 1680*time.Millisecond {
		t.Errorf("%v, %v", got, err)
	}
	for _, bad := range []string{"", "42 (a) S 1", "42 (a) S 1 42 42 0 -1 4194304 500 0 0 0 x 45 0"} {
		if _, err := parseStat(bad); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}

func TestHistogram(t *testing.T) {
	var h histogram
	for i := range 1000 {
		h.add(time.Duration(i) * time.Millisecond)
	}
	h.add(time.Hour)
	h.add(-time.Hour)
	for q, want := range map[float64]float64{0: 0.1, 0.5: 500.1, 0.99: 991.1, 1: 10_000} {
		if got := h.quantile(q); got < want-1.1 || got > want+1.1 {
			t.Errorf("quantile %v is %v, want %v", q, got, want)
		}
	}
}

func TestAnswer(t *testing.T) {
	a, err := newAnswer([]byte("# x\nvllm:num_requests_waiting{a=\"b\"} 2.0\nrest\n"), time.Now().Add(-1234*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	_, page, _ := strings.Cut(string(a.head)+string(a.stamp())+string(a.tail), "\r\n\r\n")
	if before, after, _ := strings.Cut(page, "000000"); before != "# x\nvllm:num_requests_waiting{a=\"b\"} " || !strings.HasSuffix(after, "\nrest\n") {
		t.Errorf("page %q", page)
	}
	if want := "content-length: 53\r\n"; !strings.Contains(string(a.head), want) || len(page) != 53 {
		t.Errorf("%d bytes and headers %q, want %q", len(page), a.head, want)
	}
	if _, err := newAnswer([]byte("up 1\n"), time.Now()); err == nil {
		t.Error("a page without the line is accepted")
	}
}

func TestMain(m *testing.M) {
	if servesEndpoints() {
		return
	}
	os.Exit(m.Run())
}
