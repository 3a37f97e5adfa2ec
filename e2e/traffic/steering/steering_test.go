// Package steering shows on a real Envoy that no client decides where its request goes, whatever headers it sends and
// whatever state the filter is in, and that no endpoint sees a header of ours.
//
// The module has fault injection, so that the filter can be broken at will. A canary listens where the clients want their
// requests to go: a single connection to it fails the test.
package steering

import (
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/zerohop/zerohop/e2e/harness"
	"github.com/zerohop/zerohop/e2e/traffic"
	"github.com/zerohop/zerohop/e2e/vllmsim/simserver"
	"github.com/zerohop/zerohop/shared/names"
)

func TestMain(m *testing.M) { os.Exit(traffic.Main(m)) }

// TestSteering runs all of this package on one Envoy per destination mode.
func TestSteering(t *testing.T) {
	traffic.EachMode(t, func(t *testing.T, mode string) {
		b := traffic.Start(t, traffic.Options{
			Options: harness.Options{DestinationMode: mode, Edit: traffic.FaultyModule, Attempts: "{retries: unanswered}"},
			Sim:     traffic.Instant(),
		})
		c := traffic.NewCanary(t)
		for _, step := range []struct {
			name string
			run  func(*testing.T, *traffic.Bed, *traffic.Canary)
		}{
			{"headers", headers},
			{"targets", targets},
			{"trailers", trailers},
			{"retries", retries},
			{"panic", panicking},
			{"reload", reloading}, // last, since it loses counts
		} {
			t.Run(step.name, func(t *testing.T) { step.run(t, b, c) })
			if n := c.Connections(); n != 0 {
				t.Fatalf("after %s: %d connections to the canary", step.name, n)
			}
		}
	})
}

// lures are the request headers by which clients try to steer: ours, the one that ORIGINAL_DST clusters read by default,
// and others that Envoy gives a meaning to.
var lures = append(names.Stripped[:], "x-envoy-original-dst-host", "x-envoy-upstream-alt-stat-name", "x-envoy-decorator-operation")

// attempts are the kinds of request that carry the lures: each takes another way through the filter.
var attempts = []struct{ name, method, path, body string }{
	{"chat", http.MethodPost, traffic.PathChat, `{"model":"m","messages":[{"role":"user","content":"hello"}]}`},
	{"not JSON", http.MethodPost, traffic.PathChat, "hello"},
	{"empty", http.MethodPost, traffic.PathChat, ""},
	{"unknown path", http.MethodPost, "/sim/echo", "hello"},
	{"GET", http.MethodGet, "/sim/echo", ""},
}

// spellings are ways to write a header name; HTTP/2 has lower case only.
var spellings = []struct {
	name  string
	spell func(string) string
}{
	{"lower case", strings.ToLower},
	{"upper case", strings.ToUpper},
	{"canonical", http.CanonicalHeaderKey},
	{"mixed", func(s string) string {
		b := []byte(s)
		for i := 1; i < len(b); i += 2 {
			b[i] = strings.ToUpper(s)[i]
		}
		return string(b)
	}},
}

// headers sends every lure in every spelling, once, twice and as a list, over HTTP/1.1, then over HTTP/2.
func headers(t *testing.T, b *traffic.Bed, c *traffic.Canary) {
	for _, a := range attempts {
		for _, s := range spellings {
			t.Run(a.name+", "+s.name, func(t *testing.T) {
				conn, id := b.Dial(t), traffic.NewID()
				var lines strings.Builder
				for _, name := range lures {
					for _, value := range []string{c.Addr, c.Addr, c.Addr + "," + c.Addr} {
						lines.WriteString(s.spell(name) + ": " + value + "\r\n")
					}
				}
				conn.Send(t, a.method+" "+a.path+"?id="+id+" HTTP/1.1\r\nhost: "+c.Addr+"\r\n"+lines.String()+
					"content-length: "+strconv.Itoa(len(a.body))+"\r\n\r\n"+a.body)
				r := conn.Response(t)
				r.ID = id
				obeyed(t, b, c, r)
			})
		}
		t.Run(a.name+", HTTP 2", func(t *testing.T) {
			h := http.Header{}
			for _, name := range lures {
				h[name] = []string{c.Addr, c.Addr}
			}
			obeyed(t, b, c, b.Do(t, traffic.Request{HTTP2: true, Method: a.method, Path: a.path, Header: h, Body: []byte(a.body)}))
		})
	}
}

// targets names the canary where HTTP/1.1 lets a client name a server: as the host of the target, of a tunnel, or of an
// upgrade.
func targets(t *testing.T, b *traffic.Bed, c *traffic.Canary) {
	body := string(traffic.ChatBody("hello"))
	t.Run("absolute form", func(t *testing.T) {
		conn, id := b.Dial(t), traffic.NewID()
		conn.Send(t, "POST http://"+c.Addr+traffic.PathChat+"?id="+id+" HTTP/1.1\r\nhost: "+c.Addr+
			"\r\ncontent-length: "+strconv.Itoa(len(body))+"\r\n\r\n"+body)
		r := conn.Response(t)
		r.ID = id
		obeyed(t, b, c, r)
	})
	for name, request := range map[string]string{
		"tunnel":  "CONNECT " + c.Addr + " HTTP/1.1\r\nhost: " + c.Addr + "\r\n\r\n",
		"upgrade": "GET / HTTP/1.1\r\nhost: " + c.Addr + "\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			conn := b.Dial(t)
			conn.Send(t, request)
			if r := conn.Head(t); r.StatusCode < 400 {
				t.Errorf("status %d, want a refusal", r.StatusCode)
			}
		})
	}
}

// trailers sends the lures behind the body. The endpoint sees the other trailer, but none of ours.
func trailers(t *testing.T, b *traffic.Bed, c *traffic.Canary) {
	for _, a := range attempts[:4] { // a GET has no body
		body := a.body + " " // for there to be a chunk
		t.Run(a.name, func(t *testing.T) {
			conn, id := b.Dial(t), traffic.NewID()
			var lines strings.Builder
			for i, name := range lures {
				spelled := spellings[i%len(spellings)].spell(name)
				lines.WriteString(spelled + ": " + c.Addr + "\r\n" + spelled + ": " + c.Addr + "\r\n")
			}
			conn.Send(t, a.method+" "+a.path+"?id="+id+" HTTP/1.1\r\nhost: traffic\r\ntransfer-encoding: chunked\r\n\r\n"+
				strings.Join(traffic.Chunked([]byte(body), len(body)), "")+"0\r\nx-late: too\r\n"+lines.String()+"\r\n")
			r := conn.Response(t)
			r.ID = id
			obeyed(t, b, c, r)
			late(t, b, id)
		})
		t.Run(a.name+", HTTP 2", func(t *testing.T) {
			f := b.DialFrames(t)
			stream, id := f.Post(t, a.path, false)
			f.Data(t, stream, []byte(body), false)
			pairs := []string{"x-late", "too"}
			for _, name := range lures {
				pairs = append(pairs, name, c.Addr, name, c.Addr)
			}
			f.Trailers(t, stream, pairs...)
			r := f.Response(t, stream)
			r.ID = id
			obeyed(t, b, c, r)
			late(t, b, id)
		})
	}
}

// late checks that trailers do reach the endpoint, without which their test would show nothing.
func late(t *testing.T, b *traffic.Bed, id string) {
	t.Helper()
	for _, a := range b.Arrivals(id) {
		if got := a.Trailers.Get("X-Late"); got != "too" {
			t.Errorf("trailers %v, want x-late", a.Trailers)
		}
	}
}

// obeyed checks that an endpoint answered which the filter had picked, and saw nothing of ours.
func obeyed(t *testing.T, b *traffic.Bed, c *traffic.Canary, r *traffic.Response) {
	t.Helper()
	if r.Status != http.StatusOK {
		t.Errorf("status %d, want 200", r.Status)
	}
	p := b.Pick(t, r.ID)
	if got := b.Sim(t, p.Endpoint).Name(); got != r.Endpoint() {
		t.Errorf("picked %s, answered by %q", got, r.Endpoint())
	}
	clean(t, b, r.ID, p.Attempts)
}

// clean checks that n requests with this id arrived, all without anything of ours.
func clean(t *testing.T, b *traffic.Bed, id string, n int) {
	t.Helper()
	got := b.Arrivals(id)
	if len(got) != n {
		t.Errorf("%d requests arrived, want %d", len(got), n)
	}
	for _, a := range got {
		for _, name := range names.Stripped {
			if v := append(a.Headers.Values(name), a.Trailers.Values(name)...); len(v) != 0 {
				t.Errorf("%s got %s: %v", a.Sim.Name(), name, v)
			}
		}
	}
}

// retries makes every endpoint but one fail, so that attempts after the first are seen too.
func retries(t *testing.T, b *traffic.Bed, c *traffic.Canary) {
	for _, mode := range []simserver.RequestFault{{Mode: simserver.RequestReset}, {Mode: simserver.RequestStatus, Status: 503}} {
		t.Run(string(mode.Mode), func(t *testing.T) {
			defer b.Heal(t)
			most := 0
			for i := range b.Sims {
				b.Heal(t)
				for j, sim := range b.Sims {
					if i != j {
						traffic.Break(t, simserver.Faults{Request: mode}, sim)
					}
				}
				r := b.Do(t, traffic.Request{Header: http.Header{names.HeaderDestination: {c.Addr}}, Body: traffic.ChatBody("hello")})
				obeyed(t, b, c, r)
				most = max(most, b.Pick(t, r.ID).Attempts)
			}
			if most < 2 {
				t.Error("no request took a second attempt")
			}
		})
	}
}
