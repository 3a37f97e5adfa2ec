package discovery

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/miekg/dns"
)

// asks returns a source that asks a real server.
func (s *server) asks(o DNSOptions) *dnsSource {
	o.Resolver = s.address
	return NewDNS(o).(*dnsSource)
}

// TestDNSServerTTL follows a real server whose answers change, and counts its questions.
func TestDNSServerTTL(t *testing.T) {
	t.Parallel()
	z := newZone(t, "vllm.test. 1 A 127.0.0.1")
	s := serve(t, func(w dns.ResponseWriter, q *dns.Msg, _ bool) { _ = w.WriteMsg(z.answer(q)) })
	updates := make(chan Update, 100)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	running.Go(func() {
		s.asks(DNSOptions{Name: "vllm.test", Ports: []uint16{80}}).Run(ctx, func(u Update) { updates <- u })
	})
	begin := time.Now()
	want := func(text string) {
		t.Helper()
		select {
		case u := <-updates:
			if u.text() != text {
				t.Fatalf("got %q, want %q", u.text(), text)
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("no update, want %q", text)
		}
	}
	want("vllm.test-127-0-0-1-rank-0@127.0.0.1:80")
	z.set("vllm.test. 1 A 127.0.0.2", "vllm.test. 1 A 127.0.0.1")
	want("vllm.test-127-0-0-1-rank-0@127.0.0.1:80 vllm.test-127-0-0-2-rank-0@127.0.0.2:80")
	z.set("vllm.test. 1 A 127.0.0.2")
	want("vllm.test-127-0-0-2-rank-0@127.0.0.2:80")
	elapsed := time.Since(begin)
	if n := len(z.took()); n < 3 || n > int(elapsed/time.Second)+1 {
		t.Errorf("%d questions in %v with a TTL of 1 s", n, elapsed)
	}
	if n := s.tcp.Load(); n > 0 {
		t.Errorf("%d questions over TCP", n)
	}
}

// TestDNSServerLargeAnswer has more addresses than fit into a packet.
func TestDNSServerLargeAnswer(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		count int
		want  int
		warn  string
		cut   func(q, m *dns.Msg) *dns.Msg // over UDP
	}{
		{name: "truncated", count: 600, want: 600, cut: truncate},
		{name: "larger than asked for", count: 600, want: 600, cut: func(_, m *dns.Msg) *dns.Msg { return m }},
		{
			name: "as large as a message can be", count: 4000, want: 1024, cut: truncate,
			warn: "vllm.test has 4000 endpoints, of which the last 2976 are left out: the limit is 1024",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			lines := make([]string, tt.count)
			for i := range lines {
				lines[i] = fmt.Sprintf("vllm.test. 5 A 10.0.%d.%d", i/256, i%256)
			}
			z := newZone(t, lines...)
			s := serve(t, func(w dns.ResponseWriter, q *dns.Msg, tcp bool) {
				m := z.answer(q)
				m.Compress = true
				if !tcp {
					m = tt.cut(q, m)
				}
				_ = w.WriteMsg(m)
			})
			f := find(t, s.asks(DNSOptions{Name: "vllm.test", Ports: []uint16{80}}))
			if len(f.endpoints) != tt.want || strings.Join(f.warnings, ";") != tt.warn {
				t.Errorf("%d endpoints, warnings %q", len(f.endpoints), f.warnings)
			}
			checkSound(t, f.endpoints)
			if n := s.tcp.Load(); n != 1 {
				t.Errorf("%d questions over TCP", n)
			}
		})
	}
}

// TestDNSServerBogus gives answers that are none.
func TestDNSServerBogus(t *testing.T) {
	t.Parallel()
	write := func(w dns.ResponseWriter, m *dns.Msg) { _ = w.WriteMsg(m) }
	// always spoils the answers over UDP and TCP, udp only those over UDP.
	type spoil func(w dns.ResponseWriter, m *dns.Msg)
	always := func(f spoil) func(dns.ResponseWriter, *dns.Msg, bool) {
		return func(w dns.ResponseWriter, m *dns.Msg, _ bool) { f(w, m) }
	}
	udp := func(f spoil) func(dns.ResponseWriter, *dns.Msg, bool) {
		return func(w dns.ResponseWriter, m *dns.Msg, tcp bool) {
			if tcp {
				write(w, m)
				return
			}
			f(w, m)
		}
	}
	raw := func(b string) spoil {
		return func(w dns.ResponseWriter, _ *dns.Msg) { _, _ = w.Write([]byte(b)) }
	}
	changed := func(f func(m *dns.Msg)) spoil {
		return func(w dns.ResponseWriter, m *dns.Msg) {
			f(m)
			write(w, m)
		}
	}
	otherQuestion := changed(func(m *dns.Msg) { m.Question[0].Name = "other.test." })
	wrongID := changed(func(m *dns.Msg) { m.Id++ })
	tests := []struct {
		name  string
		reply func(w dns.ResponseWriter, m *dns.Msg, tcp bool)
		tcp   int64  // questions over TCP
		err   string // part of the error; without one the answer is found
	}{
		{name: "forged id before the answer", reply: always(func(w dns.ResponseWriter, m *dns.Msg) {
			forged := m.Copy()
			forged.Id++
			forged.Answer[0].(*dns.A).A = net.IPv4(192, 0, 2, 1)
			write(w, forged)
			write(w, m)
		})},
		{name: "other id over TCP", reply: func(w dns.ResponseWriter, m *dns.Msg, tcp bool) {
			if m.Truncated = !tcp; tcp {
				m.Id++
			}
			write(w, m)
		}, tcp: 2, err: "id mismatch"},
		{name: "case of the name differs", reply: always(changed(func(m *dns.Msg) { m.Question[0].Name = "VLLM.TEST." }))},
		{name: "other question over UDP", reply: udp(otherQuestion), tcp: 1},
		{name: "other question", reply: always(otherQuestion), tcp: 2, err: "the answer is to another question"},
		{name: "other type", reply: always(changed(func(m *dns.Msg) { m.Question[0].Qtype = dns.TypeAAAA })), tcp: 2, err: "the answer is to another question"},
		{name: "no question", reply: always(changed(func(m *dns.Msg) { m.Question = nil })), tcp: 2, err: "the answer has 0 questions"},
		{name: "a question", reply: always(changed(func(m *dns.Msg) { m.Response = false })), tcp: 2, err: "the message is no answer to the question"},
		{name: "noise over UDP", reply: udp(raw("\x00\x01noise that is no message of DNS, with a length that may pass")), tcp: 1},
		{name: "nothing but a byte over UDP", reply: udp(raw("x")), tcp: 1},
		{name: "TCP closed", reply: func(w dns.ResponseWriter, m *dns.Msg, tcp bool) {
			if tcp {
				_ = w.Close()
				return
			}
			m.Truncated = true
			write(w, m)
		}, tcp: 2, err: "EOF"},
		{name: "truncated over TCP too", reply: always(changed(func(m *dns.Msg) { m.Truncated = true })), tcp: 2, err: "truncated even over TCP"},
		{name: "records of another name", reply: always(changed(func(m *dns.Msg) { m.Answer[0].Header().Name = "other.test." })), err: "nothing"},
		{name: "records of another class", reply: always(changed(func(m *dns.Msg) { m.Answer[0].Header().Class = dns.ClassCHAOS })), err: "nothing"},
		{name: "addresses beside the answer", reply: always(changed(func(m *dns.Msg) { m.Extra, m.Answer = m.Answer, nil })), err: "nothing"},
		{name: "server failure", reply: always(changed(func(m *dns.Msg) { m.Rcode = dns.RcodeServerFailure })), err: "status SERVFAIL"},
		{name: "no server for this", reply: always(changed(func(m *dns.Msg) { m.Rcode = dns.RcodeRefused })), err: "status REFUSED"},
		{name: "wrong id only", reply: always(wrongID), err: "no answer in time"},
		{name: "no answer", reply: always(func(dns.ResponseWriter, *dns.Msg) {}), err: "no answer in time"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			z := newZone(t, "vllm.test. 1 A 127.0.0.1")
			s := serve(t, func(w dns.ResponseWriter, q *dns.Msg, tcp bool) {
				m := z.answer(q)
				if len(m.Answer) == 0 {
					write(w, m) // AAAA
					return
				}
				m.Answer[0] = dns.Copy(m.Answer[0])
				tt.reply(w, m, tcp)
			})
			timeout := 10 * time.Second
			if tt.err == errStopped.Error() {
				timeout = 300 * time.Millisecond
			}
			ctx, cancel := context.WithTimeout(t.Context(), timeout)
			defer cancel()
			f, err := s.asks(DNSOptions{Name: "vllm.test", Ports: []uint16{80}}).lookUp(ctx)
			if n := s.tcp.Load(); n != tt.tcp {
				t.Errorf("%d questions over TCP, want %d", n, tt.tcp)
			}
			switch {
			case tt.err == "nothing":
				if err != nil || f.nothing == "" {
					t.Errorf("got %+v, error %v", f, err)
				}
			case tt.err != "":
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Errorf("error %v, want %q", err, tt.err)
				}
			case err != nil:
				t.Error(err)
			default:
				if d := cmp.Diff([]string{"default/vllm.test-127-0-0-1-rank-0 127.0.0.1:80 0"}, forms(f.endpoints)); d != "" {
					t.Error(d)
				}
			}
		})
	}
}

// TestDNSServerList asks the next server of resolv.conf when one is down or broken.
func TestDNSServerList(t *testing.T) {
	t.Parallel()
	z := newZone(t, "vllm.test. 1 A 127.0.0.1")
	s := serve(t, func(w dns.ResponseWriter, q *dns.Msg, _ bool) { _ = w.WriteMsg(z.answer(q)) })
	d := NewDNS(DNSOptions{Name: "vllm.test", Ports: []uint16{80}}).(*dnsSource)
	_, d.port, _ = net.SplitHostPort(s.address)
	resolvConf(t, d, "nameserver 127.0.0.2", "nameserver 127.0.0.1") // nothing listens at 127.0.0.2
	if f := find(t, d); len(f.endpoints) != 1 {
		t.Errorf("got %v", forms(f.endpoints))
	}

	// With all of them down, the text is the same each time: it is logged when it changes.
	resolvConf(t, d, "nameserver 127.0.0.2", "nameserver 127.0.0.3")
	_, first := d.lookUp(t.Context())
	_, second := d.lookUp(t.Context())
	if first == nil || second == nil || first.Error() != second.Error() || !strings.Contains(first.Error(), "connection refused") {
		t.Errorf("errors %v and %v", first, second)
	}
}

// TestDNSServerHangs ends a source that waits for an answer.
func TestDNSServerHangs(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{}, 1)
	s := serve(t, func(dns.ResponseWriter, *dns.Msg, bool) { asked <- struct{}{} })
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		s.asks(DNSOptions{Name: "vllm.test", Ports: []uint16{80}}).Run(ctx, func(u Update) { t.Errorf("update %s", u.text()) })
	})
	<-asked
	before := time.Now()
	cancel()
	running.Wait()
	if took := time.Since(before); took > tryTimeout/2 {
		t.Errorf("the source took %v to stop", took)
	}
}

// TestSourcesTogether merges a real file, a real server and a static list, and changes each.
func TestSourcesTogether(t *testing.T) {
	t.Parallel()
	z := newZone(t, "vllm.test. 1 A 127.0.0.1")
	s := serve(t, func(w dns.ResponseWriter, q *dns.Msg, _ bool) { _ = w.WriteMsg(z.answer(q)) })
	f := &fileTest{t: t, path: filepath.Join(t.TempDir(), "endpoints.yaml"), updates: make(chan Update, 100)}
	f.write(fileA)
	all := Merge(discardLog, Static([]Endpoint{endpoint("s", "10.0.1.1:80")}), NewFile(f.path, true, discardLog),
		s.asks(DNSOptions{Name: "vllm.test", Ports: []uint16{80}}))
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	running.Go(func() { all.Run(ctx, func(u Update) { f.updates <- u }) })
	f.want("s@10.0.1.1:80 a@10.0.0.1:80 vllm.test-127-0-0-1-rank-0@127.0.0.1:80")
	f.write(fileAB)
	f.want("s@10.0.1.1:80 a@10.0.0.1:80 b@10.0.0.2:80 vllm.test-127-0-0-1-rank-0@127.0.0.1:80")
	z.set("vllm.test. 1 A 127.0.0.2")
	f.want("s@10.0.1.1:80 a@10.0.0.1:80 b@10.0.0.2:80 vllm.test-127-0-0-2-rank-0@127.0.0.2:80")
	f.write(strings.ReplaceAll(fileAB, "10.0.0.2", "127.0.0.2")) // the address that DNS has: the file stands first
	f.want(`s@10.0.1.1:80 a@10.0.0.1:80 b@127.0.0.2:80 !DNS name vllm.test: "default/vllm.test-127-0-0-2-rank-0" at 127.0.0.2:80 ` +
		"is left out: the endpoint file FILE has that address as default/b")
	f.write("endpoints: [")
	f.wantErr("endpoint file FILE: ")
	f.write("endpoints: []")
	f.want("s@10.0.1.1:80 vllm.test-127-0-0-2-rank-0@127.0.0.2:80")
}
