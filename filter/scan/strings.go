package scan

import (
	"unsafe"

	"github.com/zerohop/zerohop/shared/word"
)

// Places within an escape. From escapeHex on, the number of digits read is added.
const (
	escapeNone  = 0
	escapeBegin = 1 // behind the backslash
	escapeHex   = 2 // behind \u
	escapeLast  = escapeHex + 3
)

const (
	// stretch is the most that is looked at before it is hashed, so that the second look finds it in the cache.
	stretch = 4096
	// straight is the length from which plain bytes are hashed where they lie instead of being copied.
	straight = 256
)

// stringBytes takes bytes of a string from b[i:] on and returns the index up to which it came.
func (s *Scanner) stringBytes(m *machine, b []byte, i int) int {
	for i < len(b) {
		if m.escape != escapeNone || m.high != 0 {
			i = s.escapeByte(m, b, i)
			if s.result != OK {
				return i
			}
			continue
		}
		w := b[i:min(len(b), i+stretch)]
		n := plainLen(w)
		if n < len(w) && n < straight && w[n] == '\\' && m.sink == sinkPrompt {
			i = s.unescaped(m, b, i, n)
			continue
		}
		if m.sink == sinkPrompt {
			s.hash.Write(w[:n])
		} else {
			s.emit(m, w[:n])
		}
		i += n
		if n == len(w) {
			continue
		}
		i++
		if w[n] == '\\' {
			m.escape = escapeBegin
			continue
		}
		if m.sink == sinkKey {
			s.endKey(m)
		} else {
			s.endValue(m, m.off+i)
		}
		return i
	}
	return i
}

// unescaped takes bytes of the prompt from b[i:] on, where a backslash stands at b[i+n], and returns the index up to which it came.
func (s *Scanner) unescaped(m *machine, b []byte, i, n int) int {
	read, written := unescape(s.hash.Room(), b[i:])
	s.hash.Advance(written)
	if read > n {
		return i + read
	}
	s.hash.Write(b[i+read : i+n]) // the first escape needs more care, or ends behind b
	m.escape = escapeBegin
	return i + n + 1
}

// emit hands string bytes to the sink.
func (s *Scanner) emit(m *machine, p []byte) {
	f := &s.model
	switch m.sink {
	case sinkModel:
	case sinkSalt:
		f = &s.salt
	case sinkPrompt:
		s.hash.Write(p)
		return
	default:
		m.addSmall(p)
		return
	}
	if f.tooBig || len(f.b)+len(p) > MaxField {
		f.b, f.tooBig = f.b[:0], true
		return
	}
	f.b = append(f.b, p...)
}

// maxSmall is the longest key or part type that is looked at; the longest that means something has 21 bytes.
const maxSmall = 24

// addSmall appends to the small buffer; what does not fit makes it match nothing.
func (m *machine) addSmall(p []byte) {
	if m.smallLen+len(p) > maxSmall {
		m.smallLen = maxSmall + 1
		return
	}
	m.smallLen += copy(m.small[m.smallLen:], p)
}

// smallBytes returns what is in the small buffer, nothing if it did not fit.
func (m *machine) smallBytes() []byte {
	if m.smallLen > maxSmall {
		return nil
	}
	return m.small[:m.smallLen]
}

// endKey takes the closing quote of a key that member did not take as a whole.
func (s *Scanner) endKey(m *machine) {
	m.cur, m.state = keyOther, wantColon
	n := m.smallLen
	if n > maxSmall {
		return
	}
	p := unsafe.Pointer(&m.small)
	w := word.Load(p, 0)
	if n < 8 {
		m.small[n] = '"'
		w = word.Load(p, 0) & (1<<(8*n+8) - 1) // up to the quote
	} else if m.small[n] = '"'; quote(w) != 0 { // one that was escaped
		return
	}
	m.cur = keyOf(s.api, m.ctx, w, p, n)
}

// escapeByte takes the byte b[i] of an escape, or the one behind a high surrogate, and returns the index of the next one.
// It is the way of escapes that are cut by a chunk's end and of all escapes outside prompts.
func (s *Scanner) escapeByte(m *machine, b []byte, i int) int {
	c := b[i]
	switch {
	case m.escape == escapeNone: // behind a high surrogate
		if c != '\\' {
			s.emitRune(m, replacement)
			m.high = 0
			return i
		}
		m.escape = escapeBegin
	case m.escape == escapeBegin && c == 'u':
		m.escape, m.unit = escapeHex, 0
	case m.escape == escapeBegin:
		if simpleEscape[c] == 0 {
			s.fail(NotJSON)
			return i
		}
		if m.high != 0 {
			s.emitRune(m, replacement)
			m.high = 0
		}
		s.emitRune(m, uint32(simpleEscape[c]))
		m.escape = escapeNone
	default:
		if hexDigit[c] > 0xf {
			s.fail(NotJSON)
			return i
		}
		m.unit = m.unit<<4 | uint32(hexDigit[c])
		m.escape++
		if m.escape > escapeLast {
			m.escape = escapeNone
			s.endUnit(m)
		}
	}
	return i + 1
}

// endUnit takes a complete UTF-16 unit.
func (s *Scanner) endUnit(m *machine) {
	high := m.high
	m.high = 0
	switch {
	case m.unit&^0x3ff == lowSurrogateMin && high != 0:
		s.emitRune(m, combine(high, m.unit))
		return
	case high != 0:
		s.emitRune(m, replacement)
	}
	switch m.unit &^ 0x3ff {
	case surrogateMin:
		m.high = m.unit
	case lowSurrogateMin:
		s.emitRune(m, replacement)
	default:
		s.emitRune(m, m.unit)
	}
}

// emitRune hands one decoded character to the sink.
func (s *Scanner) emitRune(m *machine, r uint32) {
	var b [4]byte
	s.emit(m, b[:putRune(b[:], r)])
}
