package traffic

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"testing"
	"time"
)

// Conn is a connection to Envoy on which a test writes bytes as it likes.
type Conn struct {
	*net.TCPConn
	in *bufio.Reader
}

// Dial opens a connection that ends with the test.
func (b *Bed) Dial(t *testing.T) *Conn {
	t.Helper()
	c, err := net.Dial("tcp", b.Listen)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	return &Conn{c.(*net.TCPConn), bufio.NewReader(c)}
}

// Send writes text.
func (c *Conn) Send(t *testing.T, text string) {
	t.Helper()
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
}

// Head reads the status line and the headers of an HTTP/1.1 response to a POST. The body can be read from the result.
func (c *Conn) Head(t *testing.T) *http.Response {
	t.Helper()
	resp, err := http.ReadResponse(c.in, &http.Request{Method: http.MethodPost})
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

// Response reads a whole HTTP/1.1 response. It has no ID.
func (c *Conn) Response(t *testing.T) *Response {
	t.Helper()
	resp := c.Head(t)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return &Response{Status: resp.StatusCode, Header: resp.Header, Body: body, Trailer: resp.Trailer}
}

// Reset closes the connection by a TCP reset.
func (c *Conn) Reset() {
	_ = c.SetLinger(0) // fails only on a connection that is gone
	_ = c.Close()
}
