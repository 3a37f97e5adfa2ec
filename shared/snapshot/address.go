package snapshot

// maxPortDigits is the length of 65535.
const maxPortDigits = 5

// ValidAddress reports whether addr is ip:port in the one form that the whole project compares and hashes: dotted IPv4, or
// IPv6 in brackets in the form of RFC 5952 (lower case, longest run of zeros shortened) without zone; port 1 to 65535
// without leading zeros. IPv4-mapped IPv6 addresses are refused, because the same host would have two spellings.
// It agrees with netip.AddrPort, which stays out of the Wasm module for its size.
func ValidAddress(addr []byte) bool {
	colon := len(addr) - 1
	for colon >= 0 && addr[colon] != ':' {
		colon--
	}
	if colon < 1 || !validDecimal(addr[colon+1:], maxPortDigits, 1, 65535) {
		return false
	}
	host := addr[:colon]
	if host[0] != '[' {
		return validIPv4(host)
	}
	return host[len(host)-1] == ']' && len(host) > 2 && validIPv6(host[1:len(host)-1])
}

// validDecimal reports whether b is a number in [lo,hi] of at most digits digits, without leading zeros.
func validDecimal(b []byte, digits, lo, hi int) bool {
	if len(b) == 0 || len(b) > digits || (b[0] == '0' && len(b) > 1) {
		return false
	}
	n := 0
	for _, c := range b {
		if c < '0' || c > '9' {
			return false
		}
		n = n*10 + int(c-'0')
	}
	return n >= lo && n <= hi
}

func validIPv4(b []byte) bool {
	parts := 0
	for start, i := 0, 0; i <= len(b); i++ {
		if i < len(b) && b[i] != '.' {
			continue
		}
		if !validDecimal(b[start:i], 3, 0, 255) {
			return false
		}
		parts++
		start = i + 1
	}
	return parts == 4
}

// validIPv6 parses eight groups, of which one run may be left out as "::", and then checks that the right run was left out.
func validIPv6(b []byte) bool {
	var groups [8]uint16
	n, gap := 0, -1 // groups read; group index at which "::" stands
	if len(b) >= 2 && b[0] == ':' && b[1] == ':' {
		gap, b = 0, b[2:]
	}
	for len(b) > 0 {
		g, rest, ok := hexGroup(b)
		if !ok || n == len(groups) {
			return false
		}
		groups[n] = g
		n++
		switch {
		case len(rest) == 0:
			b = nil
		case len(rest) == 1: // a colon at the very end
			return false
		case rest[1] != ':':
			b = rest[1:]
		case gap >= 0: // a second "::"
			return false
		default:
			gap, b = n, rest[2:]
		}
	}
	return canonicalIPv6(&groups, n, gap)
}

// hexGroup reads a group of one to four lower-case hexadecimal digits without leading zeros, up to a colon or the end.
func hexGroup(b []byte) (g uint16, rest []byte, ok bool) {
	i := 0
	for ; i < len(b) && b[i] != ':'; i++ {
		switch c := b[i]; {
		case i == 4:
			return 0, nil, false
		case c >= '0' && c <= '9':
			g = g<<4 | uint16(c-'0')
		case c >= 'a' && c <= 'f':
			g = g<<4 | uint16(c-'a'+10)
		default:
			return 0, nil, false
		}
	}
	if i == 0 || (b[0] == '0' && i > 1) {
		return 0, nil, false
	}
	return g, b[i:], true
}

// canonicalIPv6 checks n groups with a gap before group index gap (-1: none) against RFC 5952 section 4.2: the longest run
// of at least two zero groups is left out, the first one if several are equally long.
func canonicalIPv6(groups *[8]uint16, n, gap int) bool {
	if gap < 0 && n != 8 || gap >= 0 && n > 6 {
		return false
	}
	gapLen := 0
	if gap >= 0 {
		gapLen = 8 - n
		copy(groups[gap+gapLen:], groups[gap:n])
		clear(groups[gap : gap+gapLen])
	}
	best, bestLen := -1, 1
	for i := 0; i < 8; {
		run := 0
		for i+run < 8 && groups[i+run] == 0 {
			run++
		}
		if run > bestLen {
			best, bestLen = i, run
		}
		i += run + 1
	}
	mapped := groups[0]|groups[1]|groups[2]|groups[3]|groups[4] == 0 && groups[5] == 0xFFFF
	return !mapped && best == gap && (gap < 0 || bestLen == gapLen)
}
