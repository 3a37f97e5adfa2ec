package discovery

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/miekg/dns"
)

// zone answers questions from records that a test may change at any time.
type zone struct {
	t  *testing.T
	mu sync.Mutex

	records []dns.RR
	rcode   int    // if not 0, of every answer
	failing string // the name of which the zone knows nothing but SERVFAIL
	down    error  // if not nil, nothing answers
	lazy    bool   // aliases are left to the client
	noExtra bool   // targets' addresses are left to the client
	asked   []string
	queries int
}

func newZone(t *testing.T, lines ...string) *zone {
	z := &zone{t: t}
	z.set(lines...)
	return z
}

// set replaces the records. A line is written as in a zone file.
func (z *zone) set(lines ...string) {
	z.t.Helper()
	var rrs []dns.RR
	for _, l := range lines {
		rr, err := dns.NewRR(l)
		if err != nil {
			z.t.Fatal(err)
		}
		rrs = append(rrs, rr)
	}
	z.change(func() { z.records = rrs })
}

// change changes the zone's behaviour.
func (z *zone) change(f func()) {
	z.mu.Lock()
	defer z.mu.Unlock()
	f()
}

// took returns the questions since the last call, such as "A vllm.test.", and forgets them.
func (z *zone) took() []string {
	z.mu.Lock()
	defer z.mu.Unlock()
	asked := z.asked
	z.asked = nil
	return asked
}

// answer is the zone's answer to a question.
func (z *zone) answer(q *dns.Msg) *dns.Msg {
	z.mu.Lock()
	defer z.mu.Unlock()
	name, qtype := q.Question[0].Name, q.Question[0].Qtype
	z.asked = append(z.asked, dns.TypeToString[qtype]+" "+name)
	z.queries++
	m := new(dns.Msg).SetReply(q)
	if m.Rcode = z.rcode; name == z.failing {
		m.Rcode = dns.RcodeServerFailure
	}
	if m.Rcode != 0 {
		return m
	}
	owner, exists := dns.CanonicalName(name), false
	for {
		alias := ""
		for _, rr := range z.records {
			if dns.CanonicalName(rr.Header().Name) != owner {
				continue
			}
			exists = true
			if c, ok := rr.(*dns.CNAME); ok && qtype != dns.TypeCNAME {
				m.Answer = append(m.Answer, rr)
				alias = dns.CanonicalName(c.Target)
			} else if rr.Header().Rrtype == qtype {
				m.Answer = append(m.Answer, rr)
			}
		}
		if alias == "" || z.lazy {
			break
		}
		owner, exists = alias, false
	}
	if !exists {
		m.Rcode = dns.RcodeNameError
	}
	if qtype == dns.TypeSRV && !z.noExtra {
		m.Extra = z.targets(m.Answer)
	}
	found := slices.ContainsFunc(m.Answer, func(rr dns.RR) bool { return rr.Header().Rrtype == qtype })
	for _, rr := range z.records {
		if !found && rr.Header().Rrtype == dns.TypeSOA {
			m.Ns = append(m.Ns, rr)
		}
	}
	return m
}

// targets returns the addresses of SRV records' targets.
func (z *zone) targets(answer []dns.RR) []dns.RR {
	var extra []dns.RR
	for _, a := range answer {
		srv, ok := a.(*dns.SRV)
		if !ok {
			continue
		}
		for _, rr := range z.records {
			t := rr.Header().Rrtype
			if rr.Header().Name == srv.Target && (t == dns.TypeA || t == dns.TypeAAAA) && !slices.Contains(extra, rr) {
				extra = append(extra, rr)
			}
		}
	}
	return extra
}

// exchange answers without a network.
func (z *zone) exchange(ctx context.Context, q *dns.Msg, _ string) (*dns.Msg, error) {
	z.mu.Lock()
	down := z.down
	z.mu.Unlock()
	if down != nil {
		return nil, down
	}
	return z.answer(q), ctx.Err()
}

// errDown is what the network says when nothing is there.
var errDown = &net.OpError{Op: "read", Net: "udp", Err: errors.New("connection refused")}

// source returns a source that asks the zone without a network.
func (z *zone) source(o DNSOptions) *dnsSource {
	if o.Resolver == "" {
		o.Resolver = "127.0.0.1"
	}
	if o.Jitter == nil {
		o.Jitter = func() float64 { return 0 }
	}
	d := NewDNS(o).(*dnsSource)
	d.exchange = z.exchange
	return d
}

// resolvConf makes d use a resolv.conf with this content.
func resolvConf(t *testing.T, d *dnsSource, lines ...string) {
	t.Helper()
	d.config = filepath.Join(t.TempDir(), "resolv.conf")
	if err := os.WriteFile(d.config, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	d.options.Resolver = ""
}

// server is a DNS server on loopback, UDP and TCP on the same port.
type server struct {
	address string
	tcp     atomic.Int64 // questions over TCP
}

// serve starts a server; handle gets the questions and whether they came over TCP.
func serve(t *testing.T, handle func(w dns.ResponseWriter, q *dns.Msg, tcp bool)) *server {
	t.Helper()
	s := &server{}
	pc, l := listenBoth(t)
	s.address = pc.LocalAddr().String()
	var running sync.WaitGroup
	for _, srv := range []*dns.Server{{PacketConn: pc}, {Listener: l}} {
		tcp := srv.Listener != nil
		srv.Handler = dns.HandlerFunc(func(w dns.ResponseWriter, q *dns.Msg) {
			if tcp {
				s.tcp.Add(1)
			}
			handle(w, q, tcp)
		})
		started := make(chan struct{})
		srv.NotifyStartedFunc = func() { close(started) }
		running.Go(func() { _ = srv.ActivateAndServe() })
		<-started
		t.Cleanup(func() { _ = srv.Shutdown() })
	}
	t.Cleanup(func() {
		_ = pc.Close()
		_ = l.Close()
		running.Wait()
	})
	return s
}

// listenBoth finds a port that is free for UDP and TCP.
func listenBoth(t *testing.T) (net.PacketConn, net.Listener) {
	t.Helper()
	for range 20 {
		pc, err := net.ListenPacket("udp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		l, err := net.Listen("tcp", pc.LocalAddr().String())
		if err == nil {
			return pc, l
		}
		_ = pc.Close()
	}
	t.Fatal("no port is free for both UDP and TCP")
	return nil, nil
}

// truncate cuts an answer to what the question's sender takes over UDP.
func truncate(q, m *dns.Msg) *dns.Msg {
	size := dns.MinMsgSize
	if opt := q.IsEdns0(); opt != nil {
		size = int(opt.UDPSize())
	}
	m.Truncate(size)
	return m
}
