// Package cidr tells whether an IP address lies in a network, for the Wasm module, in which net/netip would be too large. It has
// no reflection, clock or I/O; asking allocates nothing.
package cidr

import (
	"errors"
	"strconv"
	"strings"
)

// Addr is an IP address; an IPv4 address is kept as IPv4-mapped IPv6.
type Addr [16]byte

// Prefix is a network.
type Prefix struct {
	_ [0]func() // not comparable, for the size of the module

	addr Addr
	bits int // of the 128 that count
	v4   bool
}

// mapped is what IPv4-mapped addresses begin with.
var mapped = Addr{10: 0xff, 11: 0xff}

// mappedBits is the length of that.
const mappedBits = 96

// Parse reads a network, as "10.0.0.0/8" or "fd00::/8", or an address, which is a network of one. Bits behind the network's
// must be 0.
func Parse(s string) (Prefix, error) {
	text, length, has := strings.Cut(s, "/")
	addr, v4, ok := parse([]byte(text))
	if !ok {
		return Prefix{}, errors.New(strconv.Quote(s) + " is not a network like 10.0.0.0/8 or fd00::/8")
	}
	p := Prefix{addr: addr, bits: 128, v4: v4}
	offset, most := 0, 128
	if v4 {
		offset, most = mappedBits, 32
	}
	if has {
		n, err := strconv.Atoi(length)
		if err != nil || n < 0 || n > most || length != strconv.Itoa(n) {
			return Prefix{}, errors.New(strconv.Quote(s) + ": the length of the network must be 0 to " + strconv.Itoa(most))
		}
		p.bits = offset + n
	}
	for i := p.bits; i < 128; i++ {
		if addr[i/8]>>(7-i%8)&1 != 0 {
			return Prefix{}, errors.New(strconv.Quote(s) + " has bits set behind the length of the network; write the first address of the network")
		}
	}
	return p, nil
}

// Contains reports whether a lies in p. IPv4 networks have the IPv4-mapped addresses; no IPv6 network has IPv4 addresses.
func (p Prefix) Contains(a Addr) bool {
	if !p.v4 && a.is4() {
		return false
	}
	n := p.bits / 8
	for i := range n {
		if a[i] != p.addr[i] {
			return false
		}
	}
	rest := p.bits % 8
	return rest == 0 || (a[n]^p.addr[n])>>(8-rest) == 0
}

func (a Addr) is4() bool { return [12]byte(a[:12]) == [12]byte(mapped[:12]) }

// ParseHostPort reads the address of "ip:port", with brackets around IPv6. It reports false for anything else, zones included.
func ParseHostPort(b []byte) (Addr, bool) {
	colon := len(b) - 1
	for colon >= 0 && b[colon] != ':' {
		if c := b[colon]; c < '0' || c > '9' {
			return Addr{}, false
		}
		colon--
	}
	if colon <= 0 || colon == len(b)-1 {
		return Addr{}, false
	}
	host := b[:colon]
	brackets := host[0] == '['
	if brackets {
		if len(host) < 2 || host[len(host)-1] != ']' {
			return Addr{}, false
		}
		host = host[1 : len(host)-1]
	}
	a, v4, ok := parse(host)
	return a, ok && brackets != v4
}

// parse reads an address.
func parse(s []byte) (a Addr, v4, ok bool) {
	for i := range len(s) {
		switch s[i] {
		case ':':
			a, ok = parse6(s)
			return a, false, ok
		case '.':
			a = mapped
			return a, true, parse4(s, a[12:])
		}
	}
	return a, false, false
}

// parse4 reads four decimal numbers into out.
func parse4(s, out []byte) bool {
	part, digits, n := 0, 0, 0
	for i := range len(s) + 1 {
		if i == len(s) || s[i] == '.' {
			if digits == 0 || part == 4 {
				return false
			}
			out[part] = byte(n)
			part, digits, n = part+1, 0, 0
			continue
		}
		c := s[i]
		if c < '0' || c > '9' || digits > 0 && n == 0 { // no leading zero
			return false
		}
		if n = n*10 + int(c-'0'); n > 255 {
			return false
		}
		digits++
	}
	return part == 4
}

// parse6 reads groups of hexadecimal digits, of which one run of zeros may be left out, and the last two of which may be
// written as IPv4.
func parse6(s []byte) (a Addr, ok bool) {
	gap, at := -1, 0
	i := 0
	if len(s) >= 2 && s[0] == ':' && s[1] == ':' {
		gap, i = 0, 2
	}
	for i < len(s) {
		if at == 16 {
			return a, false
		}
		start, n := i, 0
		for ; i < len(s) && s[i] != ':' && s[i] != '.'; i++ {
			d, valid := hexDigit(s[i])
			if n = n<<4 | d; !valid || i-start == 4 {
				return a, false
			}
		}
		switch {
		case i == start:
			return a, false
		case i < len(s) && s[i] == '.':
			if at > 12 || !parse4(s[start:], a[at:at+4]) {
				return a, false
			}
			at, i = at+4, len(s)
			continue
		}
		a[at], a[at+1] = byte(n>>8), byte(n)
		at += 2
		if i == len(s) {
			break
		}
		if i++; i == len(s) {
			return a, false // ends in one colon
		}
		if s[i] == ':' {
			if gap >= 0 {
				return a, false
			}
			gap = at
			i++
		}
	}
	return spread(a, gap, at)
}

// spread puts zeros where groups were left out.
func spread(a Addr, gap, at int) (Addr, bool) {
	if gap < 0 {
		return a, at == 16
	}
	if at == 16 {
		return a, false
	}
	tail := at - gap
	copy(a[16-tail:], a[gap:at])
	clear(a[gap : 16-tail])
	return a, true
}

func hexDigit(c byte) (int, bool) {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0'), true
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10, true
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10, true
	}
	return 0, false
}
