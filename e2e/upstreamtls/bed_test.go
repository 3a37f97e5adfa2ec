package upstreamtls

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"sync"
	"testing"

	"github.com/zerohop/zerohop/e2e/harness"
	"github.com/zerohop/zerohop/e2e/traffic"
	"github.com/zerohop/zerohop/e2e/vllmsim/simserver"
)

// The names in the servers' certificates.
const (
	serverName = "models.test"
	serverIP   = "127.0.0.1"
)

// front is an end of TLS in front of a server that speaks plain text. It asks for a client certificate.
type front struct {
	address string
	mu      sync.Mutex
	seen    []tls.ConnectionState
}

// startFront forwards what it decrypts to target until the end of the test.
func startFront(t *testing.T, target string, cert *harness.Certificate, clients *x509.CertPool) *front {
	t.Helper()
	l, err := tls.Listen("tcp4", "127.0.0.1:0", serverTLS(cert, clients))
	if err != nil {
		t.Fatal(err)
	}
	f := &front{address: l.Addr().String()}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			running.Go(func() { f.forward(ctx, c.(*tls.Conn), target) })
		}
	})
	t.Cleanup(func() {
		cancel()
		_ = l.Close()
		running.Wait()
	})
	return f
}

// serverTLS wants a certificate of these authorities from each client, or none if that is nil.
func serverTLS(cert *harness.Certificate, clients *x509.CertPool) *tls.Config {
	c := &tls.Config{Certificates: []tls.Certificate{cert.Certificate}, NextProtos: []string{"h2", "http/1.1"}, MinVersion: tls.VersionTLS12}
	if clients != nil {
		c.ClientAuth, c.ClientCAs = tls.RequireAndVerifyClientCert, clients
	}
	return c
}

func (f *front) forward(ctx context.Context, c *tls.Conn, target string) {
	defer c.Close()
	if err := c.HandshakeContext(ctx); err != nil {
		return
	}
	f.mu.Lock()
	f.seen = append(f.seen, c.ConnectionState())
	f.mu.Unlock()
	var d net.Dialer
	server, err := d.DialContext(ctx, "tcp4", target)
	if err != nil {
		return
	}
	defer server.Close()
	done := make(chan struct{}, 2)
	for _, way := range [][2]net.Conn{{c, server}, {server, c}} {
		go func() {
			_, _ = io.Copy(way[0], way[1])
			done <- struct{}{}
		}()
	}
	ended := 0
	select { // either side may end it
	case <-ctx.Done():
	case <-done:
		ended++
	}
	_ = c.Close()
	_ = server.Close()
	for ; ended < 2; ended++ {
		<-done
	}
}

// connections returns the handshakes that succeeded.
func (f *front) connections() []tls.ConnectionState {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]tls.ConnectionState(nil), f.seen...)
}

// secured starts simulated endpoints behind fronts, and Envoy with the given flags. There is no agent.
func secured(t *testing.T, cert *harness.Certificate, clients *harness.CA, mode string, flags ...string) (*traffic.Bed, []*front) {
	t.Helper()
	return securedBy(t, cert, poolOf(clients), mode, flags...)
}

// poolOf returns the authority as the one that is believed; none for nil.
func poolOf(ca *harness.CA) *x509.CertPool {
	if ca == nil {
		return nil
	}
	return ca.Pool()
}

// securedBy is secured with any number of authorities of clients.
func securedBy(t *testing.T, cert *harness.Certificate, clients *x509.CertPool, mode string, flags ...string) (*traffic.Bed, []*front) {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a real Envoy")
	}
	sims := harness.SimsForTest(t, 3, simserver.Config{Instant: true, Records: 1024})
	var fronts []*front
	var endpoints []harness.Endpoint
	for _, sim := range sims {
		f := startFront(t, sim.Addr(), cert, clients)
		fronts = append(fronts, f)
		endpoints = append(endpoints, harness.Endpoint{Name: sim.Name(), Address: f.address})
	}
	b := traffic.Start(t, traffic.Options{Options: harness.Options{Endpoints: endpoints, Edge: true, DestinationMode: mode, RenderArgs: flags}})
	b.Sims = sims
	return b, fronts
}
