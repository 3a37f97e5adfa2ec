package main

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/zerohop/zerohop/e2e/loadgen"
)

func TestParseCounters(t *testing.T) {
	const good = `# HELP vllm:prefix_cache_queries_total Prefix cache queries
# TYPE vllm:prefix_cache_queries_total counter
vllm:prefix_cache_queries_total{engine="0",model_name="m"} 1.5e+06
vllm:prefix_cache_queries_created{engine="0",model_name="m"} 1.7e+09
vllm:prefix_cache_hits_total{engine="0",model_name="a b"} 32768
vllm:request_success_total{engine="0",finished_reason="stop",model_name="m"} 3
vllm:request_success_total{engine="0",finished_reason="length",model_name="m"} 4.0
`
	tests := []struct {
		name, page string
		want       counters
		wantErr    string
	}{
		{"sums over labels", good, counters{requests: 7, queries: 1.5e6, hits: 32768}, ""},
		{"no counters", "up 1\n", counters{}, "no vllm:prefix_cache_queries_total"},
		{"empty", "", counters{}, "no vllm:prefix_cache_queries_total"},
		{"not a number", "vllm:prefix_cache_hits_total{a=\"b\"} x\n", counters{}, "parse vllm:prefix_cache_hits_total"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := parseCounters([]byte(tt.page))
			if (err != nil) != (tt.wantErr != "") || (err != nil && !strings.Contains(err.Error(), tt.wantErr)) {
				t.Fatalf("error %v, want %q", err, tt.wantErr)
			}
			if d := cmp.Diff(tt.want, got, cmp.AllowUnexported(counters{})); d != "" {
				t.Errorf("counters (-want +got):\n%s", d)
			}
		})
	}
}

func TestNewOutcome(t *testing.T) {
	failed := loadgen.Report{Errors: map[string]int{"EOF": 2}}
	tests := []struct {
		name      string
		report    loadgen.Report
		endpoints []counters
		want      Outcome
	}{
		{"nothing happened", loadgen.Report{}, make([]counters, 2), Outcome{Policy: "p"}},
		{"balanced", loadgen.Report{}, []counters{{2, 100, 50}, {2, 100, 50}}, Outcome{"p", 0, 0.5, 0, 1, 1, loadgen.Report{}, nil}},
		{"one has all", failed, []counters{{8, 400, 0}, {}, {}, {}}, Outcome{"p", 0, 0, 2, 4, 4, loadgen.Report{}, nil}},
		{"uneven", loadgen.Report{}, []counters{{3, 100, 100}, {1, 100, 0}}, Outcome{"p", 0, 0.5, 0, 1.5, 2, loadgen.Report{}, nil}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := newOutcome("p", tt.report, tt.endpoints)
			if d := cmp.Diff(tt.want, got, cmpopts.IgnoreUnexported(Outcome{})); d != "" {
				t.Errorf("outcome (-want +got):\n%s", d)
			}
		})
	}
}

func TestReadTrace(t *testing.T) {
	ok := options{requests: 1000, endpoints: 8, capacity: 1, speed: 5}
	reqs, err := readTrace(ok)
	if err != nil {
		t.Fatal(err)
	}
	if len(reqs) != 1000 {
		t.Errorf("the default trace has %d requests, want 1000", len(reqs))
	}
	perSecond := map[time.Duration]int{}
	for _, r := range reqs {
		perSecond[r.At/time.Second]++
	}
	for s, n := range perSecond {
		if n > 15 { // of at most 43 in a bin of three seconds
			t.Errorf("%d requests in second %d: bins are not spread", n, s)
		}
	}
	for name, bad := range map[string]func(*options){
		"speed":     func(o *options) { o.speed = 0 },
		"requests":  func(o *options) { o.requests = -1 },
		"endpoints": func(o *options) { o.endpoints = 0 },
		"capacity":  func(o *options) { o.capacity = 0 },
		"file":      func(o *options) { o.trace = "/nonexistent" },
	} {
		o := ok
		bad(&o)
		if _, err := readTrace(o); err == nil {
			t.Errorf("no error for a bad %s", name)
		}
	}
}

func TestPrintOutcomes(t *testing.T) {
	var b strings.Builder
	o := newOutcome("round_robin", loadgen.Report{Errors: map[string]int{"EOF": 2}}, []counters{{2, 100, 50}, {2, 100, 50}})
	if err := printOutcomes(&b, 5, []Outcome{o}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"round_robin", "0.5000", "1.000", "2 × EOF"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("output lacks %q:\n%s", want, b.String())
		}
	}
	if err := printOutcomes(failingWriter{}, 5, []Outcome{o}); err == nil {
		t.Error("no error from a failing writer")
	}
}

type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, errors.New("full") }
