package traffic

import (
	"bytes"
	"io"
	"net/http"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/zerohop/zerohop/e2e/vllmsim/simserver"
)

// Request is one request of a client. The zero value is an empty POST to chat completions over HTTP/1.1.
type Request struct {
	HTTP2   bool
	Method  string // empty means POST
	Path    string // empty means PathChat; a query with the id is appended
	Header  http.Header
	Body    []byte
	Unsized bool        // no content-length: chunked under HTTP/1.1
	Trailer http.Header // implies Unsized
}

// Response is what the client got.
type Response struct {
	ID      string // of the request: by it the access log and the endpoints' records are searched
	Status  int
	Header  http.Header
	Body    []byte
	Trailer http.Header
}

// Endpoint returns the name of the simulated endpoint that answered; "" if Envoy did.
func (r *Response) Endpoint() string { return r.Header.Get(simserver.HeaderEndpoint) }

// lastID numbers the requests of a test process.
var lastID atomic.Int64

// NewID returns an id for a request that is not sent by Do: its path is to end in "?id=" and this.
func NewID() string { return strconv.FormatInt(lastID.Add(1), 10) }

// client is an HTTP client of one protocol version.
type client struct{ *http.Client }

func newClient(t *testing.T, http2 bool) *client {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(!http2)
	protocols.SetUnencryptedHTTP2(http2)
	tr := &http.Transport{Protocols: protocols, DisableCompression: true}
	t.Cleanup(tr.CloseIdleConnections)
	return &client{&http.Client{Transport: tr, Timeout: patience}}
}

// Do sends a request through Envoy and reads the whole answer.
func (b *Bed) Do(t *testing.T, r Request) *Response {
	t.Helper()
	resp, err := b.Try(t, r)
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

// Try is Do for requests that may fail.
func (b *Bed) Try(t *testing.T, r Request) (*Response, error) {
	t.Helper()
	return b.TryAs(t, NewID(), r)
}

// TryAs is Try under an id that the caller got from NewID, so that a request that fails can be looked up.
func (b *Bed) TryAs(t *testing.T, id string, r Request) (*Response, error) {
	t.Helper()
	resp, err := b.client(r.HTTP2).Do(b.request(t, r, id))
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	got := &Response{ID: id, Status: resp.StatusCode, Header: resp.Header}
	if got.Body, err = io.ReadAll(resp.Body); err != nil {
		return nil, err
	}
	got.Trailer = resp.Trailer
	return got, nil
}

// Open sends a request through Envoy and returns as soon as there are response headers. The body is closed at the end of
// the test.
func (b *Bed) Open(t *testing.T, r Request) (resp *http.Response, id string) {
	t.Helper()
	id = NewID()
	resp, err := b.client(r.HTTP2).Do(b.request(t, r, id))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	return resp, id
}

func (b *Bed) client(http2 bool) *client {
	if http2 {
		return b.h2
	}
	return b.h1
}

// request builds what is sent.
func (b *Bed) request(t *testing.T, r Request, id string) *http.Request {
	t.Helper()
	if r.Method == "" {
		r.Method = http.MethodPost
	}
	if r.Path == "" {
		r.Path = PathChat
	}
	var body io.Reader
	switch {
	case r.Unsized, r.Trailer != nil:
		body = struct{ io.Reader }{bytes.NewReader(r.Body)} // of a length that net/http does not know
	case r.Body != nil:
		body = bytes.NewReader(r.Body)
	}
	req, err := http.NewRequestWithContext(t.Context(), r.Method, b.URL()+r.Path+"?id="+id, body)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	for name, values := range r.Header {
		req.Header[name] = values
	}
	req.Trailer = r.Trailer
	return req
}
