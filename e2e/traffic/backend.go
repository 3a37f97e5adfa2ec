package traffic

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/zerohop/zerohop/e2e/harness"
)

// idlePage is the metrics page of an endpoint that has nothing to do.
const idlePage = `vllm:num_requests_running{engine="0",model_name="m"} 0
vllm:num_requests_waiting{engine="0",model_name="m"} 0
vllm:kv_cache_usage_perc{engine="0",model_name="m"} 0
vllm:cache_config_info{block_size="16",engine="0",num_gpu_blocks="4096"} 1
`

// Backend starts an endpoint whose answers a test writes itself, HTTP/1.1 and HTTP/2. It has a metrics page of its own.
func Backend(t *testing.T, name string, h http.HandlerFunc) harness.Endpoint {
	t.Helper()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/metrics" {
			_, _ = w.Write([]byte(idlePage))
			return
		}
		h(w, r)
	}))
	s.Start()
	t.Cleanup(func() {
		s.CloseClientConnections() // Envoy, which keeps connections open, ends after this
		s.Close()
	})
	return harness.Endpoint{Name: name, Address: strings.TrimPrefix(s.URL, "http://")}
}

// Canary is a server that no request may reach.
type Canary struct {
	Addr string // ip:port
	hits atomic.Int64
}

// NewCanary starts a canary.
func NewCanary(t *testing.T) *Canary {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &Canary{Addr: l.Addr().String()}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			c.hits.Add(1)
			_, _ = conn.Write([]byte("HTTP/1.1 200 OK\r\ncontent-length: 6\r\nconnection: close\r\n\r\ncanary"))
			conn.Close()
		}
	}()
	t.Cleanup(func() {
		l.Close()
		<-done
	})
	return c
}

// Connections returns how many connections the canary has had.
func (c *Canary) Connections() int { return int(c.hits.Load()) }

// DeadAddress returns an address at which connections are refused: nothing listens on it.
func DeadAddress(t *testing.T) string {
	t.Helper()
	addrs, err := harness.FreePorts(1)
	if err != nil {
		t.Fatal(err)
	}
	return addrs[0]
}
