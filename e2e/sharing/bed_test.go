// Package sharing shows on a real Envoy with several workers that what one of them does is known to all, that a VM that is lost
// takes nothing along, and that all counts return to zero.
package sharing

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/zerohop/zerohop/e2e/traffic"
)

func TestMain(m *testing.M) { os.Exit(traffic.Main(m)) }

// workers is the number of Envoy's worker threads; the main thread has a VM too.
const workers = 4

// patience is how long anything may take on a busy machine.
const patience = 30 * time.Second

// conn is one connection to Envoy, and thus to one of its workers.
type conn struct {
	*http.Client
	bed *traffic.Bed
	vm  string // the VM that served its last request
}

func dial(t *testing.T, b *traffic.Bed, from string) *conn {
	t.Helper()
	d := net.Dialer{}
	if from != "" {
		d.LocalAddr = &net.TCPAddr{IP: net.ParseIP(from)}
	}
	tr := &http.Transport{DialContext: d.DialContext, MaxConnsPerHost: 1, MaxIdleConnsPerHost: 1}
	t.Cleanup(tr.CloseIdleConnections)
	return &conn{Client: &http.Client{Transport: tr, Timeout: patience}, bed: b}
}

// answer is what came of a request.
type answer struct {
	status         int
	body           []byte
	vm, endpoint   string
	matched, total int
}

// chat sends a chat and waits for its line in the access log.
func (c *conn) chat(t *testing.T, body []byte, header ...string) answer {
	t.Helper()
	id := traffic.NewID()
	a := c.post(t, c.bed.URL()+traffic.PathChat+"?id="+id, body, header...)
	line := c.bed.Entry(t, id).String("pick")
	if line == "" {
		return a
	}
	p, err := traffic.ParsePick(line)
	if err != nil {
		t.Fatal(err)
	}
	a.endpoint, a.matched, a.total = p.Endpoint, p.Matched, p.Total
	const epoch = 16 // digits that an id begins with
	if i := strings.LastIndex(line, "id="); i >= 0 && len(line) >= i+3+epoch {
		a.vm = line[i+3:][:epoch]
		c.vm = a.vm
	}
	return a
}

func (c *conn) post(t *testing.T, url string, body []byte, header ...string) answer {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	a := answer{status: resp.StatusCode}
	if a.body, err = io.ReadAll(resp.Body); err != nil {
		t.Fatal(err)
	}
	return a
}

// connect returns one connection to each of n workers.
func connect(t *testing.T, b *traffic.Bed, n int) []*conn {
	t.Helper()
	var out []*conn
	seen := map[string]bool{}
	for tries := 0; len(out) < n; tries++ {
		if tries == 40*n {
			t.Fatalf("%d connections reach %d workers only", tries, len(out))
		}
		c := dial(t, b, "")
		if a := c.chat(t, short(traffic.ChatBody(traffic.Text(uint64(1_000_000+tries), 300)))); a.status != http.StatusOK {
			t.Fatalf("status %d: %.300s", a.status, a.body)
		}
		if !seen[c.vm] {
			seen[c.vm] = true
			out = append(out, c)
		}
	}
	return out
}

// prompt returns a chat of many blocks that only calls with the same number have.
func prompt(i int) []byte { return traffic.ChatBody(traffic.Text(uint64(i), 3000)) }

// believed returns the requests in flight at all endpoints as the worker of c believes, by a dry run.
func (c *conn) believed(t *testing.T) int {
	t.Helper()
	a := c.post(t, c.bed.URL()+"/zerohop/explain?path="+traffic.PathChat, traffic.ChatBody("hi"))
	var out struct {
		Best []struct{ InFlight int }
	}
	if err := json.Unmarshal(a.body, &out); err != nil || a.status != http.StatusOK {
		t.Fatalf("dry run: status %d, %v: %.300s", a.status, err, a.body)
	}
	n := 0
	for _, e := range out.Best {
		n += e.InFlight
	}
	return n
}

// reported returns the requests in flight at each endpoint as the agent has them from the filters, by address.
func reported(t *testing.T, b *traffic.Bed) map[string]int {
	t.Helper()
	resp, err := http.Get(b.AgentURL() + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]int{}
	for line := range strings.Lines(string(text)) {
		labels, isMetric := strings.CutPrefix(line, "zerohop_agent_endpoint_in_flight_requests{")
		_, address, named := strings.Cut(labels, `address="`)
		address, value, closed := strings.Cut(address, `"`)
		if !isMetric || !named || !closed {
			continue
		}
		n, err := strconv.ParseFloat(strings.TrimSpace(value[strings.IndexByte(value, '}')+1:]), 64)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		out[address] = int(n)
	}
	return out
}

// agree reports whether the filters count n requests in flight, each where the endpoints have it.
func agree(t *testing.T, b *traffic.Bed, n int) error {
	t.Helper()
	got, sum := reported(t, b), 0
	for _, sim := range b.Sims {
		has := int(sim.Stats().InFlight)
		sum += has
		if got[sim.Addr()] != has {
			return fmt.Errorf("%s has %d in flight, the filters count %d there", sim.Name(), has, got[sim.Addr()])
		}
	}
	if sum != n {
		return fmt.Errorf("the endpoints have %d in flight, want %d", sum, n)
	}
	return nil
}

func bodyReader(b []byte) io.Reader { return bytes.NewReader(b) }
