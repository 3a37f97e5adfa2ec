package sharing

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/zerohop/zerohop/e2e/harness"
	"github.com/zerohop/zerohop/e2e/traffic"
)

// moreListeners is the number of listeners beside the one that the bootstrap has.
const moreListeners = 49

// TestListeners runs fifty listeners of two filter chains each, all with the filter: there is one VM for each worker all the
// same, /ready answers, and what comes by one listener is known to all.
func TestListeners(t *testing.T) {
	var ports []string
	b := traffic.Start(t, traffic.Options{
		Options: harness.Options{Concurrency: workers, Edit: func(bootstrap []byte) ([]byte, error) {
			var err error
			if ports, err = harness.FreePorts(moreListeners); err != nil {
				return nil, err
			}
			return multiply(bootstrap, ports)
		}},
		Sims: 3, Sim: traffic.Instant(),
	})
	resp, err := http.Get("http://" + b.Envoy.Admin + "/ready")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if text, _ := io.ReadAll(resp.Body); resp.StatusCode != http.StatusOK {
		t.Errorf("/ready answers %d: %s", resp.StatusCode, text)
	}
	stats, err := b.Envoy.Stats(t.Context(), `listener_manager.total_listeners_active|wasm.*active`)
	if err != nil {
		t.Fatal(err)
	}
	if n := stats["listener_manager.total_listeners_active"]; n != moreListeners+1 {
		t.Errorf("%g listeners are active", n)
	}
	// Beside those of the workers there are the main thread's and the one that they are copied from.
	if n := stats.Sum("wasm", "active"); n != workers+2 {
		t.Errorf("%g VMs are active, want %d: %v", n, workers+2, stats)
	}
	conns := connect(t, b, workers)
	for i, addr := range ports {
		for k, from := range []string{"", "127.0.0.2"} { // by one filter chain and by the other
			body := prompt(2*i + k)
			known := conns[i%workers].chat(t, body)
			time.Sleep(looked)
			c, id := dial(t, b, from), traffic.NewID()
			if a := c.post(t, "http://"+addr+traffic.PathChat+"?id="+id, body); a.status != http.StatusOK {
				t.Fatalf("listener %d from %q: status %d: %.300s", i, from, a.status, a.body)
			}
			if p := b.Pick(t, id); p.Endpoint != known.endpoint || p.Matched != p.Total || p.Total == 0 {
				t.Errorf("listener %d from %q: picked %+v; want all blocks at %s", i, from, p, known.endpoint)
			}
		}
	}
	if n := b.FilterStats(t)["zerohop_sharing_vms"]; n != workers+1 {
		t.Errorf("%g VMs share, want %d", n, workers+1)
	}
}

// multiply gives the bootstrap's listener a second filter chain, and repeats it at other addresses.
func multiply(bootstrap []byte, addrs []string) ([]byte, error) {
	head, rest, ok := bytes.Cut(bootstrap, []byte("\n  listeners:\n"))
	end := bytes.Index(rest, []byte("\n  clusters:"))
	if !ok || end < 0 {
		return nil, errors.New("the bootstrap has no listeners before its clusters")
	}
	listener, tail := string(rest[:end]), rest[end:]
	begin, chain, ok := strings.Cut(listener, "    filter_chains:\n    - filters:\n")
	if !ok {
		return nil, fmt.Errorf("the listener is written in another way:\n%.300s", listener)
	}
	const other = "    - filter_chain_match: {source_prefix_ranges: [{address_prefix: 127.0.0.2, prefix_len: 32}]}\n      name: other\n      filters:\n"
	two := "    filter_chains:\n    - name: one\n      filters:\n" + chain + "\n" + other + chain + "\n"
	var out bytes.Buffer
	out.Write(head)
	out.WriteString("\n  listeners:\n" + begin + two)
	for i, addr := range addrs {
		fmt.Fprintf(&out, "  - name: clients-%d\n    address: {socket_address: {address: \"127.0.0.1\", port_value: %s}}\n%s", i, addr[strings.LastIndexByte(addr, ':')+1:], two)
	}
	out.Write(tail)
	return out.Bytes(), nil
}
