package reports

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"testing"

	"github.com/zerohop/zerohop/e2e/harness"
	"github.com/zerohop/zerohop/e2e/traffic"
	"github.com/zerohop/zerohop/xds/publish"
)

// TestAgentAddsUp asks the real agent what two workers did, and asks again after the agent was restarted: what is in flight
// comes back, and what happened is not lost with the agent.
func TestAgentAddsUp(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a real Envoy")
	}
	gate, arrived := make(chan struct{}), make(chan struct{}, 100)
	handler := func(w http.ResponseWriter, r *http.Request) {
		arrived <- struct{}{}
		select {
		case <-gate:
		case <-r.Context().Done():
		}
		fmt.Fprint(w, "done")
	}
	var endpoints []harness.Endpoint
	for _, name := range []string{"a", "b"} {
		endpoints = append(endpoints, traffic.Backend(t, name, handler))
	}
	b := traffic.Start(t, traffic.Options{Options: harness.Options{Endpoints: endpoints, Concurrency: envoyWorkers}})
	const requests = 24
	var clients sync.WaitGroup
	for i := range requests {
		clients.Go(func() {
			r := traffic.Request{Body: traffic.ChatBody(traffic.Text(uint64(i), 2000))}
			if resp, err := b.Try(t, r); err != nil || resp.Status != http.StatusOK {
				t.Errorf("request %d: %v, %+v", i, err, resp)
			}
		})
	}
	for range requests {
		traffic.Receive(t, "the requests to arrive", arrived)
	}
	want := func(what string, inFlight, picks uint64) {
		t.Helper()
		traffic.Until(t, what, func() error {
			got, err := reported(t, b)
			if err == nil && (got.InFlight != inFlight || got.Picks != picks || (got.InFlightTokens > 0) != (inFlight > 0)) {
				err = fmt.Errorf("the agent says %+v, want %d in flight and %d picks", got, inFlight, picks)
			}
			return err
		})
	}
	want("requests in flight", requests, requests)
	if err := b.StartAgent(t.Context()); err != nil {
		t.Fatal(err)
	}
	want("another agent to know", requests, requests)
	close(gate)
	clients.Wait()
	want("nothing in flight", 0, requests)
}

// reported adds up what the agent says of all endpoints.
func reported(t *testing.T, b *traffic.Bed) (sum publish.Load, err error) {
	t.Helper()
	resp, err := http.Get(b.AgentURL() + publish.PathPage)
	if err != nil {
		return sum, err
	}
	defer resp.Body.Close()
	var page publish.Page
	if err := json.NewDecoder(resp.Body).Decode(&page); err != nil {
		return sum, err
	}
	for _, e := range page.Endpoints {
		if e.Reported != nil {
			sum.InFlight += e.Reported.InFlight
			sum.InFlightTokens += e.Reported.InFlightTokens
			sum.Picks += e.Reported.Picks
		}
	}
	return sum, nil
}
