package bodies

import (
	"maps"
	"net/http"
	"sync"
	"testing"

	"github.com/zerohop/zerohop/e2e/harness"
	"github.com/zerohop/zerohop/e2e/traffic"
)

// TestWithoutBody sends requests that have no body to read: they are routed by load alone, evenly over endpoints that are
// idle, and away from one that has many requests open.
func TestWithoutBody(t *testing.T) {
	var mu sync.Mutex
	served := map[string]int{}
	gate, arrived := make(chan struct{}), make(chan string, 100)
	handler := func(name string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost {
				arrived <- name
				<-gate
				return
			}
			mu.Lock()
			defer mu.Unlock()
			served[name]++
		}
	}
	var endpoints []harness.Endpoint
	for _, name := range []string{"a", "b", "c"} {
		endpoints = append(endpoints, traffic.Backend(t, name, handler(name)))
	}
	b := traffic.Start(t, traffic.Options{Options: harness.Options{Endpoints: endpoints}})
	requests := []traffic.Request{
		{Method: http.MethodGet, Path: "/v1/models"},
		{Method: http.MethodGet, Path: "/v1/models", HTTP2: true},
		{Method: http.MethodHead, Path: "/v1/models"},
		{Method: http.MethodGet, Path: "/version"},
		{Method: http.MethodDelete, Path: "/v1/files/x"},
		{Method: http.MethodOptions, Path: traffic.PathChat},
	}
	const rounds = 20
	send := func() map[string]int {
		mu.Lock()
		clear(served)
		mu.Unlock()
		for range rounds {
			for _, r := range requests {
				resp := b.Do(t, r)
				if resp.Status != http.StatusOK {
					t.Fatalf("%s %s: status %d", r.Method, r.Path, resp.Status)
				}
			}
		}
		mu.Lock()
		defer mu.Unlock()
		return maps.Clone(served)
	}
	total := rounds * len(requests)
	for name, n := range send() {
		if n < total/5 || n > total/2 {
			t.Errorf("%s served %d of %d", name, n, total)
		}
	}

	// A long prompt sticks to its endpoint, so that its load does.
	var clients sync.WaitGroup
	body := traffic.ChatBody(traffic.Text(1, 20_000))
	busy := map[string]int{}
	for range 12 {
		clients.Go(func() { _, _ = b.Try(t, traffic.Request{Body: body}) })
		busy[<-arrived]++
	}
	most := ""
	for name, n := range busy {
		if most == "" || n > busy[most] {
			most = name
		}
	}
	if n := send()[most]; n > total/5 {
		t.Errorf("%s, the endpoint with the most open requests %v, served %d of %d", most, busy, n, total)
	}
	close(gate)
	clients.Wait()
}
