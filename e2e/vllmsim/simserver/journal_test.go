package simserver

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestParseJournalEntry(t *testing.T) {
	for _, c := range []struct {
		name, line string
		want       JournalEntry
		bad        string
	}{
		{name: "arrival", line: "12 A r-1", want: JournalEntry{time.Unix(0, 12), JournalArrived, "r-1"}},
		{name: "end", line: "12 E x", want: JournalEntry{time.Unix(0, 12), JournalEnded, "x"}},
		{name: "empty", line: "", bad: "time"},
		{name: "no number", line: "soon A x", bad: "time"},
		{name: "unknown step", line: "12 Z x", bad: "step"},
		{name: "no step", line: "12", bad: "time"},
		{name: "no id", line: "12 A ", bad: "id"},
		{name: "id with a blank", line: "12 A a b", bad: "id"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := ParseJournalEntry([]byte(c.line))
			if c.bad != "" {
				if err == nil || !strings.Contains(err.Error(), c.bad) {
					t.Fatalf("error %v, want one that names the %s", err, c.bad)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("entry (-want +got):\n%s", d)
			}
		})
	}
}

func FuzzJournalEntry(f *testing.F) {
	f.Add([]byte("1764453600000000000 B r-17"))
	f.Add([]byte("-1 E x"))
	f.Fuzz(func(t *testing.T, line []byte) {
		e, err := ParseJournalEntry(line)
		if err != nil {
			return
		}
		text := AppendJournal(nil, e)
		again, err := ParseJournalEntry(bytes.TrimSuffix(text, []byte("\n")))
		if err != nil || again != e {
			t.Errorf("%q is read as %+v, written as %q and read as %+v: %v", line, e, text, again, err)
		}
	})
}

// lockedBuffer is a journal in memory.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// steps returns the steps of a request, in order.
func (l *lockedBuffer) steps(t *testing.T, id string) string {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	var steps []byte
	for line := range bytes.Lines(l.b.Bytes()) {
		e, err := ParseJournalEntry(bytes.TrimSuffix(line, []byte("\n")))
		if err != nil {
			t.Fatal(err)
		}
		if e.ID == id {
			steps = append(steps, byte(e.Step))
		}
	}
	return string(steps)
}

func TestJournal(t *testing.T) {
	for _, instant := range []bool{false, true} {
		t.Run(fmt.Sprintf("instant %t", instant), func(t *testing.T) {
			var journal lockedBuffer
			s, err := Start(Config{Speed: 100, Instant: instant, Journal: &journal})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			for _, c := range []struct {
				id     string
				stream bool
				fault  RequestMode
				want   string
			}{
				{"whole", false, "", "ABE"},
				{"stream", true, "", "ABE"},
				{"status", false, RequestStatus, "A"},
				{"reset", false, RequestReset, "A"},
				{"broken", false, RequestResetMid, "AB"},
				{"broken-stream", true, RequestResetMid, "AB"},
			} {
				if err := s.SetFaults(Faults{Request: RequestFault{Mode: c.fault}}); err != nil {
					t.Fatal(err)
				}
				body := fmt.Sprintf(`{"max_tokens":16,"stream":%t,"prompt":"hello %s"}`, c.stream, c.id)
				resp, err := http.Post(s.URL()+pathCompletions+"?id="+c.id, "application/json", strings.NewReader(body))
				if err == nil {
					if got := resp.Header.Get(HeaderRequest); got != c.id {
						t.Errorf("%s: the echo is %q", c.id, got)
					}
					var sink bytes.Buffer
					_, _ = sink.ReadFrom(resp.Body) // some are broken on purpose
					resp.Body.Close()
				}
				if got := journal.steps(t, c.id); got != c.want {
					t.Errorf("%s: steps %q, want %q", c.id, got, c.want)
				}
			}
			http.DefaultClient.CloseIdleConnections()
		})
	}
}

func TestLie(t *testing.T) {
	page := []byte("# TYPE vllm:num_requests_running gauge\nvllm:num_requests_running{engine=\"0\"} 3.0\nvllm:other{a=\"b\"} 7\n")
	seen := map[string]bool{}
	for i := range uint64(len(lies)) {
		got := string(lieAbout(page, i))
		if !strings.HasPrefix(got, "# TYPE") || !strings.HasSuffix(got, "vllm:other{a=\"b\"} 7\n") || strings.Contains(got, " 3.0\n") {
			t.Errorf("lie %d: %q", i, got)
		}
		seen[got] = true
	}
	if len(seen) != len(lies) {
		t.Errorf("%d different pages, want %d", len(seen), len(lies))
	}
}
