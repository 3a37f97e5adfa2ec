package failures

import (
	"fmt"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/zerohop/zerohop/e2e/harness"
	"github.com/zerohop/zerohop/e2e/traffic"
)

// headerServer names the server that answers.
const headerServer = "X-Server"

// scripted is a pair of servers that keep streams open until they are told, and break the first attempt of each GET.
type scripted struct {
	release chan struct{}

	mu   sync.Mutex
	gets map[string]int
}

func (s *scripted) serve(name string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(headerServer, name)
		switch {
		case r.Method == http.MethodGet:
			s.mu.Lock()
			s.gets[r.URL.RawQuery]++
			first := s.gets[r.URL.RawQuery] == 1
			s.mu.Unlock()
			if first {
				if c, _, err := http.NewResponseController(w).Hijack(); err == nil {
					_ = c.Close()
				}
				return
			}
			fmt.Fprint(w, name)
		case r.Header.Get("X-Hold") != "":
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, "data: {}\n\n")
			_ = http.NewResponseController(w).Flush()
			select {
			case <-s.release:
			case <-r.Context().Done():
			}
			fmt.Fprint(w, "data: [DONE]\n\n")
		default:
			fmt.Fprint(w, name)
		}
	}
}

// TestDrainingEndpoint takes an endpoint away that has a stream open: it gets no new request, and the stream goes on to its end,
// also beyond the time that it had for its first byte.
func TestDrainingEndpoint(t *testing.T) {
	s := &scripted{release: make(chan struct{}), gets: map[string]int{}}
	servers := []harness.Endpoint{traffic.Backend(t, "a", s.serve("a")), traffic.Backend(t, "b", s.serve("b"))}
	b := traffic.Start(t, traffic.Options{Options: harness.Options{
		Endpoints: servers, Attempts: fmt.Sprintf("{firstByteTimeout: %v}", firstByte),
	}})
	t.Run("GET is sent again", func(t *testing.T) {
		for range 4 {
			if r := b.Do(t, traffic.Request{Method: http.MethodGet, Path: "/v1/models"}); r.Status != http.StatusOK || b.Pick(t, r.ID).Attempts != 2 {
				t.Errorf("status %d, picked %+v, want 200 in attempt 2", r.Status, b.Pick(t, r.ID))
			}
		}
	})
	opened := time.Now()
	resp, id := b.Open(t, traffic.Request{
		Header: http.Header{"X-Hold": {"1"}}, Body: []byte(`{"model":"m","stream":true,"messages":[{"role":"user","content":"x"}]}`),
	})
	defer resp.Body.Close()
	draining, left := servers[0], servers[1]
	if resp.Header.Get(headerServer) == left.Name {
		draining, left = left, draining
	}
	if err := b.WriteEndpoints([]harness.Endpoint{left}); err != nil {
		t.Fatal(err)
	}
	ask := func() string {
		return b.Do(t, traffic.Request{Body: traffic.ChatBody(text(600))}).Header.Get(headerServer)
	}
	row := 0
	traffic.Until(t, "new requests to stay away from "+draining.Name, func() error {
		if row++; ask() != left.Name {
			row = 0
		}
		if row < 10 {
			return fmt.Errorf("%d requests in a row to %s", row, left.Name)
		}
		return nil
	})
	for range 20 {
		if got := ask(); got != left.Name {
			t.Errorf("%s, which drains, got a request", got)
		}
	}
	<-time.After(time.Until(opened.Add(firstByte + firstByte/2)))
	close(s.release)
	rest, err := io.ReadAll(resp.Body)
	if err != nil || string(rest) != "data: {}\n\ndata: [DONE]\n\n" {
		t.Errorf("the stream of the endpoint that drains ends with %q, %v", rest, err)
	}
	if p := b.Pick(t, id); p.Endpoint != draining.Address || p.Attempts != 1 {
		t.Errorf("picked %+v, want %s in one attempt", p, draining.Address)
	}
}
