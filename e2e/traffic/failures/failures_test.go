// Package failures shows on a real Envoy what becomes of requests when endpoints, the agent or the filter itself fail.
package failures

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/zerohop/zerohop/e2e/harness"
	"github.com/zerohop/zerohop/e2e/traffic"
	"github.com/zerohop/zerohop/e2e/vllmsim/simserver"
	"github.com/zerohop/zerohop/shared/plan"
)

func TestMain(m *testing.M) { os.Exit(traffic.Main(m)) }

// TestFailures runs on one Envoy per destination mode, all at once: most of the time is cool-downs. The module has fault injection.
func TestFailures(t *testing.T) {
	traffic.EachMode(t, func(t *testing.T, mode string) {
		t.Parallel()
		b := traffic.Start(t, traffic.Options{
			Options: harness.Options{DestinationMode: mode, Edit: traffic.FaultyModule, Attempts: "{retries: unanswered, firstByteTimeout: 2s}"},
			Sims:    4,
			Sim:     traffic.Instant(),
		})
		t.Run("first endpoint", func(t *testing.T) { first(t, b) })
		t.Run("first two endpoints", func(t *testing.T) { firstTwo(t, b) })
		t.Run("all endpoints", func(t *testing.T) { all(t, b) })
		t.Run("broken response", func(t *testing.T) { broken(t, b) })
		t.Run("agent", func(t *testing.T) { agent(t, b) })
		t.Run("hanging endpoint", func(t *testing.T) { hanging(t, b) })
		t.Run("dead endpoints", func(t *testing.T) { dead(t, b) })
		t.Run("counters", b.Agree)
		t.Run("trap", func(t *testing.T) { trap(t, b) }) // loses counts
	})
}

// seed numbers the texts, so that no request finds the blocks of another test.
var seed atomic.Uint64

// text returns a text of n bytes that no other request has.
func text(n int) string {
	return traffic.Text(seed.Add(1), n)
}

// textBytes is the length of a text of many blocks.
const textBytes = 10_000

// send sends a chat and checks that it is served.
func send(t *testing.T, b *traffic.Bed, text string) *traffic.Response {
	t.Helper()
	r := b.Do(t, traffic.Request{HTTP2: seed.Load()%2 == 0, Body: traffic.ChatBody(text)})
	if r.Status != http.StatusOK {
		t.Fatalf("status %d, want 200: %.300s", r.Status, r.Body)
	}
	return r
}

// place sends a new chat and returns it with the endpoint that served it, which from then on is the first choice for it.
func place(t *testing.T, b *traffic.Bed) (string, *simserver.Server) {
	t.Helper()
	chat := text(textBytes)
	return chat, b.Sim(t, b.Pick(t, send(t, b, chat).ID).Endpoint)
}

// recovers waits until an endpoint is served requests again: none is given up for good.
func recovers(t *testing.T, b *traffic.Bed, sims ...*simserver.Server) {
	t.Helper()
	for _, sim := range sims {
		traffic.Until(t, sim.Name()+" to get requests again", func() error {
			if got := b.Do(t, traffic.Request{Body: traffic.ChatBody(text(600))}).Endpoint(); got != sim.Name() {
				return fmt.Errorf("served by %q", got)
			}
			return nil
		})
	}
}

// failures are the ways in which an endpoint answers no request. The connection is refused in dead.
var failures = []struct {
	name   string
	faults simserver.Faults
}{
	{"reset", simserver.Faults{Request: simserver.RequestFault{Mode: simserver.RequestReset}}},
	{"503", simserver.Faults{Request: simserver.RequestFault{Mode: simserver.RequestStatus, Status: 503}}},
	{"draining", simserver.Faults{Draining: true}},
}

// first makes the first choice fail: the second one serves.
func first(t *testing.T, b *traffic.Bed) {
	for _, f := range failures {
		t.Run(f.name, func(t *testing.T) {
			chat, sim := place(t, b)
			traffic.Break(t, f.faults, sim)
			r := send(t, b, chat)
			went(t, b, r, traffic.ChatBody(chat), 2)
			if got := b.Arrivals(r.ID); got[0].Sim != sim && got[1].Sim != sim {
				t.Errorf("%s was not tried", sim.Name())
			}
			b.Heal(t)
			recovers(t, b, sim)
		})
	}
	t.Run("largest body", func(t *testing.T) {
		body := traffic.SizedBody(1<<32, 32<<20)
		r := b.Do(t, traffic.Request{Body: body})
		traffic.Break(t, failures[0].faults, b.Sim(t, b.Pick(t, r.ID).Endpoint))
		went(t, b, b.Do(t, traffic.Request{HTTP2: true, Body: body}), body, 2)
		b.Heal(t)
		recovers(t, b, b.Sims...)
	})
}

// went checks that a request was served in its nth attempt, each at another endpoint and with the whole body.
func went(t *testing.T, b *traffic.Bed, r *traffic.Response, body []byte, n int) {
	t.Helper()
	p := b.Pick(t, r.ID)
	if r.Status != http.StatusOK || p.Attempts != n || b.Sim(t, p.Endpoint).Name() != r.Endpoint() {
		t.Errorf("status %d by %q, picked %+v: want 200 by the picked in attempt %d", r.Status, r.Endpoint(), p, n)
	}
	if got := b.Entry(t, r.ID).String("attempts"); got != fmt.Sprint(n) {
		t.Errorf("Envoy counts %s attempts, want %d", got, n)
	}
	arrived(t, b, r, body, n)
}

// arrived checks that n endpoints got the request, each once.
func arrived(t *testing.T, b *traffic.Bed, r *traffic.Response, body []byte, n int) {
	t.Helper()
	if tried, arrivals := whole(t, b, r, body), len(b.Arrivals(r.ID)); len(tried) != n || arrivals != n {
		t.Errorf("tried %v in %d attempts, want %d endpoints, each once", tried, arrivals, n)
	}
}

// whole checks that the request arrived whole wherever it was tried, and returns where that was.
func whole(t *testing.T, b *traffic.Bed, r *traffic.Response, body []byte) map[string]bool {
	t.Helper()
	tried := map[string]bool{}
	for _, a := range b.Arrivals(r.ID) {
		tried[a.Sim.Name()] = true
		if a.BodySHA256 != traffic.Sum(body) {
			t.Errorf("%s got %d bytes with sum %s, want %d", a.Sim.Name(), a.BodyLength, a.BodySHA256, len(body))
		}
	}
	return tried
}

// firstTwo makes the first two choices for a chat fail. The second choice is the endpoint that has the beginning of it: that
// it got while the first was cooled down.
func firstTwo(t *testing.T, b *traffic.Bed) {
	for _, f := range failures {
		t.Run(f.name, func(t *testing.T) {
			chat, one := place(t, b)
			traffic.Break(t, failures[0].faults, one)
			send(t, b, chat) // fails there, and is served elsewhere
			two := b.Sim(t, b.Pick(t, send(t, b, chat[:textBytes/4]).ID).Endpoint)
			if two == one {
				t.Fatalf("%s got a request right after it had failed", one.Name())
			}
			b.Heal(t)
			recovers(t, b, one)
			traffic.Break(t, f.faults, one, two)
			r := send(t, b, chat)
			went(t, b, r, traffic.ChatBody(chat), 3)
			for _, a := range b.Arrivals(r.ID) {
				if (a.Sim == one || a.Sim == two) == (a.Sim.Name() == r.Endpoint()) {
					t.Errorf("%s was tried; %s and %s were to be the first choices", a.Sim.Name(), one.Name(), two.Name())
				}
			}
			b.Heal(t)
			recovers(t, b, one, two)
		})
	}
}

// all makes all endpoints fail. The client gets an error, not a wait, and the endpoints are tried again.
func all(t *testing.T, b *traffic.Bed) {
	for _, f := range failures {
		t.Run(f.name, func(t *testing.T) {
			traffic.Break(t, f.faults, b.Sims...)
			// In mode list Envoy makes the attempts after the list by itself, among what it is offered: one may be a second one at
			// an endpoint, and another endpoint stays untried and uncooled.
			listed := strings.Contains(t.Name(), "/"+plan.DestinationList+"/")
			var last *traffic.Response
			for range 4 {
				body := traffic.ChatBody(text(textBytes))
				last = b.Do(t, traffic.Request{Body: body})
				if last.Status != http.StatusServiceUnavailable {
					t.Errorf("status %d, want 503", last.Status)
				}
				p := b.Pick(t, last.ID)
				if p.Attempts != len(b.Sims) {
					e := b.Entry(t, last.ID)
					t.Errorf("picked %+v, want %d attempts; Envoy says %s, %s after %s", p, len(b.Sims), e.String("flags"), e.String("details"), e.String("attempts"))
				}
				if !listed {
					arrived(t, b, last, body, len(b.Sims))
				} else if tried := whole(t, b, last, body); len(tried) < plan.ListLength || len(b.Arrivals(last.ID)) != len(b.Sims) {
					t.Errorf("tried %v in %d attempts, want the whole list and one more", tried, len(b.Arrivals(last.ID)))
				}
			}
			if p := b.Pick(t, last.ID); p.Reason != "all_cooling" && !listed {
				t.Errorf("picked %+v while all endpoints were cooled down", p)
			}
			b.Heal(t)
			recovers(t, b, b.Sims...)
		})
	}
}

// broken breaks a response that has begun: the client sees that, and nobody asks again.
func broken(t *testing.T, b *traffic.Bed) {
	traffic.Break(t, simserver.Faults{Request: simserver.RequestFault{Mode: simserver.RequestResetMid}}, b.Sims...)
	defer b.Heal(t)
	for _, body := range []string{`{"model":"m","messages":[{"role":"user","content":"x"}]}`, `{"model":"m","stream":true,"messages":[{"role":"user","content":"x"}]}`} {
		id := traffic.NewID()
		if _, err := b.TryAs(t, id, traffic.Request{Body: []byte(body)}); err == nil {
			t.Error("a response that broke off reads as complete")
		}
		if n := len(b.Arrivals(id)); n != 1 {
			t.Errorf("%d attempts, want 1", n)
		}
	}
}

// agent kills the agent: requests go on with the last snapshot. A new agent is taken up.
func agent(t *testing.T, b *traffic.Bed) {
	chat, sim := place(t, b)
	b.Agent.Kill()
	before := b.FilterStats(t)
	b.WaitCounters(t, map[string]float64{"zerohop_poll_errors_total": before["zerohop_poll_errors_total"] + 1})
	for range 8 {
		send(t, b, text(textBytes))
	}
	if p := b.Pick(t, send(t, b, chat).ID); p.Endpoint != sim.Addr() || p.Matched != p.Total || p.Reason != "scored" {
		t.Errorf("picked %+v, want a hit at %s", p, sim.Addr())
	}
	traffic.Until(t, "metrics to be too old", func() error {
		send(t, b, text(600))
		if n := b.FilterStats(t)["zerohop_neutral_scores_total"]; n == before["zerohop_neutral_scores_total"] {
			return fmt.Errorf("%g neutral scores", n)
		}
		return nil
	})
	if p := b.Pick(t, send(t, b, chat).ID); p.Endpoint != sim.Addr() || p.Matched != p.Total || p.Reason != "scored" {
		t.Errorf("picked %+v with old metrics, want a hit at %s", p, sim.Addr())
	}
	before = b.FilterStats(t)
	if err := b.StartAgent(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.WaitCounters(t, map[string]float64{"zerohop_snapshots_total": before["zerohop_snapshots_total"] + 1})
	send(t, b, text(600))
}

// dead stops the endpoints for good, one after the other.
func dead(t *testing.T, b *traffic.Bed) {
	for left := len(b.Sims) - 1; left >= 0; left-- {
		chat, sim := place(t, b)
		if err := sim.Close(); err != nil {
			t.Fatal(err)
		}
		if left == 0 {
			r := b.Do(t, traffic.Request{Body: traffic.ChatBody(chat)})
			if p := b.Pick(t, r.ID); r.Status != http.StatusServiceUnavailable || p.Attempts != 4 {
				t.Errorf("status %d after %+v, want 503 after 4 attempts", r.Status, p)
			}
			return
		}
		r := send(t, b, chat)
		if p := b.Pick(t, r.ID); p.Attempts < 2 || b.Sim(t, p.Endpoint).Name() != r.Endpoint() {
			t.Errorf("%d endpoints left: served by %q, picked %+v, want a later attempt", left, r.Endpoint(), p)
		}
	}
}
