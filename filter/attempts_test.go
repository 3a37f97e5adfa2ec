package filter_test

import (
	"strings"
	"testing"
	"time"

	"github.com/zerohop/zerohop/filter/hosttest"
	"github.com/zerohop/zerohop/filter/hosttest/lifecycletest"
	"github.com/zerohop/zerohop/shared/names"
	"github.com/zerohop/zerohop/shared/plan"
)

// TestRouterIsTold looks at what Envoy's router gets to know of attempts, by request and plan. Clients have no say in it.
func TestRouterIsTold(t *testing.T) {
	const both = "reset,retriable-status-codes"
	chat := lifecycletest.ChatBody("hello")
	stream := strings.Replace(chat, "{", `{"stream":true,`, 1)
	for _, tt := range []struct {
		name               string
		attempts           plan.Attempts
		request            hosttest.Request
		retryOn, firstByte string
	}{
		{"chat", plan.Attempts{}, lifecycletest.Chat(chat), "", ""},
		{"streamed chat", plan.Attempts{}, lifecycletest.Chat(stream), "", ""},
		{"GET", plan.Attempts{Retries: plan.RetryUnsent}, lifecycletest.Models(), both, ""},
		{"chat, unsent", plan.Attempts{Retries: plan.RetryUnsent, FirstByteMs: 1500}, lifecycletest.Chat(chat), "", ""},
		{"streamed chat, unsent", plan.Attempts{Retries: plan.RetryUnsent, FirstByteMs: 1500}, lifecycletest.Chat(stream), "", "1500"},
		{"chat, unanswered", plan.Attempts{Retries: plan.RetryUnanswered, FirstByteMs: 1500}, lifecycletest.Chat(chat), both, ""},
		{"streamed chat, unanswered", plan.Attempts{Retries: plan.RetryUnanswered, FirstByteMs: 1500}, lifecycletest.Chat(stream), both, "1500"},
		{"GET, unanswered", plan.Attempts{Retries: plan.RetryUnanswered, FirstByteMs: 1500}, lifecycletest.Models(), both, ""},
	} {
		for _, mode := range []string{plan.DestinationHeader, plan.DestinationFilterState, plan.DestinationList, "fallback"} {
			t.Run(tt.name+"/"+mode, func(t *testing.T) {
				pl := lifecycletest.Plan(plan.DestinationHeader, 3)
				if mode == "fallback" {
					pl = lifecycletest.Plan(plan.DestinationHeader, 0)
					pl.FailureMode = plan.FailOpen
				} else {
					pl.Destination = mode
				}
				pl.Attempts = tt.attempts
				p := hosttest.NewProcess()
				w := p.AddWorker(hosttest.NewNative)
				if !w.LoadBoth(plan.Append(nil, pl)) {
					t.Fatalf("plan refused: %v", p.Logs)
				}
				r := lifecycletest.Forged(tt.request)
				w.NoEarlyStrip = true
				res := w.Do(&r)
				if res.RetryOn != tt.retryOn || res.FirstByte != tt.firstByte {
					t.Errorf("the router is told to retry on %q and wait %q ms, want %q and %q", res.RetryOn, res.FirstByte, tt.retryOn, tt.firstByte)
				}
				for _, name := range names.Stripped {
					if res.Sent.Has(name) {
						t.Errorf("the server got %s", name)
					}
				}
			})
		}
	}
}

// TestSnapshotTooOld lets the agent have nothing newer, then go away for longer than the plan bears, and come back.
func TestSnapshotTooOld(t *testing.T) {
	for _, tt := range []struct {
		name   string
		maxAge int
		mode   string
		route  hosttest.Route
		reason string
	}{
		{"refused", 60_000, plan.FailClose, hosttest.ToClient, "snapshot_too_old"},
		{"to the fallback", 60_000, plan.FailOpen, hosttest.ToFallback, "snapshot_too_old"},
		{"never too old", 0, plan.FailClose, hosttest.ToEndpoint, "scored"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			pl := lifecycletest.Plan(plan.DestinationHeader, 0)
			pl.FailureMode, pl.Agent.MaxAgeMs = tt.mode, tt.maxAge
			p := hosttest.NewProcess()
			p.Agent = &hosttest.Agent{NotModifiedAfterMs: 5_000}
			leader, w := p.AddWorker(hosttest.NewNative), p.AddWorker(hosttest.NewNative)
			for _, x := range []*hosttest.Worker{leader, w} {
				if !x.LoadBoth(plan.Append(nil, pl)) {
					t.Fatalf("plan refused: %v", p.Logs)
				}
			}
			check := func(when string, route hosttest.Route, reason string) {
				t.Helper()
				r := lifecycletest.Chat(lifecycletest.ChatBody(lifecycletest.Text("age", 600)))
				res := w.Do(&r)
				if res.Route != route || res.Reason() != reason {
					t.Errorf("%s: %s, reason %s; want %s, %s", when, res.Route, res.Reason(), route, reason)
				}
				if route == hosttest.ToClient && (res.Status != 503 || !strings.Contains(string(res.Local.Headers), "rejected-")) {
					t.Errorf("%s: status %d, answer %+v", when, res.Status, res.Local)
				}
			}
			p.Run(time.Second)
			none := tt.route
			if none == hosttest.ToEndpoint {
				none = hosttest.ToClient
			}
			check("before the agent", none, "agent_unreachable")
			p.Agent.Publish(7, lifecycletest.Snapshot(7, 1, 2))
			p.Run(5 * time.Minute)
			check("as the agent has nothing newer", hosttest.ToEndpoint, "scored")
			p.Agent.Down = true
			p.Run(25 * time.Second)
			check("soon after the agent's end", hosttest.ToEndpoint, "scored")
			p.Run(5 * time.Minute)
			check("long after it", tt.route, tt.reason)
			p.Agent.Down = false
			p.Run(40 * time.Second)
			check("after it came back", hosttest.ToEndpoint, "scored")
		})
	}
}
