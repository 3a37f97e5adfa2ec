package snapshot

import (
	"net/netip"
	"testing"
)

func TestValidAddress(t *testing.T) {
	tests := []struct {
		name string
		addr string
		want bool
	}{
		{"ipv4", "10.0.0.1:8000", true},
		{"ipv4 lowest", "0.0.0.0:1", true},
		{"ipv4 highest", "255.255.255.255:65535", true},
		{"ipv6", "[2001:db8::1]:8000", true},
		{"ipv6 loopback", "[::1]:80", true},
		{"ipv6 any", "[::]:80", true},
		{"ipv6 gap at the end", "[fe80::]:80", true},
		{"ipv6 full", "[1:2:3:4:5:6:7:8]:80", true},
		{"ipv6 one zero group stays", "[1:0:3:4:5:6:7:8]:80", true},
		{"ipv6 first of two equal runs", "[1::4:0:0:7:8]:80", true},
		{"ipv6 longest run", "[1:0:0:4::8]:80", true},

		{"empty", "", false},
		{"no port", "10.0.0.1", false},
		{"empty port", "10.0.0.1:", false},
		{"no host", ":80", false},
		{"host name", "pod-1:80", false},
		{"port zero", "10.0.0.1:0", false},
		{"port too large", "10.0.0.1:65536", false},
		{"port with leading zero", "10.0.0.1:080", false},
		{"port signed", "10.0.0.1:+80", false},
		{"two ports", "10.0.0.1:80:80", false},
		{"three octets", "10.0.1:80", false},
		{"five octets", "10.0.0.0.1:80", false},
		{"empty octet", "10..0.1:80", false},
		{"octet too large", "10.0.0.256:80", false},
		{"octet with leading zero", "10.0.0.01:80", false},
		{"blank", " 10.0.0.1:80", false},
		{"list", "10.0.0.1:80,10.0.0.2:80", false},
		{"ipv6 without brackets", "::1:80", false},
		{"ipv6 empty brackets", "[]:80", false},
		{"ipv6 unclosed", "[::1:80", false},
		{"ipv6 zone", "[fe80::1%eth0]:80", false},
		{"ipv6 upper case", "[2001:DB8::1]:80", false},
		{"ipv6 leading zero", "[2001:0db8::1]:80", false},
		{"ipv6 not shortened", "[2001:db8:0:0:0:0:0:1]:80", false},
		{"ipv6 shorter run left out", "[1::4:0:0:0:8]:80", false},
		{"ipv6 second of two equal runs", "[1:0:0:4::7:8]:80", false},
		{"ipv6 gap of one group", "[1::3:4:5:6:7:8]:80", false},
		{"ipv6 gap of none", "[1:2:3:4::5:6:7:8]:80", false},
		{"ipv6 two gaps", "[1::2::3]:80", false},
		{"ipv6 seven groups", "[1:2:3:4:5:6:7]:80", false},
		{"ipv6 nine groups", "[1:2:3:4:5:6:7:8:9]:80", false},
		{"ipv6 five digits", "[10000::1]:80", false},
		{"ipv6 colon at the end", "[1:2:3:4:5:6:7:]:80", false},
		{"ipv6 three colons", "[:::1]:80", false},
		{"ipv4-mapped dotted", "[::ffff:10.0.0.1]:80", false},
		{"ipv4-mapped in groups", "[::ffff:a00:1]:80", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := ValidAddress([]byte(tt.addr)); got != tt.want {
				t.Errorf("ValidAddress(%q) = %v, want %v", tt.addr, got, tt.want)
			}
			if got := oracle(tt.addr); got != tt.want {
				t.Errorf("the oracle says %v for %q, want %v", got, tt.addr, tt.want)
			}
		})
	}
}

// oracle is the meaning of ValidAddress in terms of net/netip.
func oracle(addr string) bool {
	ap, err := netip.ParseAddrPort(addr)
	return err == nil && ap.Port() != 0 && ap.Addr().Zone() == "" && !ap.Addr().Is4In6() && ap.String() == addr
}

func FuzzValidAddress(f *testing.F) {
	for _, seed := range []string{"10.0.0.1:8000", "[2001:db8::1]:80", "[1::4:0:0:7:8]:80", "[::ffff:a00:1]:1", "[1:2:3:4:5:6:7::]:9"} {
		f.Add(seed, []byte("\x20\x01\x0d\xb8\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01"), uint16(80))
	}
	f.Fuzz(func(t *testing.T, text string, raw []byte, port uint16) {
		if got, want := ValidAddress([]byte(text)), oracle(text); got != want {
			t.Errorf("ValidAddress(%q) = %v, netip says %v", text, got, want)
		}
		// Random text seldom is an address: write one from raw bytes too.
		if ip, ok := netip.AddrFromSlice(raw); ok {
			addr := netip.AddrPortFrom(ip, port).String()
			if got, want := ValidAddress([]byte(addr)), oracle(addr); got != want {
				t.Errorf("ValidAddress(%q) = %v, netip says %v", addr, got, want)
			}
		}
	})
}
