package scan

import (
	"math/bits"
	"unsafe"

	"github.com/zerohop/zerohop/shared/word"
)

// The kernels work on eight bytes at a time. They load through unsafe pointers because bounds checks on every word cost a
// third of the speed in Wasm; each load is covered by the loop condition next to it.

const (
	lowBits  = 0x0101010101010101
	highBits = 0x8080808080808080
	quotes   = 0x2222222222222222
	slashes  = 0x5c5c5c5c5c5c5c5c
)

// specials marks the bytes of w that are a quote or a backslash in their high bit. The lowest mark is exact; marks above
// it may be false.
func specials(w uint64) uint64 { return marks(w) & highBits }

// marks is specials with more bits that mean nothing.
func marks(w uint64) uint64 {
	q, s := w^quotes, w^slashes
	return (q-lowBits)&^q | (s-lowBits)&^s
}

// plainLen returns the number of bytes before the first quote or backslash in b.
func plainLen(b []byte) int { return plainEnd(unsafe.Pointer(unsafe.SliceData(b)), 0, len(b)) }

// plainEnd returns the offset from p, between i and n, of the first quote or backslash, n if there is none.
func plainEnd(p unsafe.Pointer, i, n int) int {
	for ; i+32 <= n; i += 32 { // loads end at i+32 <= n
		q := unsafe.Add(p, i)
		if (marks(word.Load(q, 0))|marks(word.Load(q, 8))|marks(word.Load(q, 16))|marks(word.Load(q, 24)))&highBits != 0 {
			break
		}
	}
	for ; i+8 <= n; i += 8 {
		if m := specials(word.Load(p, i)); m != 0 {
			return i + bits.TrailingZeros64(m)>>3
		}
	}
	for ; i < n; i++ {
		if c := *(*byte)(unsafe.Add(p, i)); c == '"' || c == '\\' {
			return i
		}
	}
	return n
}

// quote marks quotes as specials marks both.
func quote(w uint64) uint64 {
	q := w ^ quotes
	return (q - lowBits) &^ q & highBits
}

// quoteLen returns the number of bytes before the first quote in b.
func quoteLen(b []byte) int {
	p, n := unsafe.Pointer(unsafe.SliceData(b)), len(b)
	i := 0
	for ; i+64 <= n; i += 64 { // loads end at i+64 <= n
		q := unsafe.Add(p, i)
		if quote(word.Load(q, 0))|quote(word.Load(q, 8))|quote(word.Load(q, 16))|quote(word.Load(q, 24))|
			quote(word.Load(q, 32))|quote(word.Load(q, 40))|quote(word.Load(q, 48))|quote(word.Load(q, 56)) != 0 {
			break
		}
	}
	for ; i+8 <= n; i += 8 {
		if m := quote(word.Load(p, i)); m != 0 {
			return i + bits.TrailingZeros64(m)>>3
		}
	}
	for ; i < n; i++ {
		if b[i] == '"' {
			return i
		}
	}
	return n
}

// unescape copies string content from src to dst and decodes escapes on the way. It returns the bytes read and written.
// It stops at a quote, at an escape that it cannot decode as a whole (cut off or broken), and as soon as fewer than eight
// bytes are left on either side.
func unescape(dst, src []byte) (read, written int) {
	p, n := unsafe.Pointer(unsafe.SliceData(src)), len(src)
	d, room := unsafe.Pointer(unsafe.SliceData(dst)), len(dst)
	i, o := 0, 0
	for i+8 <= n && o+8 <= room { // loads end at i+8 <= n, stores at o+8 <= room
		w := word.Load(p, i)
		word.Store(d, o, w)
		m := specials(w)
		if m == 0 {
			i, o = i+8, o+8
			continue
		}
		k := bits.TrailingZeros64(m) >> 3 // below 8, so i+k < n and o+k < room
		i, o = i+k, o+k
		if *(*byte)(unsafe.Add(p, i)) == '"' || i+1 >= n {
			break
		}
		c := *(*byte)(unsafe.Add(p, i+1))
		if e := simpleEscape[c]; e != 0 {
			*(*byte)(unsafe.Add(d, o)) = e
			i, o = i+2, o+1
			continue
		}
		if c != 'u' || o+4 > room {
			break
		}
		if i+8 <= n { // most of them stand for three bytes
			if r, ok := hexWord(uint32(word.Load(p, i) >> 16)); ok && r >= 0x800 && r&^0x7ff != surrogateMin {
				*(*[3]byte)(unsafe.Add(d, o)) = [3]byte{0xe0 | byte(r>>12), 0x80 | byte(r>>6)&0x3f, 0x80 | byte(r)&0x3f}
				i, o = i+6, o+3
				continue
			}
		}
		r, size := unicodeEscape(src[i:])
		if size == 0 {
			break
		}
		i += size
		o += putRune(dst[o:], r)
	}
	return i, o
}

// unicodeEscape decodes the escape of a UTF-16 unit, or of a surrogate pair, at the start of b. It returns the rune and the
// bytes it takes, 0 if the escape is broken or may go on behind b.
func unicodeEscape(b []byte) (r uint32, size int) {
	if len(b) < 6 {
		return 0, 0
	}
	r, ok := hex4(b[2:6])
	if !ok {
		return 0, 0
	}
	if r&^0x7ff != surrogateMin {
		return r, 6
	}
	if len(b) < 12 {
		return 0, 0
	}
	if r < lowSurrogateMin && b[6] == '\\' && b[7] == 'u' {
		low, ok := hex4(b[8:12])
		if !ok {
			return 0, 0
		}
		if low&^0x3ff == lowSurrogateMin {
			return combine(r, low), 12
		}
	}
	return replacement, 6
}

const (
	surrogateMin    = 0xd800
	lowSurrogateMin = 0xdc00
	replacement     = 0xfffd
)

// combine returns the rune that a pair of surrogates stands for.
func combine(high, low uint32) uint32 {
	return 0x10000 + (high-surrogateMin)<<10 + (low - lowSurrogateMin)
}

// hexWord decodes four hexadecimal digits, the first one lowest, without a table. Each byte is below 0x80 once the last
// condition holds, so that no sum carries into its neighbour: x+0x50 has the high bit from '0' on, x+0x46 from behind '9'.
func hexWord(x uint32) (v uint32, ok bool) {
	y := x | 0x20202020 // lower case
	digits := (x + 0x50505050) &^ (x + 0x46464646)
	letters := (y + 0x1f1f1f1f) &^ (y + 0x19191919)
	n := x&0x0f0f0f0f + x>>6&0x01010101*9
	v = n<<12&0xf000 | n&0xf00 | n>>12&0xf0 | n>>24
	return v, (digits|letters)&^x&0x80808080 == 0x80808080
}

// hex4 decodes four hexadecimal digits.
func hex4(b []byte) (v uint32, ok bool) {
	_ = b[3]
	x0, x1, x2, x3 := hexDigit[b[0]], hexDigit[b[1]], hexDigit[b[2]], hexDigit[b[3]]
	return uint32(x0)<<12 | uint32(x1)<<8 | uint32(x2)<<4 | uint32(x3), x0|x1|x2|x3 < 16
}

// putRune writes r in UTF-8 and returns its length. dst has room for four bytes.
func putRune(dst []byte, r uint32) int {
	_ = dst[3]
	switch {
	case r < 0x80:
		dst[0] = byte(r)
		return 1
	case r < 0x800:
		dst[0], dst[1] = 0xc0|byte(r>>6), 0x80|byte(r)&0x3f
		return 2
	case r < 0x10000:
		dst[0], dst[1], dst[2] = 0xe0|byte(r>>12), 0x80|byte(r>>6)&0x3f, 0x80|byte(r)&0x3f
		return 3
	}
	dst[0], dst[1], dst[2], dst[3] = 0xf0|byte(r>>18), 0x80|byte(r>>12)&0x3f, 0x80|byte(r>>6)&0x3f, 0x80|byte(r)&0x3f
	return 4
}

// simpleEscape maps the byte behind a backslash to what it stands for, 0 for 'u' and what is no escape.
var simpleEscape = [256]byte{
	'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t',
}

// hexDigit maps a hexadecimal digit to its value, anything else to 0xff.
var hexDigit = func() (t [256]byte) {
	for i := range t {
		t[i] = 0xff
	}
	for i := range byte(10) {
		t['0'+i] = i
	}
	for i := range byte(6) {
		t['a'+i], t['A'+i] = 10+i, 10+i
	}
	return t
}()
