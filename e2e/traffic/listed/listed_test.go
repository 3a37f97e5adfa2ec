// Package listed shows on a real Envoy what destination mode list does: Envoy's override_host cluster takes one address of
// the list after the other, although the attempt filter has hidden the list from the model servers by then, and the filter
// knows which endpoint served.
package listed

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/zerohop/zerohop/e2e/harness"
	"github.com/zerohop/zerohop/e2e/traffic"
	"github.com/zerohop/zerohop/shared/names"
	"github.com/zerohop/zerohop/shared/plan"
)

// listCluster is the cluster that takes lists.
const listCluster = "zerohop_endpoints"

// server is an endpoint that does as it is told.
type server struct {
	harness.Endpoint
	pool *pool
}

// pool is a number of servers and what arrived at them.
type pool struct {
	servers []*server

	mu      sync.Mutex
	failing func(addr string, n int) bool // n counts the attempts of one request, from 0
	seen    map[string][]string           // addresses by request
	leaked  []string                      // headers of ours that arrived
}

func newPool(t *testing.T, n int) *pool {
	t.Helper()
	p := &pool{seen: map[string][]string{}}
	for i := range n {
		s := &server{pool: p}
		s.Endpoint = traffic.Backend(t, fmt.Sprint("pod-", i), func(w http.ResponseWriter, r *http.Request) { s.serve(w, r) })
		p.servers = append(p.servers, s)
	}
	return p
}

func (s *server) serve(w http.ResponseWriter, r *http.Request) {
	p := s.pool
	id := r.URL.Query().Get("id")
	p.mu.Lock()
	n := len(p.seen[id])
	p.seen[id] = append(p.seen[id], s.Address)
	for _, name := range names.Stripped {
		if v := r.Header.Values(name); len(v) > 0 {
			p.leaked = append(p.leaked, fmt.Sprintf("%s: %v", name, v))
		}
	}
	fail := p.failing != nil && p.failing(s.Address, n)
	p.mu.Unlock()
	if fail {
		if c, _, err := http.NewResponseController(w).Hijack(); err == nil {
			c.Close() // before a byte of the response
		}
		return
	}
	fmt.Fprint(w, s.Address)
}

func (p *pool) endpoints() []harness.Endpoint {
	var eps []harness.Endpoint
	for _, s := range p.servers {
		eps = append(eps, s.Endpoint)
	}
	return eps
}

// fail says which attempts fail from now on.
func (p *pool) fail(f func(addr string, n int) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.failing = f
}

// attempts returns the addresses at which a request arrived.
func (p *pool) attempts(id string) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.seen[id])
}

// start starts an Envoy in mode list that needs no agent.
func start(t *testing.T, p *pool, edit func([]byte) ([]byte, error)) *traffic.Bed {
	t.Helper()
	b := traffic.Start(t, traffic.Options{Options: harness.Options{
		Attempts:  "{retries: unanswered}",
		Endpoints: p.endpoints(), DestinationMode: plan.DestinationList, Edge: true, Edit: edit,
	}})
	t.Cleanup(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if len(p.leaked) > 0 {
			t.Errorf("endpoints saw %d headers of ours, the first is %s", len(p.leaked), p.leaked[0])
		}
	})
	return b
}

var seed uint64

// ask sends a chat that no other request has, waits until it is logged, and checks that the filter knows what Envoy did.
func ask(t *testing.T, b *traffic.Bed, p *pool, cluster string) (attempts []string, status int) {
	t.Helper()
	seed++
	resp := b.Do(t, traffic.Request{HTTP2: seed%2 == 0, Body: traffic.ChatBody(traffic.Text(seed, 2000))})
	e, pick := b.Entry(t, resp.ID), b.Pick(t, resp.ID)
	attempts = p.attempts(resp.ID)
	if got := e.String("cluster"); got != cluster {
		t.Errorf("sent to cluster %q, want %q", got, cluster)
	}
	if len(attempts) == 0 || pick.Endpoint != attempts[len(attempts)-1] || e.String("upstream") != pick.Endpoint || pick.Attempts != len(attempts) {
		t.Errorf("attempts at %v, Envoy says %s, the filter %+v", attempts, e.String("upstream"), pick)
	}
	if resp.Status == http.StatusOK && string(resp.Body) != pick.Endpoint {
		t.Errorf("served by %s, the filter says %s", resp.Body, pick.Endpoint)
	}
	return attempts, resp.Status
}

// TestRetriesFollowTheList lets one attempt after the other fail: each goes to another endpoint, those beyond the list to
// what the cluster's fallback policy says.
func TestRetriesFollowTheList(t *testing.T) {
	p := newPool(t, 6)
	b := start(t, p, nil)
	for fails := range 4 { // the route allows three retries
		p.fail(func(_ string, n int) bool { return n < fails })
		attempts, status := ask(t, b, p, listCluster)
		if status != http.StatusOK || len(attempts) != fails+1 {
			t.Errorf("%d failures: status %d, attempts at %v", fails, status, attempts)
		}
		if sorted := slices.Compact(slices.Sorted(slices.Values(attempts))); len(sorted) != len(attempts) {
			t.Errorf("%d failures: attempts at %v, want each at another endpoint", fails, attempts)
		}
	}
	p.fail(func(string, int) bool { return true })
	if attempts, status := ask(t, b, p, listCluster); status != http.StatusServiceUnavailable || len(attempts) != 4 {
		t.Errorf("all fail: status %d, attempts at %v", status, attempts)
	}
	p.fail(nil)
	b.Agree(t)
}

// TestBlame lets one endpoint fail for good: after its first failures it gets next to nothing, and all that it was asked in
// vain is served by others.
func TestBlame(t *testing.T) {
	p := newPool(t, 4)
	b := start(t, p, nil)
	bad := p.servers[0].Address
	p.fail(func(addr string, _ int) bool { return addr == bad })
	asked := 0
	for range 60 {
		attempts, status := ask(t, b, p, listCluster)
		if status != http.StatusOK {
			t.Fatalf("status %d, attempts at %v", status, attempts)
		}
		for i, addr := range attempts {
			if addr == bad {
				asked++
			} else if i+1 < len(attempts) {
				t.Errorf("attempts at %v: %s did not fail", attempts, addr)
			}
		}
	}
	if asked == 0 || asked > 10 {
		t.Errorf("the endpoint that fails was asked %d times in 60 requests", asked)
	}
	b.WaitCounters(t, map[string]float64{"zerohop_cooldowns_total": float64(asked)})
	b.Agree(t)
}

// TestClusterLacksEndpoints has a cluster that knows only two of four endpoints, as when Envoy's list of them is late: what was
// picked is skipped, and the load is booked where it is.
func TestClusterLacksEndpoints(t *testing.T) {
	p := newPool(t, 4)
	known := p.servers[2:]
	b := start(t, p, func(bootstrap []byte) ([]byte, error) { return without(bootstrap, p.servers[:2]) })
	served := map[string]int{}
	for range 30 {
		attempts, status := ask(t, b, p, listCluster)
		if status != http.StatusOK || len(attempts) != 1 {
			t.Fatalf("status %d, attempts at %v", status, attempts)
		}
		served[attempts[0]]++
	}
	for _, s := range known {
		if served[s.Address] == 0 {
			t.Errorf("served by %v; want both that the cluster knows", served)
		}
	}
	if len(served) != len(known) {
		t.Errorf("served by %v", served)
	}
}

// without takes endpoints out of the list cluster.
func without(bootstrap []byte, servers []*server) ([]byte, error) {
	head, tail, ok := strings.Cut(string(bootstrap), "name: "+listCluster+"\n")
	if !ok {
		return nil, fmt.Errorf("no cluster %s", listCluster)
	}
	cluster, rest, _ := strings.Cut(tail, "\n  - name: ")
	for _, s := range servers {
		port := s.Address[strings.LastIndexByte(s.Address, ':')+1:]
		line := regexp.MustCompile(`(?m)^.*port_value: ` + port + `\b.*\n`)
		if n := len(line.FindAllString(cluster, -1)); n != 1 {
			return nil, fmt.Errorf("%d lines with port %s in cluster %s, want 1", n, port, listCluster)
		}
		cluster = line.ReplaceAllString(cluster, "")
	}
	return []byte(head + "name: " + listCluster + "\n" + cluster + "\n  - name: " + rest), nil
}

// TestSingleEndpoint has nothing to list: the request goes by the header's one address, and a failure is retried there.
func TestSingleEndpoint(t *testing.T) {
	p := newPool(t, 1)
	b := start(t, p, nil)
	for fails := range 2 {
		p.fail(func(_ string, n int) bool { return n < fails })
		if attempts, status := ask(t, b, p, "zerohop_destination"); status != http.StatusOK || len(attempts) != fails+1 {
			t.Errorf("%d failures: status %d, attempts at %v", fails, status, attempts)
		}
	}
	b.Agree(t)
}
