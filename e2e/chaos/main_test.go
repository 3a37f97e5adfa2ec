package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestChaos makes the shortest run, with one fault of each lane: a killed endpoint, an agent that comes late, a trap.
func TestChaos(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a real Envoy")
	}
	out := t.TempDir()
	o := options{
		seed: 7, length: 30 * time.Second, rate: 60, out: out, kinds: []Kind{Kill, Rename, Trap},
		say: func(format string, args ...any) { fmt.Fprintf(os.Stderr, "chaos: "+format+"\n", args...) },
	}
	if err := run(t.Context(), o); err != nil {
		logs, _ := os.ReadFile(filepath.Join(out, "logs.txt"))
		t.Fatalf("%v\n%s", err, logs)
	}
	b, err := os.ReadFile(filepath.Join(out, "report.json"))
	if err != nil {
		t.Fatal(err)
	}
	var rep Report
	if err := json.Unmarshal(b, &rep); err != nil {
		t.Fatal(err)
	}
	if rep.Outcomes[string(Success)] < 600 || len(rep.Faults) < 4 || rep.Outcomes[string(Lost)] < 1 {
		t.Errorf("%v with %d faults: want most of 1000 requests to succeed, and one at least to be lost by the trap", rep.Outcomes, len(rep.Faults))
	}
	checkPage(t, filepath.Join(out, "report.html"))
}

// checkPage wants a page that needs nothing from elsewhere.
func checkPage(t *testing.T, name string) {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	text := string(b)
	for _, want := range []string{"<svg", "Errors per second", "Requests in flight", "Hit rate", "Memory"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page has no %q", want)
		}
	}
	for _, bad := range []string{"http://", "https://", "<script", "src=", "@import", "url("} {
		if strings.Contains(text, bad) {
			t.Errorf("the page has %q", bad)
		}
	}
}

func TestOptions(t *testing.T) {
	for _, tt := range []struct {
		name string
		o    options
		want string
	}{
		{"too short", options{length: time.Second, rate: 1}, "length"},
		{"no rate", options{length: time.Minute}, "rate"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := run(t.Context(), tt.o); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one that names the %s", err, tt.want)
			}
		})
	}
}

func TestParseKinds(t *testing.T) {
	for _, tt := range []struct {
		name, list string
		want       []Kind
		bad        bool
	}{
		{name: "all", want: nil},
		{name: "none", list: "none", want: []Kind{}},
		{name: "two", list: "kill,hot", want: []Kind{Kill, Hot}},
		{name: "unknown", list: "kill,flood", bad: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := parseKinds(tt.list)
			if d := cmp.Diff(tt.want, got); d != "" || (err != nil) != tt.bad {
				t.Errorf("error %v, kinds (-want +got):\n%s", err, d)
			}
		})
	}
}

// TestDocument compares the table of docs/chaos.md with the table of this package.
func TestDocument(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("..", "..", "docs", "chaos.md"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(b), tableMarkdown()) {
		t.Errorf("docs/chaos.md does not have this table:\n%s", tableMarkdown())
	}
}

// TestRules compares what a rule allows with what it says.
func TestRules(t *testing.T) {
	for i := range rules {
		r := &rules[i]
		if (len(r.Allowed) == 0) != (r.Costs == none) {
			t.Errorf("%s allows %v and says %q", r.Kind, r.Allowed, r.Costs)
		}
		for _, a := range r.Allowed {
			if !strings.Contains(r.Costs, "`"+string(a.Class)+"`") {
				t.Errorf("%s allows %q and says %q", r.Kind, a.Class, r.Costs)
			}
		}
	}
}
