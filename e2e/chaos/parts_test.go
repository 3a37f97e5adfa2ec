package main

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/zerohop/zerohop/e2e/vllmsim/simserver"
)

func TestParseInFlight(t *testing.T) {
	page := `# HELP zerohop_agent_endpoint_in_flight_requests Requests in flight
zerohop_agent_endpoint_in_flight_requests{address="127.0.0.1:1",endpoint_name="a"} 3
zerohop_agent_endpoint_in_flight_requests{address="127.0.0.1:1",endpoint_name="b"} 2
zerohop_agent_endpoint_in_flight_requests{address="127.0.0.1:2",endpoint_name="c"} 0
zerohop_agent_endpoint_in_flight_tokens{address="127.0.0.1:1",endpoint_name="a"} 1.5e+03
zerohop_agent_endpoint_picks_total{address="127.0.0.1:1",endpoint_name="a"} 9
`
	requests, tokens := parseInFlight([]byte(page))
	if d := cmp.Diff(map[string]int{"127.0.0.1:1": 5, "127.0.0.1:2": 0}, requests); d != "" || tokens != 1500 {
		t.Errorf("%d tokens, requests (-want +got):\n%s", tokens, d)
	}
}

func TestParseLinear(t *testing.T) {
	maps := `100000000-100540000 rw-p 00000000 00:00 0
100540000-300000000 ---p 00000000 00:00 0
400000000-400800000 rw-p 00000000 00:00 0
400800000-400900000 rw-p 00000000 00:00 0 [anon:stack]
400900000-600900000 ---p 00000000 00:00 0
700000000-700100000 rw-p 00000000 00:00 0
700200000-900200000 ---p 00000000 00:00 0
a00000000-a00100000 rw-p 00000000 00:00 0
a00100000-a10100000 ---p 00000000 00:00 0
garbage
`
	if got, want := parseLinear([]byte(maps)), int64(0x540000+0x100000); got != want {
		t.Errorf("linear memory %#x, want %#x", got, want)
	}
}

func FuzzParseLinear(f *testing.F) {
	f.Add([]byte("100-200 rw-p\n200-ffffffffffffffff ---p\n"))
	f.Fuzz(func(t *testing.T, maps []byte) {
		_ = parseLinear(maps) // whatever it is, it ends
	})
}

func TestEdit(t *testing.T) {
	got, err := edit([]byte("filename: a.wasm\n  per_try_timeout: 540s # long\nx: y\n"), "a.wasm", "b.wasm")
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff("filename: b.wasm\n  per_try_timeout: 8s # long\nx: y\n", string(got)); d != "" {
		t.Errorf("bootstrap (-want +got):\n%s", d)
	}
	for _, bad := range []string{"per_try_timeout: 3s\n", "a.wasm\n"} {
		if _, err := edit([]byte(bad), "a.wasm", "b.wasm"); err == nil {
			t.Errorf("%q: no error", bad)
		}
	}
}

// TestDecoy wants a decoy to write down requests, but for metrics and what a run asks.
func TestDecoy(t *testing.T) {
	d, err := newDecoy("127.0.0.1:0", "a test")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/metrics", "/sim/stats", chatPath} {
		resp, err := http.Get("http://" + d.addr() + path)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
	}
	if hits := d.close(); len(hits) != 1 || !strings.Contains(hits[0], chatPath) {
		t.Errorf("hits: %q", hits)
	}
	http.DefaultClient.CloseIdleConnections()
}

// TestClient sends to an endpoint without Envoy: answers are recognised as whole, broken and wrong.
func TestClient(t *testing.T) {
	s, err := simserver.Start(simserver.Config{Name: "e0", Speed: 20, StreamInterval: 4})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	c := newClient(s.Addr(), "127.0.0.1:1")
	defer c.close()
	for i, tt := range []struct {
		name  string
		fault simserver.RequestFault
		edit  func(*spec)
		want  Class
	}{
		{"served", simserver.RequestFault{}, nil, Success},
		{"500", simserver.RequestFault{Mode: simserver.RequestStatus}, nil, Status5},
		{"503", simserver.RequestFault{Mode: simserver.RequestStatus, Status: 503}, nil, Unserved},
		{"504", simserver.RequestFault{Mode: simserver.RequestStatus, Status: 504}, nil, Timeout},
		{"reset", simserver.RequestFault{Mode: simserver.RequestReset}, nil, NoAnswer},
		{"broken", simserver.RequestFault{Mode: simserver.RequestResetMid}, nil, Cut},
		{"another text", simserver.RequestFault{}, func(s *spec) { s.want += "x" }, Garbled},
		{"leaves in the headers", simserver.RequestFault{}, func(s *spec) { s.leave = leavesInHeaders }, Left},
		{"leaves in the body", simserver.RequestFault{}, func(s *spec) { s.leave = leavesInBody }, Left},
		{"leaves before the answer", simserver.RequestFault{Mode: simserver.RequestHang}, func(s *spec) { s.leave, s.after = leavesBeforeAnswer, time.Millisecond }, Left},
		{"leaves at the first byte", simserver.RequestFault{}, func(s *spec) { s.leave = leavesAtFirstByte }, Left},
		{"leaves in the midst", simserver.RequestFault{}, func(s *spec) { s.leave = leavesInMidst }, Left},
	} {
		for n := range int64(4) {
			t.Run(fmt.Sprintf("%s %d", tt.name, n), func(t *testing.T) {
				if err := s.SetFaults(simserver.Faults{Request: tt.fault}); err != nil {
					t.Fatal(err)
				}
				sp := newSpec(3, int64(4*i)+n, traffic{})
				if tt.edit != nil {
					tt.edit(&sp)
				}
				o := c.send(t.Context(), &sp)
				// The answer to a client that leaves at its first byte may be there already when it leaves.
				there := sp.leave == leavesAtFirstByte && o.Class == Success
				if o.Class != tt.want && !there {
					t.Errorf("class %q, want %q: %+v", o.Class, tt.want, o)
				}
			})
		}
	}
}

func TestAnswer(t *testing.T) {
	s := &spec{stream: true, want: "ab"}
	event := func(text string) string { return `data: {"choices":[{"delta":{"content":"` + text + `"}}]}` + "\n\n" }
	done := "data: [DONE]\n\n"
	for _, tt := range []struct {
		name, body string
		whole      bool
	}{
		{"whole", event("a") + event("b") + done, true},
		{"without end", event("a") + event("b"), false},
		{"two ends", event("a") + event("b") + done + done, false},
		{"more after the end", event("a") + done + event("b"), false},
		{"a chunk is missing", event("a") + done, false},
		{"a chunk comes twice", event("a") + event("a") + event("b") + done, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := answer{midst: -1}
			if err := a.read(bytes.NewReader([]byte(tt.body)), true); err != nil {
				t.Fatal(err)
			}
			if why := a.wrong(s); (why == "") != tt.whole {
				t.Errorf("wrong: %q", why)
			}
		})
	}
	t.Run("the client leaves", func(t *testing.T) {
		a := answer{midst: 1, left: func() {}}
		if err := a.read(strings.NewReader(event("a")+event("b")+done), true); !errors.Is(err, errLeft) {
			t.Errorf("error %v", err)
		}
	})
}

func TestWorkerConns(t *testing.T) {
	for _, tt := range []struct{ name, stat, want string }{
		{"a worker", "listener.127.0.0.1_35877.worker_3.downstream_cx_total", "3"},
		{"all workers", "listener.127.0.0.1_35877.downstream_cx_total", ""},
		{"admin", "listener.admin.main_thread.downstream_cx_total", ""},
		{"open connections", "listener.127.0.0.1_35877.worker_3.downstream_cx_active", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := ""
			if m := workerConns.FindStringSubmatch(tt.stat); m != nil {
				got = m[1]
			}
			if got != tt.want {
				t.Errorf("worker %q, want %q", got, tt.want)
			}
		})
	}
}

// TestPlotGaps wants no line where nothing was known.
func TestPlotGaps(t *testing.T) {
	p := plot{title: "t", curves: []curve{{"c", []point{{0, 1}, {1, 2}, {9, 3}, {10, 1}}}, {"empty", nil}}, length: 10}
	if n := strings.Count(p.svg(), "<polyline"); n != 3 {
		t.Errorf("%d lines, want two parts of one curve and an empty one", n)
	}
}
