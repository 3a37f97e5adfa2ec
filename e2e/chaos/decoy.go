package main

import (
	"bufio"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"
)

// decoy listens where nothing may go, and writes down what comes.
type decoy struct {
	why      string
	listener net.Listener
	conns    sync.WaitGroup

	mu   sync.Mutex
	hits []string
}

func newDecoy(addr, why string) (*decoy, error) {
	l, err := net.Listen("tcp4", addr)
	if err != nil {
		return nil, fmt.Errorf("decoy: %w", err)
	}
	d := &decoy{why: why, listener: l}
	d.conns.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			d.conns.Go(func() { d.serve(c) })
		}
	})
	return d, nil
}

func (d *decoy) addr() string { return d.listener.Addr().String() }

// serve answers one request, so that whoever came gets a response that is garbled for the client.
func (d *decoy) serve(c net.Conn) {
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(2 * time.Second))
	line, _ := bufio.NewReader(c).ReadString('\n')
	if strings.HasPrefix(line, "GET /metrics ") || strings.HasPrefix(line, "GET /sim/stats ") {
		// The agent may still ask a draining endpoint, and the run itself one that has just been stopped.
		fmt.Fprint(c, "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
		return
	}
	d.mu.Lock()
	d.hits = append(d.hits, fmt.Sprintf("%s %s: %.100q", time.Now().Format("15:04:05.000"), d.why, line))
	d.mu.Unlock()
	fmt.Fprint(c, "HTTP/1.1 200 OK\r\ncontent-length: 5\r\nconnection: close\r\n\r\ndecoy")
}

// close ends the decoy and returns what came.
func (d *decoy) close() []string {
	_ = d.listener.Close()
	d.conns.Wait()
	return d.hits
}
