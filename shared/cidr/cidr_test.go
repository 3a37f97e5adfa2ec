package cidr

import (
	"net/netip"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	tests := []struct{ name, text, err string }{
		{"IPv4", "10.0.0.0/8", ""},
		{"everything", "0.0.0.0/0", ""},
		{"IPv4 address", "127.0.0.1", ""},
		{"IPv6", "fd00::/8", ""},
		{"IPv6 address", "::1", ""},
		{"all of IPv6", "::/0", ""},
		{"empty", "", "is not a network"},
		{"name", "localhost", "is not a network"},
		{"three numbers", "10.0.0/8", "is not a network"},
		{"leading zero", "010.0.0.0/8", "is not a network"},
		{"too long", "10.0.0.0/33", "0 to 32"},
		{"too long for IPv6", "::/129", "0 to 128"},
		{"no length", "10.0.0.0/", "0 to 32"},
		{"negative", "10.0.0.0/-1", "0 to 32"},
		{"sign", "10.0.0.0/+8", "0 to 32"},
		{"bits behind", "10.0.0.1/8", "bits set"},
		{"bits behind in IPv6", "fd00::1/64", "bits set"},
		{"zone", "fe80::1%eth0/64", "is not a network"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Parse(tt.text)
			if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("Parse(%q): %v, want %q", tt.text, err, tt.err)
			}
		})
	}
}

func TestContains(t *testing.T) {
	tests := []struct {
		network, hostPort string
		want              bool
	}{
		{"127.0.0.0/8", "127.0.0.1:4711", true},
		{"127.0.0.0/8", "128.0.0.1:4711", false},
		{"10.1.2.0/23", "10.1.3.255:1", true},
		{"10.1.2.0/23", "10.1.4.0:1", false},
		{"10.1.2.3", "10.1.2.3:1", true},
		{"10.1.2.3", "10.1.2.4:1", false},
		{"0.0.0.0/0", "8.8.8.8:53", true},
		{"0.0.0.0/0", "[::1]:53", false},
		{"0.0.0.0/0", "[::ffff:8.8.8.8]:53", true},
		{"::/0", "8.8.8.8:53", false},
		{"::/0", "[2001:db8::1]:53", true},
		{"fd00::/8", "[fdff::1]:1", true},
		{"fd00::/8", "[fe00::1]:1", false},
		{"0.0.0.0/0", "8.8.8.8", false},
		{"0.0.0.0/0", "/var/run/socket", false},
		{"0.0.0.0/0", "", false},
		{"0.0.0.0/0", ":80", false},
		{"0.0.0.0/0", "8.8.8.8:", false},
		{"0.0.0.0/0", "[8.8.8.8]:80", false},
		{"::/0", "::1:80", false},
		{"::/0", "[::1%eth0]:80", false},
		{"::/0", "[:80", false},
	}
	for _, tt := range tests {
		t.Run(tt.network+" "+tt.hostPort, func(t *testing.T) {
			p, err := Parse(tt.network)
			if err != nil {
				t.Fatal(err)
			}
			a, ok := ParseHostPort([]byte(tt.hostPort))
			if got := ok && p.Contains(a); got != tt.want {
				t.Errorf("%s in %s: %v, want %v", tt.hostPort, tt.network, got, tt.want)
			}
		})
	}
}

// FuzzCIDR compares with package net/netip.
func FuzzCIDR(f *testing.F) {
	for _, s := range []string{"10.0.0.0/8|10.1.2.3:80", "fd00::/8|[fd00::1]:80", "::ffff:1.2.3.4/128|[::ffff:1.2.3.4]:1", "1::2:3:4:5:6:7:8|[1::]:1", "::1.2.3.4/100|[1:2:3:4:5:6:1.2.3.4]:1", "1:2:3:4:5:6:7::|[::]:0"} {
		network, hostPort, _ := strings.Cut(s, "|")
		f.Add(network, hostPort)
	}
	f.Fuzz(func(t *testing.T, network, hostPort string) {
		a, ok := ParseHostPort([]byte(hostPort))
		want, err := netip.ParseAddrPort(hostPort)
		port := hostPort[strings.LastIndexByte(hostPort, ':')+1:]
		plain := err == nil && want.Addr().Zone() == "" && (want.Addr().Is4() || hostPort[0] == '[')
		if plain && !ok || ok && !plain && len(port) <= 4 {
			t.Fatalf("ParseHostPort(%q): %v, netip %v", hostPort, ok, err)
		}
		if ok && plain && a != Addr(want.Addr().As16()) {
			t.Fatalf("ParseHostPort(%q) = %v, netip %v", hostPort, a, want.Addr().As16())
		}
		p, err := Parse(network)
		text := network
		if !strings.Contains(text, "/") {
			text += "/128"
			if !strings.Contains(text, ":") {
				text = network + "/32"
			}
		}
		ref, refErr := netip.ParsePrefix(text)
		valid := refErr == nil && ref.Masked() == ref && ref.Addr().Zone() == ""
		if (err == nil) != valid {
			t.Fatalf("Parse(%q): %v, netip %v, %v", network, err, refErr, ref)
		}
		if err == nil && ok && plain && !want.Addr().Is4In6() && !ref.Addr().Is4In6() {
			if got := p.Contains(a); got != ref.Contains(want.Addr()) {
				t.Fatalf("%q in %q: %v", hostPort, network, got)
			}
		}
	})
}
