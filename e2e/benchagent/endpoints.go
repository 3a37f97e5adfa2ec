package main

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/zerohop/zerohop/e2e/harness"
)

// serveCommand as the first argument makes this program serve endpoints and nothing else: their CPU time must not be the
// agent's or the reader's. Their number follows, and the moment from which times on the pages count, in milliseconds of Unix.
const serveCommand = "serve-endpoints"

// pageFile is the page of a vLLM 0.32 under load; changing is its line that each response writes anew.
var (
	pageFile = filepath.Join("xds", "scrape", "testdata", "vllm_0.32_under_load.txt")
	changing = []byte("\nvllm:num_requests_waiting{")
)

// servesEndpoints serves endpoints until it is killed, if the arguments say so. It prints their addresses in one line.
func servesEndpoints() bool {
	if len(os.Args) != 4 || os.Args[1] != serveCommand {
		return false
	}
	if err := listenAll(os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, "benchagent: serve endpoints:", err)
		os.Exit(1)
	}
	select {} // until this process is killed
}

// listenAll serves endpoints from its return on.
func listenAll(number, epochMs string) error {
	n, err := strconv.Atoi(number)
	if err != nil {
		return err
	}
	epoch, err := strconv.ParseInt(epochMs, 10, 64)
	if err != nil {
		return err
	}
	root, err := harness.Root()
	if err != nil {
		return err
	}
	page, err := os.ReadFile(filepath.Join(root, pageFile))
	if err != nil {
		return err
	}
	a, err := newAnswer(page, time.UnixMilli(epoch))
	if err != nil {
		return err
	}
	addresses := make([]string, n)
	for i := range addresses {
		l, err := net.Listen("tcp4", "127.0.0.1:0")
		if err != nil {
			return err
		}
		addresses[i] = l.Addr().String()
		go accept(l, a)
	}
	fmt.Println(strings.Join(addresses, " "))
	return nil
}

// answer is a response whose one changing number is the time at which it was written.
type answer struct {
	head, tail []byte // shared by all connections
	epoch      time.Time
}

// stampDigits is the width of the number, so that all pages are equally long.
const stampDigits = 10

func newAnswer(page []byte, epoch time.Time) (*answer, error) {
	at := bytes.Index(page, changing)
	if at < 0 {
		return nil, errors.New("the page has no line " + string(changing[1:]))
	}
	begin := at + bytes.IndexByte(page[at:], '}') + 2
	end := begin + bytes.IndexByte(page[begin:], '\n')
	size := begin + stampDigits + len(page) - end
	head := fmt.Appendf(nil, "HTTP/1.1 200 OK\r\ncontent-length: %d\r\ncontent-type: text/plain; version=0.0.4; charset=utf-8\r\n\r\n", size)
	return &answer{head: append(head, page[:begin]...), tail: page[end:], epoch: epoch}, nil
}

func (a *answer) stamp() []byte {
	return fmt.Appendf(nil, "%0*d", stampDigits, time.Since(a.epoch).Milliseconds())
}

func accept(l net.Listener, a *answer) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go a.serve(c)
	}
}

// serve answers requests that come one after the other.
func (a *answer) serve(c net.Conn) {
	defer c.Close()
	request := make([]byte, 4<<10)
	for n := 0; ; {
		m, err := c.Read(request[n:])
		if err != nil || n+m == len(request) {
			return
		}
		if n += m; !bytes.HasSuffix(request[:n], []byte("\r\n\r\n")) {
			continue
		}
		n = 0
		parts := net.Buffers{a.head, a.stamp(), a.tail}
		if _, err := parts.WriteTo(c); err != nil {
			return
		}
	}
}
