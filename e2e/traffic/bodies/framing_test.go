package bodies

import (
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/zerohop/zerohop/e2e/traffic"
)

// framing sends bodies of every shape that HTTP has for them.
func framing(t *testing.T, b *traffic.Bed) {
	t.Run("without body", func(t *testing.T) { withoutBody(t, b) })
	t.Run("HTTP 1", func(t *testing.T) { framingHTTP1(t, b) })
	t.Run("HTTP 2", func(t *testing.T) { framingHTTP2(t, b) })
	t.Run("interleaved", func(t *testing.T) { interleaved(t, b) })
	t.Run("parallel", func(t *testing.T) { parallel(t, b) })
}

func withoutBody(t *testing.T, b *traffic.Bed) {
	for _, c := range []struct {
		name, method, path string
		status             int
		reason             string
	}{
		{"content-length 0", http.MethodPost, traffic.PathChat, 200, "no_body"},
		{"GET on an inference path", http.MethodGet, traffic.PathChat, 405, "no_body"},
		{"GET", http.MethodGet, "/v1/models", 200, "unknown_path"},
		{"HEAD", http.MethodHead, "/health", 200, "unknown_path"},
	} {
		for _, http2 := range []bool{false, true} {
			t.Run(c.name+protocol(http2), func(t *testing.T) {
				r := b.Do(t, traffic.Request{HTTP2: http2, Method: c.method, Path: c.path})
				p := b.Pick(t, r.ID)
				if r.Status != c.status || r.Endpoint() != b.Sim(t, p.Endpoint).Name() || p.Reason != c.reason {
					t.Errorf("status %d by %q, picked %+v, want %d and %s", r.Status, r.Endpoint(), p, c.status, c.reason)
				}
			})
		}
	}
}

func protocol(http2 bool) string {
	if http2 {
		return ", HTTP 2"
	}
	return ", HTTP 1"
}

// framingHTTP1 writes HTTP/1.1 by hand. Each part is written on its own, and the connection is to stay usable.
func framingHTTP1(t *testing.T, b *traffic.Bed) {
	body := traffic.ChatBody(traffic.Text(1, 1500))
	chunked := func(size int) []string {
		return append([]string{"transfer-encoding: chunked\r\n\r\n"}, traffic.Chunked(body, size)...)
	}
	sized := "content-length: " + strconv.Itoa(len(body)) + "\r\n\r\n"
	for _, c := range []struct {
		name   string
		parts  []string // the end of the headers, and the body
		body   []byte
		reason string
	}{
		{"in one piece", []string{sized + string(body)}, body, "scored"},
		{"in many pieces", append([]string{sized}, strings.Split(string(body), "")...), body, "scored"},
		{"1-byte chunks", append(chunked(1), "0\r\n\r\n"), body, "scored"},
		{"trailers", append(chunked(700), "0\r\nx-late: too\r\n\r\n"), body, "scored"},
		{"only trailers", []string{"transfer-encoding: chunked\r\n\r\n", "0\r\nx-late: too\r\n\r\n"}, nil, "not_json"},
		{"no chunks", []string{"transfer-encoding: chunked\r\n\r\n", "0\r\n\r\n"}, nil, "not_json"},
	} {
		t.Run(c.name, func(t *testing.T) {
			conn := b.Dial(t)
			for range 2 { // the second one shows that the first was read to its end
				id := traffic.NewID()
				conn.Send(t, "POST "+traffic.PathChat+"?id="+id+" HTTP/1.1\r\nhost: traffic\r\n")
				for _, part := range c.parts {
					conn.Send(t, part)
				}
				r := conn.Response(t)
				r.ID = id
				served(t, b, r, c.body, c.reason)
			}
		})
	}
	t.Run("pipelined", func(t *testing.T) {
		conn := b.Dial(t)
		ids := []string{traffic.NewID(), traffic.NewID(), traffic.NewID()}
		var all strings.Builder
		for _, id := range ids {
			all.WriteString("POST " + traffic.PathChat + "?id=" + id + " HTTP/1.1\r\nhost: traffic\r\n" + sized + string(body))
		}
		conn.Send(t, all.String())
		for _, id := range ids {
			r := conn.Response(t)
			r.ID = id
			served(t, b, r, body, "scored")
		}
	})
	t.Run("expect 100-continue", func(t *testing.T) {
		r := b.Do(t, traffic.Request{Body: body, Header: http.Header{"Expect": {"100-continue"}}})
		served(t, b, r, body, "scored")
	})
}

// framingHTTP2 writes HTTP/2 frame by frame, all streams on one connection.
func framingHTTP2(t *testing.T, b *traffic.Bed) {
	body := traffic.ChatBody(traffic.Text(2, 1500))
	f := b.DialFrames(t)
	for _, c := range []struct {
		name   string
		send   func(t *testing.T, stream uint32)
		body   []byte
		reason string
	}{
		{"end with the data", func(t *testing.T, s uint32) { f.Data(t, s, body, true) }, body, "scored"},
		{"end by an empty frame", func(t *testing.T, s uint32) {
			f.Data(t, s, body, false)
			f.Data(t, s, nil, true)
		}, body, "scored"},
		{"only an empty frame", func(t *testing.T, s uint32) { f.Data(t, s, nil, true) }, nil, "not_json"},
		{"empty frames between", func(t *testing.T, s uint32) {
			for i := range 3 {
				f.Data(t, s, nil, false)
				f.Data(t, s, body[i*len(body)/3:(i+1)*len(body)/3], false)
			}
			f.Data(t, s, nil, true)
		}, body, "scored"},
		{"1-byte frames", func(t *testing.T, s uint32) {
			for i := range body {
				f.Data(t, s, body[i:i+1], i == len(body)-1)
			}
		}, body, "scored"},
		{"trailers", func(t *testing.T, s uint32) {
			f.Data(t, s, body, false)
			f.Trailers(t, s, "x-late", "too")
		}, body, "scored"},
		{"only trailers", func(t *testing.T, s uint32) { f.Trailers(t, s, "x-late", "too") }, nil, "not_json"},
	} {
		t.Run(c.name, func(t *testing.T) {
			stream, id := f.Post(t, traffic.PathChat, false)
			c.send(t, stream)
			r := f.Response(t, stream)
			r.ID = id
			served(t, b, r, c.body, c.reason)
		})
	}
}

// interleaved sends several bodies on one connection, a piece of each in turn.
func interleaved(t *testing.T, b *traffic.Bed) {
	const streams, piece = 5, 100
	f := b.DialFrames(t)
	var ids [streams]string
	var numbers [streams]uint32
	var bodies [streams][]byte
	for i := range streams {
		bodies[i] = traffic.ChatBody(traffic.Text(10+uint64(i), 1500+i))
		numbers[i], ids[i] = f.Post(t, traffic.PathChat, false)
	}
	for sent := 0; sent < 2000; sent += piece {
		for i, body := range bodies {
			if sent < len(body) {
				end := min(sent+piece, len(body))
				f.Data(t, numbers[i], body[sent:end], end == len(body))
			}
		}
	}
	for i, r := range f.Responses(t, numbers[:]) {
		r.ID = ids[i]
		served(t, b, r, bodies[i], "scored")
	}
}

// parallel sends bodies of all sizes and framings at the same time.
func parallel(t *testing.T, b *traffic.Bed) {
	const clients, requests = 16, 12
	var wg sync.WaitGroup
	for i := range clients {
		wg.Go(func() {
			for n := range requests {
				req := framings[(i+n)%len(framings)].req
				req.Body = traffic.ChatBody(traffic.Text(uint64(1000+i*requests+n), 1<<(n+6)))
				r, err := b.Try(t, req)
				if err != nil || r.Status != http.StatusOK {
					t.Errorf("got %v, %v, want 200", r, err)
					return
				}
				if got := b.Arrivals(r.ID); len(got) != 1 || got[0].BodySHA256 != traffic.Sum(req.Body) {
					t.Errorf("%d arrivals, or another body", len(got))
				}
			}
		})
	}
	wg.Wait()
}
