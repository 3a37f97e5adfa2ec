package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/zerohop/zerohop/xds/publish"
)

func samplePage() publish.Page {
	age, old := int64(17), int64(3*60*60*1000+250)
	return publish.Page{Version: 42, AgeMs: 5, Bytes: 300, Endpoints: []publish.PageEndpoint{
		{
			Name: "default/a", Address: "10.0.0.1:8000", AgeMs: &age, Waiting: 1, Running: 12, KVUsage: 0.625,
			Reported: &publish.Load{InFlight: 3, InFlightTokens: 4000, Picks: 50, Fallbacks: 6, Failures: 7},
		},
		{
			Name: "default/b", Address: "[2001:db8::1]:8000", AgeMs: &old, Failure: "timeout", Failures: 9, Draining: true,
			Reported: &publish.Load{CoolingDown: 2},
		},
		{Name: "default/c", Address: "10.0.0.3:8000"},
	}}
}

const samplePageText = `snapshot 42: 3 endpoints, 300 bytes, published 5ms ago

ENDPOINT   ADDRESS             AGE     WAITING  RUNNING  KV CACHE  IN FLIGHT  TOKENS  PICKS  FALLBACKS  FAILED  STATE
default/a  10.0.0.1:8000       17ms    1        12       62.5%     3          4000    50     6          7       ok
default/b  [2001:db8::1]:8000  3h0m0s  0        0        0.0%      0          0       0      0          0       draining; cooling down on 2 workers; scrape fails: timeout, 9 times
default/c  10.0.0.3:8000       -       -        -        -         -          -       -      -          -       not scraped yet
`

func TestSnapshotText(t *testing.T) {
	page := samplePage()
	if d := cmp.Diff(samplePageText, snapshotText(&page)); d != "" {
		t.Error(d)
	}
	if got, want := snapshotText(&publish.Page{Version: 1, AgeMs: 61_234}), "snapshot 1: 0 endpoints, 0 bytes, published 1m1s ago\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// snapshotAgent serves the sample page, and an error to every request before the given one.
func snapshotAgent(t *testing.T, from int64, asked *atomic.Int64) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1) < from {
			http.Error(w, "nothing is published yet", http.StatusServiceUnavailable)
			return
		}
		if r.URL.Path != publish.PathPage {
			http.NotFound(w, r)
			return
		}
		_ = json.NewEncoder(w).Encode(samplePage())
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func TestSnapshotCommand(t *testing.T) {
	tests := []struct {
		name   string
		from   int64
		args   []string
		code   int
		stderr string
	}{
		{"text", 1, nil, 0, ""},
		{"json", 1, []string{"-o", "json"}, 0, ""},
		{"not ready", 2, nil, 1, "zerohop: agent answers 503 Service Unavailable to /snapshot: nothing is published yet\n"},
		{"unknown format", 1, []string{"-o", "xml"}, 2, `must be one of "text","json"`},
		{"watched too closely", 1, []string{"--watch", "--interval", "1ms"}, 2, "--interval: 1ms is shorter than 100ms"},
		{"bad address", 1, []string{"--agent", "x"}, 2, "--agent: "},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var asked atomic.Int64
			var stdout, stderr bytes.Buffer
			args := append([]string{"snapshot", "--agent", snapshotAgent(t, tt.from, &asked)}, tt.args...)
			if code := run(t.Context(), args, &stdout, &stderr); code != tt.code || !strings.Contains(stderr.String(), tt.stderr) {
				t.Fatalf("exit code %d, %q", code, &stderr)
			}
			switch {
			case tt.code != 0:
			case strings.HasPrefix(stdout.String(), "{"):
				var page publish.Page
				if err := json.Unmarshal(stdout.Bytes(), &page); err != nil {
					t.Fatal(err)
				}
				if d := cmp.Diff(samplePage(), page); d != "" {
					t.Error(d)
				}
			default:
				if d := cmp.Diff(samplePageText, stdout.String()); d != "" {
					t.Error(d)
				}
			}
		})
	}
}

// TestSnapshotWatch watches an agent that is not ready at first, until interrupted.
func TestSnapshotWatch(t *testing.T) {
	var asked atomic.Int64
	url := snapshotAgent(t, 2, &asked)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	lines := &lineCounter{enough: 3, done: cancel}
	var stderr bytes.Buffer
	code := run(ctx, []string{"snapshot", "--agent", url, "--watch", "--interval", "100ms", "-o", "json"}, lines, &stderr)
	if code != 0 || lines.n < 3 || strings.Count(stderr.String(), "nothing is published yet") != 1 {
		t.Errorf("exit code %d, %d lines, %q", code, lines.n, &stderr)
	}
}

// lineCounter calls done after enough lines.
type lineCounter struct {
	n, enough int
	done      func()
}

func (l *lineCounter) Write(b []byte) (int, error) {
	if l.n += bytes.Count(b, []byte("\n")); l.n >= l.enough {
		l.done()
	}
	return len(b), nil
}
