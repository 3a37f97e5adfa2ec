package conformance

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zerohop/zerohop/e2e/schedbed"
	"github.com/zerohop/zerohop/filter/hosttest"
	"github.com/zerohop/zerohop/filter/scan"
	"github.com/zerohop/zerohop/scorers/sched"
	"github.com/zerohop/zerohop/shared/blockhash"
	"github.com/zerohop/zerohop/shared/names"
	"github.com/zerohop/zerohop/shared/report"
)

// The tests of this file are cases that went wrong in the field.

// hashesOf returns the chain hashes of a body.
func hashesOf(t *testing.T, api scan.API, body string) string {
	t.Helper()
	var s scan.Scanner
	s.Reset(api, blockhash.MinBlockTokens, 0)
	s.Write([]byte(body), source(body))
	if r := s.Finish(source(body)); r != scan.OK {
		t.Fatalf("result %d of %s", r, body)
	}
	return strings.Join(hex(chained(string(s.Model()), string(s.Salt()), s.IDs(), s.Starts())), " ")
}

func TestPromptsThatLookAlike(t *testing.T) {
	turn := func(role, text string) string { return `{"role":"` + role + `","content":"` + text + `"}` }
	chat := func(turns ...string) string { return `{"model":"m","messages":[` + strings.Join(turns, ",") + `]}` }
	a, b := turn("user", strings.Repeat("one ", 99)), turn("assistant", strings.Repeat("two ", 99))
	seen := map[string]string{}
	for _, tt := range []struct {
		name, body string
		api        scan.API
	}{
		{"two turns", chat(a, b), scan.Chat},
		{"swapped turns", chat(b, a), scan.Chat},
		{"a repeated turn", chat(a, b, a), scan.Chat},
		{"another repeated turn", chat(a, b, b), scan.Chat},
		{"token ids", `{"model":"m","prompt":[1,2,3,4]}`, scan.Completions},
		{"as many other token ids", `{"model":"m","prompt":[1,2,4,3]}`, scan.Completions},
		{"the same of another model", `{"model":"n","prompt":[1,2,4,3]}`, scan.Completions},
	} {
		h := hashesOf(t, tt.api, tt.body)
		if other := seen[h]; other != "" {
			t.Errorf("%s and %s have the same hashes", tt.name, other)
		}
		seen[h] = tt.name
	}
}

// TestBlockSizes has an engine report one block size after the other, as after restarts: prompts are cut anew, and what was known
// is forgotten.
func TestBlockSizes(t *testing.T) {
	b, err := schedbed.New([]byte(producer("")), 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		reported uint32
		want     int
		keeps    bool // what is known
	}{{0, 64, false}, {16, 64, true}, {64, 64, true}, {128, 128, false}, {4096, 4096, false}, {128, 128, false}, {0, 64, false}} {
		b.Now += 1e9
		servers := pods(1)
		servers[0].BlockSize = tt.reported
		if err := b.Publish(servers); err != nil {
			t.Fatal(err)
		}
		prompt := func() *sched.Prompt {
			p := promptOf(tokens64(1, 2, 3))
			p.BlockTokens = b.BlockTokens()
			return p
		}
		var d sched.Decision
		b.Decide(b.Now, prompt(), &d)
		if b.BlockTokens() != tt.want || (d.Matched > 0) != tt.keeps {
			t.Errorf("reported %d: blocks of %d tokens, want %d; %d blocks known", tt.reported, b.BlockTokens(), tt.want, d.Matched)
		}
		b.SendTo("ns/a", prompt())
		if b.Decide(b.Now, prompt(), &d); d.Matched != 3 {
			t.Errorf("reported %d: %d blocks known after the prompt was sent", tt.reported, d.Matched)
		}
	}
}

const sessionsDoc = header + `plugins:
- {type: session-affinity-scorer, parameters: {strategy: session_id}}
- {type: queue-scorer}
- {type: no-hit-lru-scorer}
- {type: inflight-load-producer}
- {type: active-request-scorer}
`

// TestEqualRequestIDs has 200 requests in flight with one id that the client chose: each is counted by itself, and in the end
// nothing is left.
func TestEqualRequestIDs(t *testing.T) {
	w, err := start(sessionsDoc, pods(4))
	if err != nil {
		t.Fatal(err)
	}
	const n = 200
	r := post(pathChat, `{"model":"m","messages":[{"role":"user","content":"hi"}]}`, "x-request-id", "same")
	var open []*hosttest.Stream
	count := map[string]int{}
	for range n {
		st := w.worker.Open(r)
		st.Receive()
		address, _ := st.RequestHeader(names.HeaderDestination)
		count[address]++
		open = append(open, st)
	}
	for address, c := range count {
		if c != n/4 {
			t.Errorf("%s has %d of %d requests", address, c, n)
		}
	}
	if got := w.inFlight(); got != n {
		t.Errorf("%d in flight, want %d", got, n)
	}
	slices.Reverse(open)
	for i, st := range open {
		if i%3 > 0 { // the others' clients go away
			st.Forward()
		}
		st.Close()
	}
	if got := w.inFlight(); got != 0 {
		t.Errorf("%d are still in flight", got)
	}
	if err := w.close(); err != nil {
		t.Error(err)
	}
}

// inFlight returns how many requests the worker reports to be in flight; -1 if it does not report.
func (w *world) inFlight() int {
	n := -1
	w.process.Agent.NotModifiedAfterMs = 100
	w.process.Agent.OnPoll = func(c *hosttest.Call) {
		v, err := report.Open(c.Body)
		if err != nil {
			return
		}
		n = 0
		for it := v.Records(); it.Next(); {
			for i := range it.Record.Len() {
				var e report.Endpoint
				it.Record.Endpoint(i, &e)
				n += int(e.InFlight)
			}
		}
	}
	w.process.Run(30 * time.Second)
	return n
}

// TestSessionsSpread sends the turns of three sessions to three endpoints in turn, under either parity.
func TestSessionsSpread(t *testing.T) {
	for _, parity := range []string{"", parityEPP} {
		w, err := start(sessionsDoc+parity, pods(3))
		if err != nil {
			t.Fatal(err)
		}
		at := map[int]string{}
		for i := range 30 {
			session := i % 3
			_, address := w.send(post(pathChat, fmt.Sprintf(`{"model":"m","messages":[{"role":"user","content":"turn %d"}]}`, i), "x-session-id", fmt.Sprint("s", session)))
			if at[session] == "" {
				at[session] = address
			} else if address != at[session] {
				t.Errorf("turn %d of session %d went to %s, before to %s", i/3, session, address, at[session])
			}
		}
		if at[0] == at[1] || at[1] == at[2] || at[0] == at[2] {
			t.Errorf("the sessions are at %v", at)
		}
		if err := w.close(); err != nil {
			t.Error(err)
		}
	}
}

// odd is a configuration with most plugins that look at headers and metrics.
const odd = header + `plugins:
- {type: latency-slo-admitter}
- {type: probabilistic-admitter}
- {type: session-affinity-filter}
- {type: slo-headroom-tier-filter}
- {type: utilization-detector}
- {type: latency-scorer}
- {type: queue-scorer}
- {type: running-requests-size-scorer}
- {type: kv-cache-utilization-scorer}
- {type: lora-affinity-scorer}
- {type: no-hit-lru-scorer}
- {type: context-length-aware}
`

// TestOddRequestsAreServed sends requests whose headers make no sense to pools that tell nothing.
func TestOddRequestsAreServed(t *testing.T) {
	unscraped := pods(3)
	for i := range unscraped {
		unscraped[i].Unscraped = true
	}
	gone := base64.StdEncoding.EncodeToString([]byte("ns/gone"))
	headers := [][]string{nil, {"x-session-token", gone}, {"x-session-token", "%%%"}}
	for _, value := range []string{"9223372036854775808", "-1", "NaN", "1e400", "", "+Inf", "0x10"} {
		headers = append(headers, []string{names.HeaderTTFT, value, names.HeaderTPOT, value, names.HeaderObjective, "interactive"})
	}
	for name, servers := range map[string][]schedbed.Server{"one endpoint": pods(1), "not scraped": unscraped, "one, not scraped": unscraped[:1]} {
		for _, parity := range []string{"---\napiVersion: zerohop.dev/v1alpha1\nkind: ZerohopConfig\n", parityEPP} {
			w, err := start(odd+parity+"objectives: [{name: interactive, priority: 1}]\n", servers)
			if err != nil {
				t.Fatal(err)
			}
			count := map[string]int{}
			for i, h := range headers {
				for k := range 3 {
					body := fmt.Sprintf(`{"model":"m","messages":[{"role":"user","content":"question %d of %d"}]}`, k, i)
					res, address := w.send(post(pathChat, body, h...))
					if res.Status != 200 || address == "" {
						t.Errorf("%s, headers %q: status %d, pick %q", name, h, res.Status, res.Pick)
					}
					count[address]++
				}
			}
			if len(count) != len(servers) {
				t.Errorf("%s: %d requests went to %v", name, 3*len(headers), count)
			}
			if err := w.close(); err != nil {
				t.Error(err)
			}
		}
	}
}
