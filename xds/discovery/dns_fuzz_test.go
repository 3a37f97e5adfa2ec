package discovery

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/miekg/dns"
)

// FuzzDNSAnswer gives any message as the answer to every question. What is found must be sound, the same in any order of
// the records, and found with few questions.
func FuzzDNSAnswer(f *testing.F) {
	for _, lines := range [][]string{
		{"vllm.test. 5 A 10.0.0.1", "vllm.test. 5 A 10.0.0.2", "vllm.test. 5 A 0.0.0.0"},
		{"vllm.test. 5 AAAA 2001:db8::1", "vllm.test. 5 AAAA ::ffff:10.0.0.1", "vllm.test. 5 AAAA fe80::1"},
		{"vllm.test. 5 CNAME b.test.", "b.test. 5 CNAME c.test.", "c.test. 5 A 10.0.0.1"},
		{"vllm.test. 5 CNAME b.test.", "b.test. 5 CNAME vllm.test."},
		{"vllm.test. 5 SRV 0 0 80 a.test.", "vllm.test. 5 SRV 0 0 81 b.test.", "vllm.test. 5 SRV 1 0 80 c.test.", "a.test. 5 A 10.0.0.1"},
		{"vllm.test. 5 SRV 0 0 80 a.test.", "vllm.test. 5 SRV 0 0 80 b.test.", "a.test. 5 A 10.0.0.1", "b.test. 5 A 10.0.0.1"},
		{`vllm.test. 5 SRV 0 0 0 a\000.test.`, "vllm.test. 5 SRV 0 0 80 .", "vllm.test. 5 SRV 0 0 80 x.", "x. 5 AAAA 1:2:3:4:5:6:7:8"},
		{"vllm.test. 4294967295 A 10.0.0.1", "test. 9 SOA a. b. 1 2 3 4 5"},
	} {
		m := new(dns.Msg).SetQuestion("vllm.test.", dns.TypeA)
		for _, l := range lines {
			rr, err := dns.NewRR(l)
			if err != nil {
				f.Fatal(err)
			}
			m.Answer = append(m.Answer, rr)
		}
		b, err := m.Pack()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b, uint64(1))
	}
	f.Fuzz(func(t *testing.T, b []byte, seed uint64) {
		var m dns.Msg
		if err := m.Unpack(b); err != nil {
			return
		}
		for _, o := range []DNSOptions{
			{Name: "vllm.test", Ports: []uint16{80, 81}, MaxEndpoints: 10}, {Name: "vllm.test", Type: DNSService, MaxEndpoints: 10},
		} {
			first := answerWith(t, o, &m)
			random := rand.New(rand.NewPCG(seed, 0))
			for _, section := range [][]dns.RR{m.Answer, m.Extra, m.Ns} {
				random.Shuffle(len(section), func(i, j int) { section[i], section[j] = section[j], section[i] })
			}
			if d := cmp.Diff(first, answerWith(t, o, &m)); d != "" {
				t.Errorf("the order of the records shows (-first +second):\n%s", d)
			}
		}
	})
}

// answerWith returns what a source finds whose questions are all answered with m.
func answerWith(t *testing.T, o DNSOptions, m *dns.Msg) []string {
	t.Helper()
	questions := make(chan struct{}, 10*(2*rounds*maxQueries)+1)
	o.Resolver = "127.0.0.1"
	d := NewDNS(o).(*dnsSource)
	d.exchange = func(_ context.Context, q *dns.Msg, _ string) (*dns.Msg, error) {
		select {
		case questions <- struct{}{}:
		default:
			t.Error("the answer leads to too many questions")
			return nil, errors.New("too many questions")
		}
		answer := *m
		answer.Id, answer.Response, answer.Question = q.Id, true, q.Question
		return &answer, nil
	}
	f, err := d.lookUp(t.Context())
	if err != nil {
		return []string{"error"}
	}
	checkSound(t, f.endpoints)
	if len(f.endpoints) > o.MaxEndpoints || f.ttl < 0 || f.nothing != "" && len(f.endpoints) > 0 || f.nothing == "" && len(f.endpoints) == 0 {
		t.Errorf("found %+v", f)
	}
	return append(forms(f.endpoints), f.warnings...)
}
