package responses

import (
	"net/http"
	"strconv"
	"testing"

	"github.com/zerohop/zerohop/e2e/traffic"
)

// gone resets clients at every stage of a request. Afterwards nothing is in flight, in Envoy or at the endpoint, and the
// next request is served.
func gone(t *testing.T, b *traffic.Bed, e *endpoint) {
	body := traffic.ChatBody(traffic.Text(1, 2000))
	for _, stage := range []struct {
		name   string
		path   string
		sent   int  // bytes of the body
		reach  bool // the request reaches the endpoint
		answer bool // the response has begun
	}{
		{"headers sent", traffic.PathChat, 0, false, false},
		{"in the body", traffic.PathChat, len(body) / 2, false, false},
		{"before the last byte", traffic.PathChat, len(body) - 1, false, false},
		{"waiting for the response", pathSilent, len(body), true, false},
		{"in the response", pathStream, len(body), true, true},
	} {
		for _, c := range []struct {
			name string
			open func(t *testing.T, b *traffic.Bed, path string, body []byte, sent int) departing
		}{
			{"HTTP 1 reset", openHTTP1},
			{"HTTP 2 stream reset", openStream},
			{"HTTP 2 connection closed", openConnection},
		} {
			t.Run(stage.name+", "+c.name, func(t *testing.T) {
				before := e.hits.Load()
				d := c.open(t, b, stage.path, body, stage.sent)
				if stage.reach {
					traffic.Receive(t, "the request to arrive", e.arrived)
				} else {
					b.Busy(t)
				}
				if stage.answer {
					d.head()
				}
				d.leave()
				b.Idle(t)
				if stage.reach {
					traffic.Receive(t, "the endpoint to be left", e.left)
				} else if n := e.hits.Load() - before; n != 0 {
					t.Errorf("%d requests reached the endpoint, want none", n)
				}
				if picked := b.Entry(t, d.id).String("pick") != ""; picked != stage.reach {
					t.Errorf("picked: %v, want %v", picked, stage.reach)
				}
				if got := d.next(); got != http.StatusOK {
					t.Errorf("next request: status %d", got)
				}
			})
		}
	}
}

// departing is a request whose client can leave.
type departing struct {
	id     string
	stream uint32 // under HTTP/2
	head   func() // waits for the head of the response
	leave  func()
	next   func() int // sends another request, on the same connection where there is one, and returns the status
}

func openHTTP1(t *testing.T, b *traffic.Bed, path string, body []byte, sent int) departing {
	conn, id := b.Dial(t), traffic.NewID()
	conn.Send(t, "POST "+path+"?id="+id+" HTTP/1.1\r\nhost: traffic\r\ncontent-length: "+strconv.Itoa(len(body))+"\r\n\r\n"+string(body[:sent]))
	return departing{id: id, head: func() { conn.Head(t) }, leave: conn.Reset, next: func() int {
		return b.Do(t, traffic.Request{Body: body}).Status
	}}
}

func openStream(t *testing.T, b *traffic.Bed, path string, body []byte, sent int) departing {
	f, d := openHTTP2(t, b, path, body, sent)
	d.leave = func() { f.Reset(t, d.stream) }
	d.next = func() int {
		stream, _ := f.Post(t, traffic.PathChat, false)
		f.Data(t, stream, body, true)
		return f.Response(t, stream).Status
	}
	return d
}

func openConnection(t *testing.T, b *traffic.Bed, path string, body []byte, sent int) departing {
	f, d := openHTTP2(t, b, path, body, sent)
	d.leave = f.Close
	d.next = func() int { return b.Do(t, traffic.Request{HTTP2: true, Body: body}).Status }
	return d
}

func openHTTP2(t *testing.T, b *traffic.Bed, path string, body []byte, sent int) (*traffic.Frames, departing) {
	f := b.DialFrames(t)
	stream, id := f.Post(t, path, false)
	if sent > 0 {
		f.Data(t, stream, body[:sent], sent == len(body))
	}
	return f, departing{id: id, stream: stream, head: func() { f.Head(t, stream) }}
}
