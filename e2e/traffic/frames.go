package traffic

import (
	"bytes"
	"net/http"
	"strconv"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// Frames is an HTTP/2 connection to Envoy on which a test writes frame by frame. It sends no window updates: responses
// are to be smaller than 64 KiB.
type Frames struct {
	conn  *Conn
	frame *http2.Framer
	buf   bytes.Buffer
	enc   *hpack.Encoder
	last  uint32 // newest stream
}

// DialFrames opens a connection and sends the preface.
func (b *Bed) DialFrames(t *testing.T) *Frames {
	t.Helper()
	f := &Frames{conn: b.Dial(t)}
	f.conn.Send(t, http2.ClientPreface)
	f.frame = http2.NewFramer(f.conn, f.conn)
	f.frame.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	f.enc = hpack.NewEncoder(&f.buf)
	f.must(t, f.frame.WriteSettings())
	return f
}

func (f *Frames) must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Post begins a POST on a new stream and returns its number and id. pairs are further headers, name and value in turn;
// end says that nothing follows.
func (f *Frames) Post(t *testing.T, path string, end bool, pairs ...string) (stream uint32, id string) {
	t.Helper()
	id = NewID()
	if f.last == 0 {
		f.last = 1
	} else {
		f.last += 2
	}
	f.headers(t, f.last, end, append([]string{
		":method", "POST", ":scheme", "http", ":authority", "traffic", ":path", path + "?id=" + id,
		"content-type", "application/json",
	}, pairs...))
	return f.last, id
}

// Trailers ends a stream with trailers, name and value in turn.
func (f *Frames) Trailers(t *testing.T, stream uint32, pairs ...string) {
	t.Helper()
	f.headers(t, stream, true, pairs)
}

func (f *Frames) headers(t *testing.T, stream uint32, end bool, pairs []string) {
	t.Helper()
	f.buf.Reset()
	for i := 0; i < len(pairs); i += 2 {
		f.must(t, f.enc.WriteField(hpack.HeaderField{Name: pairs[i], Value: pairs[i+1]}))
	}
	f.must(t, f.frame.WriteHeaders(http2.HeadersFrameParam{
		StreamID: stream, BlockFragment: f.buf.Bytes(), EndStream: end, EndHeaders: true,
	}))
}

// Data sends one DATA frame.
func (f *Frames) Data(t *testing.T, stream uint32, data []byte, end bool) {
	t.Helper()
	f.must(t, f.frame.WriteData(stream, end, data))
}

// Reset resets a stream.
func (f *Frames) Reset(t *testing.T, stream uint32) {
	t.Helper()
	f.must(t, f.frame.WriteRSTStream(stream, http2.ErrCodeCancel))
}

// Close closes the connection.
func (f *Frames) Close() { f.conn.Close() }

// Head reads until the response headers of a stream have come.
func (f *Frames) Head(t *testing.T, stream uint32) *Response {
	t.Helper()
	r := map[uint32]*Response{stream: {Header: http.Header{}}}
	for r[stream].Status == 0 {
		f.next(t, r)
	}
	return r[stream]
}

// Response reads until a stream has ended. It has no ID. A reset leaves the status that came before it, or 0.
func (f *Frames) Response(t *testing.T, stream uint32) *Response {
	t.Helper()
	return f.Responses(t, []uint32{stream})[0]
}

// Responses is Response for several streams that are under way.
func (f *Frames) Responses(t *testing.T, streams []uint32) []*Response {
	t.Helper()
	open := make(map[uint32]*Response, len(streams))
	all := make([]*Response, len(streams))
	for i, s := range streams {
		all[i] = &Response{Header: http.Header{}}
		open[s] = all[i]
	}
	for len(open) > 0 {
		delete(open, f.next(t, open))
	}
	return all
}

// next reads a frame and adds to the response of its stream what it says. It returns the stream if that has ended, else 0.
func (f *Frames) next(t *testing.T, open map[uint32]*Response) (ended uint32) {
	t.Helper()
	frame, err := f.frame.ReadFrame()
	if err != nil {
		t.Fatal(err)
	}
	stream := frame.Header().StreamID
	r := open[stream]
	end := false
	switch fr := frame.(type) {
	case *http2.SettingsFrame:
		if !fr.IsAck() {
			f.must(t, f.frame.WriteSettingsAck())
		}
	case *http2.PingFrame:
		if !fr.IsAck() {
			f.must(t, f.frame.WritePing(true, fr.Data))
		}
	case *http2.MetaHeadersFrame:
		if r != nil {
			r.add(fr.Fields)
		}
		end = fr.StreamEnded()
	case *http2.DataFrame:
		if r != nil {
			r.Body = append(r.Body, fr.Data()...)
		}
		end = fr.StreamEnded()
	case *http2.RSTStreamFrame:
		end = true
	case *http2.GoAwayFrame:
		t.Fatalf("connection ended: %v %q", fr.ErrCode, fr.DebugData())
	}
	if end {
		return stream
	}
	return 0
}

// add adds header fields, or trailers when there is a status already.
func (r *Response) add(fields []hpack.HeaderField) {
	to := r.Header
	if r.Status != 0 {
		r.Trailer = http.Header{}
		to = r.Trailer
	}
	for _, f := range fields {
		if f.Name == ":status" {
			r.Status, _ = strconv.Atoi(f.Value) // 0 reads as no response
			continue
		}
		to.Add(f.Name, f.Value)
	}
}
