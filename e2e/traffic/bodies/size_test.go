package bodies

import (
	"net/http"
	"testing"

	"github.com/zerohop/zerohop/e2e/traffic"
)

// framings are the ways in which a large body is sent.
var framings = []struct {
	name string
	req  traffic.Request
}{
	{"content-length", traffic.Request{}},
	{"chunked", traffic.Request{Unsized: true}},
	{"HTTP 2 content-length", traffic.Request{HTTP2: true}},
	{"HTTP 2", traffic.Request{HTTP2: true, Unsized: true}},
	{"HTTP 2 with trailers", traffic.Request{HTTP2: true, Trailer: http.Header{"X-Late": {"too"}}}},
}

// identity sends 20 MB, which is far above every window and buffer on the way.
func identity(t *testing.T, b *traffic.Bed) {
	body := traffic.SizedBody(3, 20_000_000)
	for _, f := range framings {
		t.Run(f.name, func(t *testing.T) {
			f.req.Body = body
			served(t, b, b.Do(t, f.req), body, "scored")
		})
	}
}

// maxBody is the largest body, as envoy.yaml and the README state it.
const maxBody = 32 << 20

// limit sends bodies around the limit. Too large ones are refused by Envoy; if the end of the stream comes along with the
// byte too many, after the filter has picked. That is no failure of the endpoint.
func limit(t *testing.T, b *traffic.Bed) {
	for _, f := range framings {
		t.Run(f.name, func(t *testing.T) {
			for _, size := range []int{maxBody - 1, maxBody} {
				f.req.Body = traffic.SizedBody(4, size)
				served(t, b, b.Do(t, f.req), f.req.Body, "scored")
			}
			f.req.Body = traffic.SizedBody(4, maxBody+1)
			r := b.Do(t, f.req)
			if r.Status != http.StatusRequestEntityTooLarge {
				t.Errorf("status %d, want 413", r.Status)
			}
			if n := len(b.Arrivals(r.ID)); n != 0 {
				t.Errorf("%d requests reached an endpoint, want none", n)
			}
			if e := b.Entry(t, r.ID); e.String("details") != "request_payload_too_large" {
				t.Errorf("details %q, want request_payload_too_large", e.String("details"))
			}
		})
	}
}
