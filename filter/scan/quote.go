package scan

// appendDecoded appends the content of a string with its escapes decoded, and reports whether they all were valid.
func appendDecoded(dst, src []byte) ([]byte, bool) {
	for {
		n := plainLen(src)
		dst = append(dst, src[:n]...)
		src = src[n:]
		if len(src) < 2 {
			return dst, len(src) == 0
		}
		if e := simpleEscape[src[1]]; e != 0 {
			dst = append(dst, e)
			src = src[2:]
			continue
		}
		r, size := unicodeEscape(src)
		if size == 0 && len(src) >= 6 && len(src) < 12 { // a surrogate that nothing can complete
			if _, ok := hex4(src[2:6]); ok {
				r, size = replacement, 6
			}
		}
		if src[1] != 'u' || size == 0 {
			return dst, false
		}
		var b [4]byte
		dst = append(dst, b[:putRune(b[:], r)]...)
		src = src[size:]
	}
}

// appendQuoted appends s as a JSON string with the escapes that encoding/json uses by default.
func appendQuoted(dst, s []byte) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	from := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		if !escaped[c] {
			continue
		}
		if c == 0xe2 { // U+2028 and U+2029 are e2 80 a8 and e2 80 a9
			if i+2 < len(s) && s[i+1] == 0x80 && s[i+2]&^1 == 0xa8 {
				dst = append(dst, s[from:i]...)
				dst = append(dst, `\u202`...)
				dst = append(dst, hex[s[i+2]&0xf])
				i += 2
				from = i + 1
			}
			continue
		}
		dst = append(dst, s[from:i]...)
		from = i + 1
		if e := shortEscape[c]; e != 0 {
			dst = append(dst, '\\', e)
			continue
		}
		dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&0xf])
	}
	dst = append(dst, s[from:]...)
	return append(dst, '"')
}

// shortEscape maps a byte to the letter of its short escape.
var shortEscape = [256]byte{'"': '"', '\\': '\\', '\b': 'b', '\f': 'f', '\n': 'n', '\r': 'r', '\t': 't'}

// escaped says which bytes appendQuoted does not copy, or not always.
var escaped = func() (t [256]bool) {
	for i := range ' ' {
		t[i] = true
	}
	for _, c := range []byte{'"', '\\', '<', '>', '&', 0xe2} {
		t[c] = true
	}
	return t
}()
