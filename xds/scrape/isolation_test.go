package scrape

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zerohop/zerohop/xds/discovery"
	"github.com/zerohop/zerohop/xds/memnet"
)

// injected is where a redirect leads; nobody must connect there.
const injected = "10.9.9.9:80"

// broken is a way for an endpoint to be broken. The request has been read when answer is called, which may keep the
// connection as long as it likes: it is closed when the test ends.
type broken struct {
	name   string
	answer func(w io.Writer, c net.Conn)
	want   Failure // empty: it answers, but lies
}

var allBroken = []broken{
	{"accepts and reads nothing", nil, FailureTimeout},
	{"hangs before the headers", func(io.Writer, net.Conn) {}, FailureTimeout},
	{"hangs in the headers", func(w io.Writer, _ net.Conn) { _, _ = io.WriteString(w, "HTTP/1.1 200 OK\r\nContent-L") }, FailureTimeout},
	{"hangs in the page", func(w io.Writer, _ net.Conn) {
		_, _ = io.WriteString(w, "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"+goodPage)
	}, FailureTimeout},
	{"drips", func(w io.Writer, _ net.Conn) {
		_, err := io.WriteString(w, "HTTP/1.1 200 OK\r\n\r\n")
		for err == nil {
			_, err = io.WriteString(w, "# slow\n")
			time.Sleep(50 * time.Millisecond)
		}
	}, FailureTimeout},
	{"lies", func(w io.Writer, _ net.Conn) {
		_, _ = io.WriteString(w, answer("vllm:num_requests_waiting -7\nvllm:num_requests_running 1e300\nvllm:kv_cache_usage_perc NaN\n"))
	}, FailureContent},
	{"is a web page", func(w io.Writer, _ net.Conn) { _, _ = io.WriteString(w, answer("<html>\n")) }, FailureContent},
	{"is cut short", func(w io.Writer, c net.Conn) {
		_, _ = io.WriteString(w, "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"+goodPage)
		_ = c.Close()
	}, FailureConnect},
	{"resets", func(_ io.Writer, c net.Conn) {
		if tcp, ok := c.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0)
		}
		_ = c.Close()
	}, FailureConnect},
	{"100 MB, announced", func(w io.Writer, _ net.Conn) {
		_, _ = io.WriteString(w, "HTTP/1.1 200 OK\r\nContent-Length: 104857600\r\n\r\n")
		pour(w, 100<<20)
	}, FailureSize},
	{"100 MB, chunked", func(w io.Writer, _ net.Conn) {
		_, _ = io.WriteString(w, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n6400000\r\n")
		pour(w, 100<<20)
	}, FailureSize},
	{"header flood", func(w io.Writer, _ net.Conn) {
		_, _ = io.WriteString(w, "HTTP/1.1 200 OK\r\nX: ")
		pour(w, 100<<20)
	}, FailureSize},
	{"redirects", func(w io.Writer, _ net.Conn) {
		_, _ = io.WriteString(w, "HTTP/1.1 307 Temporary Redirect\r\nLocation: http://"+injected+"/metrics\r\nContent-Length: 0\r\n\r\n")
	}, FailureStatus},
	{"500", func(w io.Writer, _ net.Conn) {
		_, _ = io.WriteString(w, strings.Replace(answer(goodPage), "200 OK", "500 Oops", 1))
	}, FailureStatus},
	{"gzip bomb", func(w io.Writer, _ net.Conn) {
		_, _ = io.WriteString(w, "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n")
		pour(w, 100<<20)
	}, FailureContent},
}

func answer(page string) string {
	return "HTTP/1.1 200 OK\r\nContent-Length: " + strconv.Itoa(len(page)) + "\r\n\r\n" + page
}

// pour writes n bytes, or until nobody reads them.
func pour(w io.Writer, n int) {
	block := make([]byte, 64<<10)
	for i := range block {
		block[i] = 'x'
	}
	for ; n > 0; n -= len(block) {
		if _, err := w.Write(block); err != nil {
			return
		}
	}
}

// serveBroken accepts connections until l is closed.
func serveBroken(l net.Listener, b broken) {
	var all sync.WaitGroup
	var conns []net.Conn
	for {
		c, err := l.Accept()
		if err != nil {
			break
		}
		conns = append(conns, c)
		if b.answer == nil {
			continue
		}
		all.Go(func() {
			r := bufio.NewReader(c)
			for {
				line, err := r.ReadString('\n')
				if err != nil {
					return
				}
				if line == "\r\n" {
					b.answer(c, c)
				}
			}
		})
	}
	for _, c := range conns {
		_ = c.Close()
	}
	all.Wait()
}

// bed is healthy and broken endpoints and what is known of them.
type bed struct {
	endpoints []discovery.Endpoint
	listeners []net.Listener
	broken    map[int]broken // by index
	mu        sync.Mutex
	samples   []Sample
	oldest    []time.Duration // the greatest age that a report found, by index
	strayed   []string        // addresses that are no endpoint's, but were dialled
}

// newBed makes healthy endpoints and, spread among them, one of each broken kind.
func newBed(healthy int) *bed {
	n := healthy + len(allBroken)
	b := &bed{broken: map[int]broken{}, samples: make([]Sample, n), oldest: make([]time.Duration, n)}
	for i := range allBroken {
		b.broken[i*n/len(allBroken)] = allBroken[i]
	}
	return b
}

func (b *bed) add(address netip.AddrPort, l net.Listener) {
	b.endpoints = append(b.endpoints, discovery.Endpoint{Namespace: "n", Name: fmt.Sprint(len(b.endpoints)), Address: address})
	b.listeners = append(b.listeners, l)
}

// run scrapes all endpoints for a time.
func (b *bed) run(t *testing.T, s *Scraper, d time.Duration) {
	ctx, cancel := context.WithCancel(t.Context())
	var servers, scrapers sync.WaitGroup
	for i, l := range b.listeners {
		if kind, ok := b.broken[i]; ok {
			servers.Go(func() { serveBroken(l, kind) })
		} else {
			servers.Go(func() { (&rawServer{answer: answer(goodPage)}).serve(l) })
		}
	}
	begin := time.Now()
	for i, e := range b.endpoints {
		scrapers.Go(func() { s.Run(ctx, e, func(x Sample) { b.take(i, x, begin) }) })
	}
	time.Sleep(d)
	cancel()
	scrapers.Wait()
	for _, l := range b.listeners {
		_ = l.Close()
	}
	servers.Wait()
}

// take notes how old the numbers of an endpoint were just before a try brought others.
func (b *bed) take(i int, x Sample, begin time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	before := b.samples[i].At
	if before.IsZero() {
		before = begin
	}
	b.oldest[i] = max(b.oldest[i], time.Since(before))
	b.samples[i] = x
}

// check compares the broken endpoints with what they are.
func (b *bed) check(t *testing.T) {
	for i, kind := range b.broken {
		got := b.samples[i]
		if got.Failure != kind.want || kind.want != "" && (got.Seq != 0 || got.Failures < 2) {
			t.Errorf("%s: %+v; want failure %q", kind.name, got, kind.want)
		}
		if got.Bytes > DefaultMaxPage+1 {
			t.Errorf("%s: %d bytes were read", kind.name, got.Bytes)
		}
	}
	if len(b.strayed) > 0 {
		t.Errorf("dialled %q, which are no endpoints", b.strayed)
	}
}

// TestBrokenEndpointsDelayNobody has every kind of broken endpoint among 50 healthy ones for a minute of virtual time. Not
// one scrape of a healthy endpoint is late.
func TestBrokenEndpointsDelayNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const healthy = 50
		b := newBed(healthy)
		var network memnet.Network
		for i := range healthy + len(allBroken) {
			a := netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, 0, byte(i)}), 8000)
			b.add(a, network.Listen(a.String()))
		}
		s, err := New(Options{DialContext: func(ctx context.Context, n, address string) (net.Conn, error) {
			if !slices.ContainsFunc(b.endpoints, func(e discovery.Endpoint) bool { return e.Address.String() == address }) {
				b.mu.Lock()
				b.strayed = append(b.strayed, address)
				b.mu.Unlock()
			}
			return network.DialContext(ctx, n, address)
		}})
		if err != nil {
			t.Fatal(err)
		}
		b.run(t, s, time.Minute)
		b.check(t)
		for i, got := range b.samples {
			if _, bad := b.broken[i]; bad {
				continue
			}
			if got.Failures != 0 || got.Seq < 240 || got.Seq > 247 {
				t.Errorf("healthy endpoint %d: %+v; want at least 240 scrapes and no failure", i, got)
			}
			if b.oldest[i] > DefaultInterval {
				t.Errorf("healthy endpoint %d: its numbers were %v old", i, b.oldest[i])
			}
		}
	})
}

// TestBrokenEndpointsOverTCP is the same on real connections and a real clock, which proves the ways to break and counts
// roughly: the machine may be busy.
func TestBrokenEndpointsOverTCP(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 3 s")
	}
	const healthy, interval = 50, 100 * time.Millisecond
	b := newBed(healthy)
	for range healthy + len(allBroken) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		b.add(l.Addr().(*net.TCPAddr).AddrPort(), l)
	}
	s, err := New(Options{Interval: interval, Timeout: 500 * time.Millisecond, MaxBackOff: 500 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	b.run(t, s, 3*time.Second)
	b.check(t)
	for i, got := range b.samples {
		if _, bad := b.broken[i]; !bad && (got.Failures != 0 || got.Seq < 10) {
			t.Errorf("healthy endpoint %d: %+v; want about 30 scrapes and no failure", i, got)
		}
	}
}
