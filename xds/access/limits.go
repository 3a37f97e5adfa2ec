package access

import (
	"math"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
)

// maxClients bounds the addresses whose requests are counted apart. Those beyond share one count.
const maxClients = 4096

// sweepEvery is the least time between two searches for clients that have been quiet.
const sweepEvery = time.Second

// limits holds the request rate of each client address.
type limits struct {
	perSecond rate.Limit // 0 for no limit
	burst     int

	mu      sync.Mutex
	clients map[netip.Prefix]*rate.Limiter
	others  *rate.Limiter
	swept   time.Time
}

func newLimits(perSecond float64) *limits {
	l := &limits{perSecond: rate.Limit(perSecond), burst: int(math.Ceil(min(perSecond, math.MaxInt32))), clients: make(map[netip.Prefix]*rate.Limiter)}
	l.others = rate.NewLimiter(l.perSecond, l.burst)
	return l
}

// allow reports whether a request from address, host:port, is within the limit.
func (l *limits) allow(address string) bool {
	if l.perSecond == 0 {
		return true
	}
	now := time.Now()
	return l.client(networkOf(address), now).AllowN(now, 1)
}

// client returns the limiter of a network.
func (l *limits) client(network netip.Prefix, now time.Time) *rate.Limiter {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c, ok := l.clients[network]; ok {
		return c
	}
	if len(l.clients) >= maxClients && now.Sub(l.swept) >= sweepEvery {
		// A limiter that is full again says no more than a fresh one.
		l.swept = now
		for key, c := range l.clients {
			if c.TokensAt(now) >= float64(l.burst) {
				delete(l.clients, key)
			}
		}
	}
	if len(l.clients) >= maxClients {
		return l.others
	}
	c := rate.NewLimiter(l.perSecond, l.burst)
	l.clients[network] = c
	return c
}

// networkOf returns what counts as one client: an IPv4 address, or the /64 of an IPv6 address, whose owner has them all.
// Addresses that are none, as those of tests, count as one.
func networkOf(address string) netip.Prefix {
	ap, err := netip.ParseAddrPort(address)
	if err != nil {
		return netip.Prefix{}
	}
	ip, bits := ap.Addr().Unmap().WithZone(""), 64
	if ip.Is4() {
		bits = 32
	}
	network, _ := ip.Prefix(bits)
	return network
}

// counts are the counts of a Policy.
type counts struct {
	open    atomic.Int64
	refused atomic.Uint64
	denied  atomic.Uint64
	limited atomic.Uint64
}

// Stats counts what a Policy did.
type Stats struct {
	Open     int64  // connections
	Refused  uint64 // connections beyond MaxConnections
	Denied   uint64 // requests and calls without good credentials
	Limited  uint64 // requests and calls beyond RequestsPerSecond
	BadFiles uint64 // changes of a file that could not be taken over
}

// Stats returns the counts.
func (p *Policy) Stats() Stats {
	c := &p.counts
	return Stats{
		Open: c.open.Load(), Refused: c.refused.Load(), Denied: c.denied.Load(), Limited: c.limited.Load(),
		BadFiles: p.certs.Refused() + p.cas.Refused() + p.token.Refused(),
	}
}

// Listener caps the connections of l. One too many is closed at once instead of kept waiting: who comes then learns it, and
// those who hold connections in order to block others block no queue.
func (p *Policy) Listener(l net.Listener) net.Listener { return &listener{Listener: l, policy: p} }

type listener struct {
	net.Listener
	policy *Policy
	logged time.Time // Accept is called by one goroutine
}

// logEvery is the least time between two lines about refused connections.
const logEvery = time.Minute

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		counts, most := &l.policy.counts, int64(l.policy.o.MaxConnections)
		if open := counts.open.Add(1); most == 0 || open <= most {
			return &conn{Conn: c, counts: counts}, nil
		}
		counts.open.Add(-1)
		counts.refused.Add(1)
		_ = c.Close()
		if now := time.Now(); now.Sub(l.logged) >= logEvery {
			l.logged = now
			l.policy.log.Warn("a connection is refused: there are as many as agent.maxConnections allows", "from", c.RemoteAddr().String(), "max", most)
		}
	}
}

// conn counts until it is closed.
type conn struct {
	net.Conn
	counts *counts
	once   sync.Once
}

// Close implements net.Conn.
func (c *conn) Close() error {
	c.once.Do(func() { c.counts.open.Add(-1) })
	return c.Conn.Close()
}
