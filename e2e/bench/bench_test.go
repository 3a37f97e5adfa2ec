package main

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/zerohop/zerohop/e2e/loadgen"
	"sigs.k8s.io/yaml"
)

func TestBodies(t *testing.T) {
	for _, size := range sizes {
		b := newBodies(size, false)
		var serial uint64
		src := b.source(&serial)
		var got [prefixes + 1]string
		for i := range got {
			req, ok := src(i)
			if !ok {
				t.Fatal("the source ended")
			}
			got[i] = string(req.Body)
			req.Done()
			if len(got[i]) != size || !json.Valid([]byte(got[i])) {
				t.Fatalf("size %d: body has %d bytes, valid JSON: %v", size, len(got[i]), json.Valid([]byte(got[i])))
			}
		}
		// Requests 0 and 8 have the same prefix, and tails of their own; request 1 has another prefix.
		same, other := common(got[0], got[prefixes]), common(got[0], got[1])
		if share := same * 100 / size; share < sharedPct-20 || share > sharedPct+20 {
			t.Errorf("size %d: %d %% shared with the same prefix, want about %d", size, share, sharedPct)
		}
		if other > len(bodyHead)+serialBytes {
			t.Errorf("size %d: %d bytes shared with another prefix", size, other)
		}
		if strings.HasSuffix(got[prefixes], got[0][same:]) {
			t.Errorf("size %d: tails are equal", size)
		}
	}
}

func common(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

func TestBackends(t *testing.T) {
	b, err := startBackends(2, false)
	if err != nil {
		t.Fatal(err)
	}
	defer b.close()
	c := &http.Client{Transport: &http.Transport{}}
	defer c.CloseIdleConnections()
	for _, addr := range b.addrs() {
		payload := strings.Repeat("x", 100_000)
		for _, in := range []io.Reader{
			strings.NewReader(payload), strings.NewReader(payload), // the second over the same connection
			io.MultiReader(strings.NewReader(payload), strings.NewReader("y")), // in chunks, because its length is not known
			strings.NewReader(payload),
		} {
			resp, err := c.Post("http://"+addr+path, "application/json", in)
			if err != nil {
				t.Fatal(err)
			}
			body, _ := io.ReadAll(resp.Body)
			resp.Body.Close()
			if !json.Valid(body) || resp.StatusCode != 200 {
				t.Errorf("status %d, body %q", resp.StatusCode, body)
			}
		}
		resp, err := c.Get("http://" + addr + "/metrics")
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if string(body) != metricsPage {
			t.Errorf("metrics: %q", body)
		}
	}
}

// TestStream reads a streamed answer as the benchmark's client does, twice over one connection.
func TestStream(t *testing.T) {
	b, err := startBackends(1, true)
	if err != nil {
		t.Fatal(err)
	}
	defer b.close()
	c := loadgen.New(loadgen.Options{URL: "http://" + b.addrs()[0], Conns: 1, Timeout: 10 * time.Second, MaxInFlight: 1})
	defer c.Close()
	var serial uint64
	report := c.Closed(t.Context(), limit(newBodies(600, true).source(&serial), 2), 0)
	if report.Failed() > 0 || len(report.Results) != 2 {
		t.Fatalf("%d results, errors %v", len(report.Results), report.Errors)
	}
	for _, r := range report.Results {
		if r.Chunks != streamChunks {
			t.Errorf("%d chunks, want %d", r.Chunks, streamChunks)
		}
	}
}

func TestServeRejects(t *testing.T) {
	for name, in := range map[string]string{
		"bad chunk":  "POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\nx\r\n",
		"bad length": "POST / HTTP/1.1\r\ncontent-length: -5\r\n\r\n",
		"cut off":    "POST / HTTP/1.1\r\ncontent-length: 5\r\n\r\nxx",
	} {
		client, server := net.Pipe()
		go func() {
			io.WriteString(client, in)
			client.Close()
		}()
		if err := serve(server, false); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%s: got %v, want an error", name, err)
		}
		server.Close()
	}
}

func TestMedian(t *testing.T) {
	value := func(r round) time.Duration { return r.cpu }
	for _, tt := range []struct {
		name string
		in   []round
		want time.Duration
	}{
		{"one", []round{{cpu: 5}}, 5},
		{"odd", []round{{cpu: 9}, {cpu: 1}, {cpu: 4}}, 4},
		{"even", []round{{cpu: 9}, {cpu: 1}, {cpu: 4}, {cpu: 5}}, 4},
	} {
		if got := median(tt.in, value); got != tt.want {
			t.Errorf("%s: got %d, want %d", tt.name, got, tt.want)
		}
	}
}

func TestParseStat(t *testing.T) {
	tests := []struct {
		name, in string
		want     time.Duration
		ok       bool
	}{
		{"busy only", "cpu  10 1 20 9999 50 2 3 4 100 100\ncpu0 1 1 1\n", 40 * jiffy, true},
		{"too short", "cpu 1 2 3\n", 0, false},
		{"something else", "intr 1 2 3 4 5 6 7 8 9\n", 0, false},
		{"not a number", "cpu x 1 20 9999 50 2 3 4 100 100\n", 0, false},
		{"empty", "", 0, false},
	}
	for _, tt := range tests {
		got, err := parseStat([]byte(tt.in))
		if got != tt.want || (err == nil) != tt.ok {
			t.Errorf("%s: got %v, %v", tt.name, got, err)
		}
	}
}

func TestProcessCPU(t *testing.T) {
	a, err := processCPU(os.Getpid())
	if _, missing := os.Stat("/proc/self/schedstat"); missing != nil {
		if !errors.Is(err, os.ErrNotExist) {
			t.Errorf("got %v where the kernel keeps no scheduler statistics", err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	// The scheduler brings a running thread's time up to date at its ticks, so reading goes on until it has moved.
	for b := a; b <= a; {
		if b, err = processCPU(os.Getpid()); err != nil || b < a {
			t.Fatalf("CPU time went from %v to %v, %v", a, b, err)
		}
	}
	if _, err := processCPU(1 << 30); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v for a process that cannot exist", err)
	}
}

// sample returns results in which zerohop costs ratio times direct at every size.
func sample(ratio float64) []Result {
	var r []Result
	for _, s := range sizes {
		for _, c := range connections {
			r = append(r, Result{s, c, direct, 100, 200, 100}, Result{s, c, zerohop, 130, 250, 100 * ratio})
		}
	}
	return r
}

func TestAssertRatios(t *testing.T) {
	tests := []struct {
		name    string
		in      []Result
		wantErr []string
	}{
		{"within", sample(1.4), nil},
		{"small bodies over", sample(1.6), []string{"600 bytes", "6000 bytes"}},
		{"not measured", sample(1.4)[:4], []string{"only 1 of 4"}},
		{"no results", nil, []string{"only 0 of 4"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := assertRatios(tt.in)
			if (err == nil) != (tt.wantErr == nil) {
				t.Fatalf("got %v", err)
			}
			for _, want := range tt.wantErr {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q lacks %q", err, want)
				}
			}
		})
	}
}

func TestOutput(t *testing.T) {
	var table strings.Builder
	if err := printResults(&table, append(sample(1.4), Result{600, 1, epp, 900, 1000, 900})); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"+40.0", "1.40", "+30", "400000", "600 bytes, 1 connections: epp adds 20 ×"} {
		if !strings.Contains(table.String(), want) {
			t.Errorf("table lacks %q:\n%s", want, table.String())
		}
	}
	var svg struct {
		XMLName xml.Name
		G       []struct {
			Polyline []struct{} `xml:"polyline"`
		} `xml:"g"`
	}
	if err := xml.Unmarshal(plot(sample(1.4)), &svg); err != nil {
		t.Fatal(err)
	}
	if len(svg.G) != len(connections) || len(svg.G[0].Polyline) != 2 {
		t.Errorf("plot has %d panels", len(svg.G))
	}
}

func TestLikeOthers(t *testing.T) {
	const bootstrap = "static_resources: {listeners: [{access_log: [1], b: 2}]}\naccess_log: x\nplan: |\n  {\"access_log\": 1}\n"
	got, err := editBootstrap([]byte(bootstrap), likeOthers)
	if err != nil {
		t.Fatal(err)
	}
	var doc any
	if err := yaml.Unmarshal(got, &doc); err != nil {
		t.Fatal(err)
	}
	listener := map[string]any{"b": 2.0, "connection_balance_config": map[string]any{"exact_balance": map[string]any{}}}
	want := map[string]any{
		"static_resources": map[string]any{"listeners": []any{listener}}, "plan": "{\"access_log\": 1}\n",
	}
	if d := cmp.Diff(any(want), doc); d != "" {
		t.Errorf("bootstrap (-want +got):\n%s", d)
	}
}
