package discovery

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/miekg/dns"
)

// forms returns each endpoint as "id address rank".
func forms(eps []Endpoint) []string {
	out := []string{}
	for i := range eps {
		out = append(out, fmt.Sprintf("%s %s %d", eps[i].ID(), eps[i].Address, eps[i].Rank))
	}
	return out
}

// find asks once.
func find(t *testing.T, d *dnsSource) *finding {
	t.Helper()
	f, err := d.lookUp(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestDNSFinds(t *testing.T) {
	tests := []struct {
		name     string
		options  DNSOptions
		zone     []string
		lazy     bool // see zone
		noExtra  bool
		want     []string
		warnings []string
		nothing  string
		ttl      int
		err      string
		asked    []string // if it matters
	}{
		{
			name:    "every port of every address",
			options: DNSOptions{Name: "VLLM.test", Ports: []uint16{8001, 8000}},
			zone:    []string{"vllm.test. 7 A 10.0.0.9", "vllm.test. 9 A 10.0.0.10", "vllm.test. 7 TXT x", "other.test. 1 A 10.0.0.1"},
			want: []string{
				"default/vllm.test-10-0-0-9-rank-0 10.0.0.9:8001 0", "default/vllm.test-10-0-0-9-rank-1 10.0.0.9:8000 1",
				"default/vllm.test-10-0-0-10-rank-0 10.0.0.10:8001 0", "default/vllm.test-10-0-0-10-rank-1 10.0.0.10:8000 1",
			},
			ttl: 7, asked: []string{"A VLLM.test."},
		},
		{
			name:    "A before AAAA",
			options: DNSOptions{Name: "vllm.test.", Ports: []uint16{80}, Namespace: "prod"},
			zone:    []string{"vllm.test. 7 AAAA 2001:db8::1", "vllm.test. 7 A 10.0.0.1"},
			want:    []string{"prod/vllm.test-10-0-0-1-rank-0 10.0.0.1:80 0"},
			ttl:     7, asked: []string{"A vllm.test."},
		},
		{
			name:    "AAAA alone",
			options: DNSOptions{Name: "vllm.test", Ports: []uint16{80}},
			zone:    []string{"vllm.test. 60 AAAA 2001:db8::1", "vllm.test. 60 AAAA ::ffff:10.0.0.1", "test. 9 SOA a. b. 1 2 3 4 8"},
			want: []string{
				"default/vllm.test-10-0-0-1-rank-0 10.0.0.1:80 0", "default/vllm.test-2001-db8--1-rank-0 [2001:db8::1]:80 0",
			},
			ttl: 8, asked: []string{"A vllm.test.", "AAAA vllm.test."}, // A records may come as soon as "none" has expired
		},
		{
			name:    "aliases",
			options: DNSOptions{Name: "vllm.test", Ports: []uint16{80}},
			zone:    []string{"vllm.test. 9 CNAME b.test.", "b.test. 5 CNAME c.test.", "c.test. 9 A 10.0.0.1"},
			want:    []string{"default/vllm.test-10-0-0-1-rank-0 10.0.0.1:80 0"},
			ttl:     5, asked: []string{"A vllm.test."},
		},
		{
			name:    "aliases that the server leaves to us",
			options: DNSOptions{Name: "vllm.test", Ports: []uint16{80}}, lazy: true,
			zone: []string{"vllm.test. 9 CNAME b.test.", "b.test. 5 CNAME c.test.", "c.test. 9 A 10.0.0.1"},
			want: []string{"default/vllm.test-10-0-0-1-rank-0 10.0.0.1:80 0"},
			ttl:  5, asked: []string{"A vllm.test.", "A b.test.", "A c.test."},
		},
		{
			name:    "aliases in a circle",
			options: DNSOptions{Name: "vllm.test", Ports: []uint16{80}}, lazy: true,
			zone: []string{"vllm.test. 9 CNAME b.test.", "b.test. 5 CNAME vllm.test."},
			err:  "vllm.test. leads over aliases that 8 questions do not resolve",
		},
		{
			name:    "two aliases",
			options: DNSOptions{Name: "vllm.test", Ports: []uint16{80}},
			zone:    []string{"vllm.test. 9 CNAME b.test.", "vllm.test. 9 CNAME c.test.", "c.test. 5 A 10.0.0.1", "b.test. 5 A 10.0.0.2"},
			err:     "vllm.test. has two CNAME records",
		},
		{
			name:    "alias to nowhere",
			options: DNSOptions{Name: "vllm.test", Ports: []uint16{80}},
			zone:    []string{"vllm.test. 9 CNAME b.test.", "test. 9 SOA a. b. 1 2 3 4 3"},
			nothing: "name b.test. does not exist", ttl: 3,
		},
		{
			name:    "no such name",
			options: DNSOptions{Name: "vllm.test", Ports: []uint16{80}},
			nothing: "name vllm.test. does not exist", ttl: 5, asked: []string{"A vllm.test."},
		},
		{
			name:    "no address",
			options: DNSOptions{Name: "vllm.test", Ports: []uint16{80}},
			zone:    []string{"vllm.test. 9 TXT x", "test. 2 SOA a. b. 1 2 3 4 30"},
			nothing: "name vllm.test. has neither A nor AAAA records", ttl: 2,
		},
		{
			name:    "some addresses are refused",
			options: DNSOptions{Name: "vllm.test", Ports: []uint16{80, 81}},
			zone:    []string{"vllm.test. 9 A 0.0.0.0", "vllm.test. 9 A 224.0.0.1", "vllm.test. 9 A 255.255.255.255", "vllm.test. 9 A 127.0.0.1"},
			want:    []string{"default/vllm.test-127-0-0-1-rank-0 127.0.0.1:80 0", "default/vllm.test-127-0-0-1-rank-1 127.0.0.1:81 1"},
			warnings: []string{
				"vllm.test: address 0.0.0.0 is no address of a single host", "vllm.test: address 224.0.0.1 is no address of a single host",
				"vllm.test: address 255.255.255.255 is no address of a single host",
			},
			ttl: 9,
		},
		{
			name:    "all addresses are refused",
			options: DNSOptions{Name: "vllm.test", Ports: []uint16{80}},
			zone:    []string{"vllm.test. 9 AAAA ::", "vllm.test. 9 AAAA fe80::1"},
			err: "nothing of the answer can be used: vllm.test: address :: is no address of a single host; " +
				"vllm.test: address fe80::1 needs a zone, which DNS cannot give",
		},
		{
			name:    "more endpoints than there may be",
			options: DNSOptions{Name: "vllm.test", Ports: []uint16{80, 81}, MaxEndpoints: 3},
			zone:    []string{"vllm.test. 9 A 10.0.0.2", "vllm.test. 9 A 10.0.0.1", "vllm.test. 9 A 10.0.0.3"},
			want: []string{
				"default/vllm.test-10-0-0-1-rank-0 10.0.0.1:80 0", "default/vllm.test-10-0-0-1-rank-1 10.0.0.1:81 1",
				"default/vllm.test-10-0-0-2-rank-0 10.0.0.2:80 0",
			},
			warnings: []string{"vllm.test has 6 endpoints, of which the last 3 are left out: the limit is 3"},
			ttl:      9,
		},
		{
			name:    "TTL beyond 31 bits",
			options: DNSOptions{Name: "vllm.test", Ports: []uint16{80}},
			zone:    []string{"vllm.test. 4294967295 A 10.0.0.2"},
			want:    []string{"default/vllm.test-10-0-0-2-rank-0 10.0.0.2:80 0"},
			ttl:     0,
		},
		{
			name:    "service",
			options: DNSOptions{Name: "_http._tcp.vllm.test", Type: DNSService},
			zone: []string{
				"_http._tcp.vllm.test. 9 SRV 0 10 8001 B.vllm.test.", "_http._tcp.vllm.test. 9 SRV 0 90 8000 b.vllm.test.",
				"_http._tcp.vllm.test. 9 SRV 0 10 8000 a.vllm.test.", "_http._tcp.vllm.test. 9 SRV 0 10 8000 a.vllm.test.",
				"a.vllm.test. 5 A 10.0.0.2", "a.vllm.test. 5 AAAA 2001:db8::2", "b.vllm.test. 7 A 10.0.0.1",
			},
			want: []string{
				"default/b.vllm.test-10-0-0-1-port-8000 10.0.0.1:8000 0", "default/b.vllm.test-10-0-0-1-port-8001 10.0.0.1:8001 1",
				"default/a.vllm.test-10-0-0-2-port-8000 10.0.0.2:8000 0",
			},
			ttl: 5, asked: []string{"SRV _http._tcp.vllm.test."},
		},
		{
			name:    "service without addresses in the answer",
			options: DNSOptions{Name: "_http._tcp.vllm.test", Type: DNSService}, noExtra: true,
			zone: []string{
				"_http._tcp.vllm.test. 9 SRV 0 0 80 a.vllm.test.", "_http._tcp.vllm.test. 9 SRV 0 0 80 gone.vllm.test.",
				"a.vllm.test. 3 AAAA 2001:db8::2", "test. 4 SOA a. b. 1 2 3 4 4",
			},
			want:     []string{"default/a.vllm.test-2001-db8--2-port-80 [2001:db8::2]:80 0"},
			warnings: []string{"target left out: name gone.vllm.test. does not exist"},
			ttl:      3,
			asked:    []string{"A a.vllm.test.", "A gone.vllm.test.", "AAAA a.vllm.test.", "SRV _http._tcp.vllm.test."},
		},
		{
			name:    "AAAA in the answer waits for A",
			options: DNSOptions{Name: "_http._tcp.vllm.test", Type: DNSService},
			zone:    []string{"_http._tcp.vllm.test. 9 SRV 0 0 80 a.vllm.test.", "a.vllm.test. 9 AAAA 2001:db8::2"},
			want:    []string{"default/a.vllm.test-2001-db8--2-port-80 [2001:db8::2]:80 0"},
			ttl:     5, asked: []string{"A a.vllm.test.", "AAAA a.vllm.test.", "SRV _http._tcp.vllm.test."},
		},
		{
			name:    "lowest priority number only",
			options: DNSOptions{Name: "_http._tcp.vllm.test", Type: DNSService},
			zone: []string{
				"_http._tcp.vllm.test. 9 SRV 20 0 80 a.vllm.test.", "_http._tcp.vllm.test. 9 SRV 10 0 80 b.vllm.test.",
				"a.vllm.test. 9 A 10.0.0.1", "b.vllm.test. 9 A 10.0.0.2",
			},
			want: []string{"default/b.vllm.test-10-0-0-2-port-80 10.0.0.2:80 0"},
			ttl:  9,
		},
		{
			name:    "two targets at one address",
			options: DNSOptions{Name: "_http._tcp.vllm.test", Type: DNSService},
			zone: []string{
				"_http._tcp.vllm.test. 9 SRV 0 0 80 b.vllm.test.", "_http._tcp.vllm.test. 9 SRV 0 0 80 a.vllm.test.",
				"_http._tcp.vllm.test. 9 SRV 0 0 81 b.vllm.test.", "a.vllm.test. 9 A 10.0.0.1", "b.vllm.test. 9 A 10.0.0.1",
			},
			want: []string{"default/a.vllm.test-10-0-0-1-port-80 10.0.0.1:80 0", "default/b.vllm.test-10-0-0-1-port-81 10.0.0.1:81 1"},
			ttl:  9,
		},
		{
			name:    "names that collide",
			options: DNSOptions{Name: "_http._tcp.vllm.test", Type: DNSService},
			zone: []string{
				"_http._tcp.vllm.test. 9 SRV 0 0 80 x-1-2-3-4.", "x-1-2-3-4. 9 A 5.6.7.8",
				"_http._tcp.vllm.test. 9 SRV 0 0 80 x.", "x. 9 AAAA 1:2:3:4:5:6:7:8",
			},
			want:     []string{"default/x-1-2-3-4-5-6-7-8-port-80 5.6.7.8:80 0"},
			warnings: []string{"x-1-2-3-4-5-6-7-8-port-80 at [1:2:3:4:5:6:7:8]:80 is left out: the name is taken"},
			ttl:      5,
		},
		{
			name:    "records that cannot be used",
			options: DNSOptions{Name: "_http._tcp.vllm.test", Type: DNSService},
			zone: []string{
				"_http._tcp.vllm.test. 9 SRV 0 0 0 a.vllm.test.", `_http._tcp.vllm.test. 9 SRV 0 0 80 a\032b.vllm.test.`,
				"_http._tcp.vllm.test. 9 SRV 0 0 80 c.vllm.test.", "a.vllm.test. 9 A 10.0.0.1", "c.vllm.test. 9 A 10.0.0.3",
			},
			want: []string{"default/c.vllm.test-10-0-0-3-port-80 10.0.0.3:80 0"},
			warnings: []string{
				`SRV record with target "a\\032b.vllm.test." is left out: the target has odd characters`,
				"SRV record with target a.vllm.test. is left out: its port is 0",
			},
			ttl: 9,
		},
		{
			name:    "no record can be used",
			options: DNSOptions{Name: "_http._tcp.vllm.test", Type: DNSService},
			zone:    []string{"_http._tcp.vllm.test. 9 SRV 0 0 0 a.vllm.test."},
			err:     "nothing of the answer can be used: SRV record with target a.vllm.test. is left out: its port is 0",
		},
		{
			name:    "no service, said so",
			options: DNSOptions{Name: "_http._tcp.vllm.test", Type: DNSService},
			zone:    []string{"_http._tcp.vllm.test. 9 SRV 0 0 0 ."},
			nothing: "the SRV record says that there is no service _http._tcp.vllm.test.", ttl: 9,
		},
		{
			name:    "targets without address",
			options: DNSOptions{Name: "_http._tcp.vllm.test", Type: DNSService},
			zone:    []string{"_http._tcp.vllm.test. 9 SRV 0 0 80 a.vllm.test.", "_http._tcp.vllm.test. 9 SRV 0 0 80 b.vllm.test."},
			nothing: "none of the 2 targets of _http._tcp.vllm.test. has an address", ttl: 5,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			z := newZone(t, tt.zone...)
			z.lazy, z.noExtra = tt.lazy, tt.noExtra
			f, err := z.source(tt.options).lookUp(t.Context())
			if got := z.took(); tt.asked != nil {
				slices.Sort(got)
				if d := cmp.Diff(slices.Sorted(slices.Values(tt.asked)), got); d != "" {
					t.Errorf("asked (-want +got):\n%s", d)
				}
			}
			if tt.err != "" {
				if err == nil || err.Error() != tt.err {
					t.Errorf("error %v, want %q", err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if f.nothing != tt.nothing || f.ttl != time.Duration(tt.ttl)*time.Second {
				t.Errorf("nothing is %q, TTL is %v; want %q, %d s", f.nothing, f.ttl, tt.nothing, tt.ttl)
			}
			if d := cmp.Diff(append([]string{}, tt.want...), forms(f.endpoints)); d != "" {
				t.Errorf("endpoints (-want +got):\n%s", d)
			}
			if d := cmp.Diff(append([]string{}, tt.warnings...), append([]string{}, f.warnings...)); d != "" {
				t.Errorf("warnings (-want +got):\n%s", d)
			}
			// The order of the records does not show.
			for range 3 {
				z.change(func() {
					slices.Reverse(z.records)
					n := min(1, len(z.records))
					z.records = slices.Concat(z.records[n:], z.records[:n])
				})
				if d := cmp.Diff(forms(f.endpoints), forms(find(t, z.source(tt.options)).endpoints)); d != "" {
					t.Fatalf("in another order (-want +got):\n%s", d)
				}
			}
		})
	}
}

func TestDNSOptions(t *testing.T) {
	tests := []struct {
		name    string
		options DNSOptions
		want    string
	}{
		{name: "addresses", options: DNSOptions{Name: "vllm.models.svc.cluster.local", Ports: []uint16{8000, 8001}}},
		{name: "service", options: DNSOptions{Name: "_http._tcp.vllm.models", Type: "SRV"}},
		{name: "everything", options: DNSOptions{Name: "a.", Type: "A/AAAA", Ports: []uint16{1}, Namespace: "n", Resolver: "[::1]:5353", MinTTL: time.Minute}},
		{name: "resolver without port", options: DNSOptions{Name: "a", Ports: []uint16{1}, Resolver: "10.96.0.10"}},
		{name: "empty", want: "name: \"\" is not a DNS name\nports: give the ports of each host; only type SRV finds ports by itself"},
		{
			name: "everything wrong",
			options: DNSOptions{
				Name: "10.0.0.1", Type: "A", Resolver: "dns.example:53", MinTTL: time.Minute, MaxTTL: time.Second, MaxEndpoints: -1,
			},
			want: `name: 10.0.0.1 is an address; list it as an endpoint
type: "A" is neither A/AAAA nor SRV
resolver: "dns.example:53" is neither an IP address nor ip:port
minTTL, maxTTL: 1m0s to 1s is not a range of positive durations
maxEndpoints: -1 is negative`,
		},
		{name: "root", options: DNSOptions{Name: ".", Ports: []uint16{1}}, want: `name: "." is not a DNS name`},
		{name: "odd name", options: DNSOptions{Name: "a b", Ports: []uint16{1}}, want: `name: "a b" has other characters than letters, digits, '.', '-' and '_'`},
		{name: "ports", options: DNSOptions{Name: "a", Ports: []uint16{1, 0, 1}}, want: "ports[1]: 0 is not a port\nports[2]: 1 is already ports[0]"},
		{name: "ports of a service", options: DNSOptions{Name: "a", Type: "SRV", Ports: []uint16{1}}, want: "ports: type SRV finds ports by itself; remove them or use type A/AAAA"},
		{name: "negative TTL", options: DNSOptions{Name: "a", Ports: []uint16{1}, MinTTL: -1}, want: "minTTL, maxTTL: -1ns to 30s is not a range of positive durations"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := ""
			if err := tt.options.Validate(); err != nil {
				got = err.Error()
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Error(d)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		r := runSource(t, NewDNS(DNSOptions{Name: "a"}))
		r.want(`err: options of DNS name "a": ports: give the ports of each host; only type SRV finds ports by itself`)
		time.Sleep(time.Hour)
		r.want()
		r.stop()
	})
}

// TestDNSHonoursTTL counts the questions of an hour.
func TestDNSHonoursTTL(t *testing.T) {
	tests := []struct {
		name   string
		ttl    int
		jitter float64
		every  time.Duration
	}{
		{"TTL", 5, 0, 5 * time.Second},
		{"below MinTTL", 0, 0, 2 * time.Second},
		{"above MaxTTL", 3600, 0, 20 * time.Second},
		{"never earlier than the TTL says", 10, 0.999999, 11 * time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				z := newZone(t, fmt.Sprintf("vllm.test. %d A 10.0.0.1", tt.ttl))
				r := runSource(t, z.source(DNSOptions{
					Name: "vllm.test", Ports: []uint16{80}, MinTTL: 2 * time.Second, MaxTTL: 20 * time.Second, Jitter: func() float64 { return tt.jitter },
				}))
				defer r.stop()
				time.Sleep(time.Hour)
				r.want("vllm.test-10-0-0-1-rank-0@10.0.0.1:80")
				if got, want := len(z.took()), int(time.Hour/tt.every); got < want || got > want+1 {
					t.Errorf("%d questions in an hour, want one every %v: %d", got, tt.every, want)
				}
			})
		})
	}
}

// TestDNSChanges follows a headless Service through its life.
func TestDNSChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const ttl = 5 * time.Second
		a, b := "vllm.test. 5 A 10.0.0.1", "vllm.test. 5 A 10.0.0.2"
		z := newZone(t)
		r := runSource(t, z.source(DNSOptions{Name: "vllm.test", Ports: []uint16{80}}))
		defer r.stop()
		absent := "err: DNS name vllm.test: name vllm.test. does not exist; the list becomes empty when 3 answers in a row say so"
		empty := "!DNS name vllm.test: name vllm.test. does not exist"

		// No pod is ready at first.
		r.want(absent)
		time.Sleep(2*ttl - time.Nanosecond)
		r.want()
		time.Sleep(time.Nanosecond)
		r.want(empty)
		z.set(a)
		time.Sleep(ttl)
		r.want("vllm.test-10-0-0-1-rank-0@10.0.0.1:80")

		// One comes, the order changes, one goes.
		z.set(b, a)
		time.Sleep(ttl)
		r.want("vllm.test-10-0-0-1-rank-0@10.0.0.1:80 vllm.test-10-0-0-2-rank-0@10.0.0.2:80")
		z.set(a, b)
		time.Sleep(ttl)
		r.want()
		z.set(b)
		time.Sleep(ttl)
		r.want("vllm.test-10-0-0-2-rank-0@10.0.0.2:80")

		// Two empty answers are not enough; the same list ends the error.
		z.set("vllm.test. 5 TXT x")
		time.Sleep(2 * ttl)
		r.want("err: DNS name vllm.test: name vllm.test. has neither A nor AAAA records; the list becomes empty when 3 answers in a row say so")
		z.set(b)
		time.Sleep(ttl)
		r.want("vllm.test-10-0-0-2-rank-0@10.0.0.2:80")

		// An outage does not count as an answer, and an answer before it is forgotten.
		z.set()
		time.Sleep(2 * ttl)
		r.want(absent)
		z.change(func() { z.rcode = dns.RcodeServerFailure })
		time.Sleep(ttl)
		r.want("err: DNS name vllm.test: ask 127.0.0.1:53 for A of vllm.test.: status SERVFAIL")
		z.change(func() { z.rcode = 0 })
		time.Sleep(ttl)
		r.want(absent)
		time.Sleep(2 * ttl)
		r.want(empty)
		time.Sleep(time.Hour)
		r.want()
	})
}

// TestDNSOutage takes the resolver away for a day.
func TestDNSOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		z := newZone(t, "vllm.test. 5 A 10.0.0.1")
		r := runSource(t, z.source(DNSOptions{Name: "vllm.test", Ports: []uint16{80}}))
		defer r.stop()
		r.want("vllm.test-10-0-0-1-rank-0@10.0.0.1:80")
		z.change(func() { z.down = errDown })
		time.Sleep(24 * time.Hour)
		r.want("err: DNS name vllm.test: ask 127.0.0.1:53 for A of vllm.test.: connection refused")
		z.change(func() { z.rcode, z.down = dns.RcodeRefused, nil })
		z.took()
		time.Sleep(time.Hour)
		r.want("err: DNS name vllm.test: ask 127.0.0.1:53 for A of vllm.test.: status REFUSED")
		if n := len(z.took()); n < 2*119 || n > 2*121 {
			t.Errorf("%d questions in an hour of failure, want two tries every MaxTTL", n)
		}
		z.change(func() { z.rcode = 0 })
		time.Sleep(DefaultMaxTTL)
		r.want("vllm.test-10-0-0-1-rank-0@10.0.0.1:80")

		// After a recovery the first retry comes soon.
		z.change(func() { z.rcode = dns.RcodeServerFailure })
		updates := r.take()
		for ; len(updates) == 0; updates = r.take() {
			time.Sleep(100 * time.Millisecond)
		}
		if got, want := updates[0].text(), "err: DNS name vllm.test: ask 127.0.0.1:53 for A of vllm.test.: status SERVFAIL"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		z.change(func() { z.rcode = 0 })
		time.Sleep(DefaultMinTTL)
		r.want("vllm.test-10-0-0-1-rank-0@10.0.0.1:80")
	})
}

// TestDNSTargets has more targets than are asked for at once, whose addresses have to be asked for.
func TestDNSTargets(t *testing.T) {
	const n = 5 * parallel
	var lines []string
	for i := range n {
		lines = append(lines, fmt.Sprintf("vllm.test. 5 SRV 0 0 80 p%d.test.", i), fmt.Sprintf("p%d.test. 5 A 10.0.0.%d", i, i))
	}
	z := newZone(t, lines...)
	z.noExtra = true
	f := find(t, z.source(DNSOptions{Name: "vllm.test", Type: DNSService}))
	if len(f.endpoints) != n || len(f.warnings) > 0 {
		t.Errorf("%d endpoints, warnings %q", len(f.endpoints), f.warnings)
	}
	if asked := z.took(); len(asked) != 1+n {
		t.Errorf("%d questions, want %d", len(asked), 1+n)
	}

	f = find(t, z.source(DNSOptions{Name: "vllm.test", Type: DNSService, MaxEndpoints: 10}))
	if want := "vllm.test. has 80 targets, of which the last 70 are left out"; len(f.endpoints) != 10 || len(f.warnings) != 1 || f.warnings[0] != want {
		t.Errorf("%d endpoints, warnings %q", len(f.endpoints), f.warnings)
	}
	if asked := z.took(); len(asked) != 1+10 {
		t.Errorf("%d questions for 10 of the targets", len(asked))
	}

	// One target of which nothing is known makes the whole list unknown.
	z.change(func() { z.failing = "p7.test." })
	_, err := z.source(DNSOptions{Name: "vllm.test", Type: DNSService}).lookUp(t.Context())
	if want := "ask 127.0.0.1:53 for A of p7.test.: status SERVFAIL"; err == nil || err.Error() != want {
		t.Errorf("error %v, want %q", err, want)
	}
	z.change(func() { z.failing, z.down = "", context.DeadlineExceeded })
	_, err = z.source(DNSOptions{Name: "vllm.test", Type: DNSService}).lookUp(t.Context())
	if want := "ask 127.0.0.1:53 for SRV of vllm.test.: no answer within 2s"; err == nil || err.Error() != want {
		t.Errorf("error %v, want %q", err, want)
	}
}

// TestDNSSearch resolves names as a pod does.
func TestDNSSearch(t *testing.T) {
	kubernetes := []string{"nameserver 10.96.0.10", "search models.svc.cluster.local svc.cluster.local cluster.local wild.example", "options ndots:5"}
	const full = "vllm.models.svc.cluster.local."
	tests := []struct {
		name   string
		given  string
		config []string
		zone   string
		asked  []string // in the first refresh; then only the last one
	}{
		{"full name", full[:len(full)-1], kubernetes, full, []string{
			"A vllm.models.svc.cluster.local.models.svc.cluster.local.", "A vllm.models.svc.cluster.local.svc.cluster.local.",
			"A vllm.models.svc.cluster.local.cluster.local.", "A vllm.models.svc.cluster.local.wild.example.", "A " + full,
		}},
		{"dot at the end", full, kubernetes, full, []string{"A " + full}},
		{"service", "vllm", kubernetes, full, []string{"A " + full}},
		{"service and namespace", "vllm.models", kubernetes, full, []string{"A vllm.models.models.svc.cluster.local.", "A " + full}},
		{"enough dots", "vllm.models", []string{"search a.example"}, "vllm.models.", []string{"A vllm.models."}},
		{"no configuration", "vllm", nil, "vllm.", []string{"A vllm."}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			z := newZone(t, tt.zone+" 5 A 10.0.0.1")
			d := z.source(DNSOptions{Name: tt.given, Ports: []uint16{80}})
			resolvConf(t, d, tt.config...)
			f := find(t, d)
			want := "default/" + strings.TrimSuffix(tt.given, ".") + "-10-0-0-1-rank-0 10.0.0.1:80 0"
			if d := cmp.Diff([]string{want}, forms(f.endpoints)); d != "" {
				t.Error(d)
			}
			if d := cmp.Diff(tt.asked, z.took()); d != "" {
				t.Errorf("asked (-want +got):\n%s", d)
			}
			z.set("vllm.models.svc.cluster.local.wild.example. 5 A 192.0.2.1", "vllm.wild.example. 5 A 192.0.2.1")
			if f := find(t, d); f.nothing == "" {
				t.Errorf("in the absence of endpoints: %v", forms(f.endpoints))
			}
			if d := cmp.Diff(tt.asked[len(tt.asked)-1:], z.took()); d != "" {
				t.Errorf("asked at the refresh (-want +got):\n%s", d)
			}
		})
	}

	z := newZone(t)
	d := z.source(DNSOptions{Name: "vllm", Ports: []uint16{80}})
	resolvConf(t, d, "search a.example b.example")
	if f := find(t, d); f.nothing != "name vllm.a.example. does not exist, name vllm.b.example. does not exist, name vllm. does not exist" {
		t.Errorf("nothing is %q", f.nothing)
	}
	d.config += ".gone"
	if _, err := d.lookUp(t.Context()); err == nil || !strings.Contains(err.Error(), "find a resolver: ") {
		t.Errorf("error %v", err)
	}
}
