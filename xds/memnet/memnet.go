// Package memnet is an in-memory network for tests: a listener whose connections are pipes. Unlike sockets, pipes are
// durably blocked in the sense of testing/synctest, so that HTTP servers and clients run on a test's virtual clock.
package memnet

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
)

// Network maps addresses (ip:port) to listeners. The zero value is ready to use, by several goroutines.
type Network struct {
	mu        sync.Mutex
	listeners map[string]*listener
	open      atomic.Int64
}

// Open returns how many ends of connections are open; a connection has two.
func (n *Network) Open() int { return int(n.open.Load()) }

// end is one end of a connection.
type end struct {
	net.Conn
	once sync.Once
	open *atomic.Int64
}

func (n *Network) end(c net.Conn) net.Conn {
	n.open.Add(1)
	return &end{Conn: c, open: &n.open}
}

func (e *end) Close() error {
	e.once.Do(func() { e.open.Add(-1) })
	return e.Conn.Close()
}

// Listen returns a listener for addr. Closing it makes addr refuse connections.
func (n *Network) Listen(addr string) net.Listener {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.listeners == nil {
		n.listeners = make(map[string]*listener)
	}
	l := &listener{addr: addr, conns: make(chan net.Conn), closed: make(chan struct{})}
	n.listeners[addr] = l
	return l
}

// DialContext connects to addr as net.Dialer.DialContext does.
func (n *Network) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	n.mu.Lock()
	l := n.listeners[addr]
	n.mu.Unlock()
	refused := &net.OpError{Op: "dial", Net: network, Err: net.ErrClosed}
	if l == nil {
		return nil, refused
	}
	client, server := net.Pipe()
	accepted := n.end(server)
	select {
	case l.conns <- accepted:
		return n.end(client), nil
	case <-l.closed:
		_ = accepted.Close()
		return nil, refused
	case <-ctx.Done():
		_ = accepted.Close()
		return nil, ctx.Err()
	}
}

type listener struct {
	addr   string
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *listener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *listener) Addr() net.Addr { return address(l.addr) }

type address string

func (address) Network() string  { return "memory" }
func (a address) String() string { return string(a) }
