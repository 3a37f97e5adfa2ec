package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/textproto"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/zerohop/zerohop/e2e/harness"
)

const answer = `{"id":"chatcmpl-0","object":"chat.completion","model":"bench","choices":[{"index":0,"message":` +
	`{"role":"assistant","content":"ok"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}`

// A streamed answer has streamChunks events, as a model generates them: one at a time.
const (
	streamChunks = 500
	streamPause  = 500 * time.Microsecond
	streamHead   = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
	streamEvent  = `data: {"id":"chatcmpl-0","object":"chat.completion.chunk","model":"bench","choices":[{"index":0,"delta":` +
		`{"content":"ok"},"finish_reason":null}]}` + "\n\n"
	streamDone = "data: [DONE]\n\n"
)

// metricsPage is what an idle engine reports.
const metricsPage = `vllm:num_requests_running{engine="0",model_name="bench"} 0.0
vllm:num_requests_waiting{engine="0",model_name="bench"} 0.0
vllm:kv_cache_usage_perc{engine="0",model_name="bench"} 0.0
vllm:cache_config_info{block_size="16",engine="0",num_gpu_blocks="19208"} 1.0
`

// backends are model servers that answer at once. They speak just enough HTTP/1.1 for Envoy and the scraper, because a
// full server would cost more than the proxy that is measured.
type backends struct {
	streams   bool // it answers with events
	listeners []net.Listener
	mu        sync.Mutex
	conns     map[net.Conn]bool
	wg        sync.WaitGroup
}

// startBackends listens on n free loopback ports.
func startBackends(n int, streams bool) (*backends, error) {
	b := &backends{streams: streams, conns: map[net.Conn]bool{}}
	for range n {
		l, err := net.Listen("tcp4", "127.0.0.1:0")
		if err != nil {
			b.close()
			return nil, fmt.Errorf("start backend: %w", err)
		}
		b.listeners = append(b.listeners, l)
		b.wg.Go(func() { b.accept(l) })
	}
	return b, nil
}

func (b *backends) addrs() []string {
	a := make([]string, 0, len(b.listeners))
	for _, l := range b.listeners {
		a = append(a, l.Addr().String())
	}
	return a
}

func (b *backends) endpoints() []harness.Endpoint {
	e := make([]harness.Endpoint, 0, len(b.listeners))
	for i, a := range b.addrs() {
		e = append(e, harness.Endpoint{Name: "bench-" + strconv.Itoa(i), Address: a})
	}
	return e
}

func (b *backends) accept(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		b.mu.Lock()
		b.conns[c] = true
		b.mu.Unlock()
		b.wg.Go(func() {
			_ = serve(c, b.streams) // an error is the peer's end of the connection
			c.Close()
			b.mu.Lock()
			delete(b.conns, c)
			b.mu.Unlock()
		})
	}
}

// close ends all connections and waits for their goroutines.
func (b *backends) close() {
	for _, l := range b.listeners {
		l.Close()
	}
	b.mu.Lock()
	for c := range b.conns {
		c.Close()
	}
	b.mu.Unlock()
	b.wg.Wait()
}

// serve answers the requests of one connection, one after the other.
func serve(c net.Conn, streams bool) error {
	r := bufio.NewReaderSize(c, 64<<10)
	tp := textproto.NewReader(r)
	reply := response("application/json", answer)
	metrics := response("text/plain; version=0.0.4", metricsPage)
	for {
		first, err := tp.ReadLineBytes()
		if err != nil {
			return err
		}
		isMetrics := bytes.HasPrefix(first, []byte("GET /metrics"))
		length, err := readHeaders(tp)
		if err != nil {
			return err
		}
		if length == chunked {
			err = discardChunks(tp)
		} else {
			_, err = r.Discard(length)
		}
		if err != nil {
			return err
		}
		switch {
		case isMetrics:
			_, err = c.Write(metrics)
		case streams:
			err = stream(c)
		default:
			_, err = c.Write(reply)
		}
		if err != nil {
			return err
		}
	}
}

// stream writes a streamed answer.
func stream(w io.Writer) error {
	if _, err := io.WriteString(w, streamHead); err != nil {
		return err
	}
	event := fmt.Appendf(nil, "%x\r\n%s\r\n", len(streamEvent), streamEvent)
	for range streamChunks {
		time.Sleep(streamPause)
		if _, err := w.Write(event); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(w, "%x\r\n%s\r\n0\r\n\r\n", len(streamDone), streamDone)
	return err
}

// chunked is the length of a body that comes in chunks, as it does when a filter streams it.
const chunked = -1

// discardChunks reads a chunked body and its trailers.
func discardChunks(tp *textproto.Reader) error {
	for {
		line, err := tp.ReadLineBytes()
		if err != nil {
			return err
		}
		size, err := strconv.ParseUint(string(line), 16, 31)
		if err != nil {
			return fmt.Errorf("bad chunk: %w", err)
		}
		if size == 0 {
			_, err := readHeaders(tp)
			return err
		}
		if _, err := tp.R.Discard(int(size) + len("\r\n")); err != nil {
			return err
		}
	}
}

// readHeaders reads up to the empty line and returns the body's length, or chunked.
func readHeaders(tp *textproto.Reader) (int, error) {
	length := 0
	for {
		line, err := tp.ReadLineBytes()
		if err != nil {
			return 0, err
		}
		if len(line) == 0 {
			return length, nil
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		switch strings.ToLower(string(name)) {
		case "content-length":
			if length, err = strconv.Atoi(string(bytes.TrimSpace(value))); err != nil || length < 0 {
				return 0, errors.New("bad content-length")
			}
		case "transfer-encoding":
			length = chunked
		}
	}
}

func response(contentType, body string) []byte {
	return fmt.Appendf(nil, "HTTP/1.1 200 OK\r\ncontent-type: %s\r\ncontent-length: %d\r\n\r\n%s", contentType, len(body), body)
}
