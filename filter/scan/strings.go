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
	escapeHigh  = escapeLast + 1 // behind an escape that was a high surrogate
)

const (
	// stretch is the most that is looked at before it is hashed, so that the second look finds it in the cache.
	stretch = 4096
	// straight is the length from which plain bytes are hashed where they lie instead of being copied.
	straight = 256
)

// escaped takes bytes of a string that continues within an escape, or has a backslash at b[end]; all before it is plain. It
// returns the index up to which it came.
func (s *Scanner) escaped(m *machine, b []byte, i, end int) int {
	if m.escape != escapeNone {
		return s.escapeByte(m, b, i)
	}
	if m.sink == sinkPrompt {
		read, written := unescape(s.hash.Room(), b[i:])
		s.hash.Advance(written)
		i += read
		if i > end {
			return i
		}
	}
	s.emit(m, b[i:end]) // the escape needs more care, or ends behind b
	m.escape = escapeBegin
	return end + 1
}

// emit hands string bytes to the sink.
func (s *Scanner) emit(m *machine, p []byte) {
	if m.sink == sinkPrompt {
		s.hash.Write(p)
		return
	}
	f := &s.model
	if m.sink != sinkModel {
		if m.sink != sinkSalt {
			m.addSmall(p)
			return
		}
		f = &s.salt
	}
	at := f.n
	f.n = min(at+len(p), MaxField+1)
	if f.n <= MaxField {
		word.Copy(unsafe.Add(unsafe.Pointer(&f.b), at), unsafe.Pointer(unsafe.SliceData(p)), len(p))
	}
}

// maxSmall is the longest key or part type that is looked at; the longest that means something has 21 bytes.
const maxSmall = 24

// addSmall appends to the small buffer; what does not fit makes it match nothing.
//
//go:noinline
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

// endKey takes the closing quote of a key that member did not take as a whole: it puts it together and has member look at it.
func (s *Scanner) endKey(m *machine) {
	n := m.smallLen
	if n <= maxSmall {
		m.small[n] = '"'
		if s.member(m, m.small[:max(n+1, 8)], 0) == n+1 && m.state == wantColon { // there may be quotes that were escaped
			return
		}
	}
	m.cur, m.state = keyOther, wantColon
}

// escapeByte takes the byte b[i] of an escape, or the one behind a high surrogate, and returns the index of the next one.
// It is the way of escapes that are cut by a chunk's end and of all escapes outside prompts.
func (s *Scanner) escapeByte(m *machine, b []byte, i int) int {
	c := b[i]
	switch {
	case m.escape == escapeHigh:
		if c != '\\' {
			s.emitRune(m, replacement)
			m.escape, m.high = escapeNone, 0
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
		m.escape, m.high = escapeHigh, m.unit
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
