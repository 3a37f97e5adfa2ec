package scan

import (
	"math"
	"math/bits"
	"unsafe"

	"github.com/zerohop/zerohop/shared/word"
)

// maxNum is where numbers stop counting; it is above every token id.
const maxNum = 1 << 32

// classes of bytes in a skipped object or array.
const (
	classOther = iota
	classQuote
	classOpen
	classClose
)

var class = [256]byte{'"': classQuote, '{': classOpen, '[': classOpen, '}': classClose, ']': classClose}

// skippedBytes takes bytes of a string, object or array of no interest. It counts the nesting and heeds strings, nothing else.
func (s *Scanner) skippedBytes(m *machine, b []byte, i int) int {
	if m.state != inSkipped { // that these are told apart here saves all others the question
		if m.state == inTokens {
			return s.tokenBytes(m, b, i)
		}
		s.fail(NotJSON)
		return i
	}
	for i < len(b) {
		if m.quoted {
			i = m.skipString(b, i)
			if !m.quoted && m.depth == depthOf[m.ctx&7] { // the value is this string
				s.endValue(m, m.off+i)
				return i
			}
			continue
		}
		c := class[b[i]]
		i++
		switch c {
		case classQuote:
			m.quoted = true
		case classOpen:
			m.depth++
			if m.depth > MaxDepth {
				s.fail(TooDeep)
				return i
			}
		case classClose:
			m.depth--
			if m.depth == depthOf[m.ctx&7] {
				s.endValue(m, m.off+i)
				return i
			}
		}
	}
	return i
}

// skipString goes to the end of a string inside a skipped value. It looks for quotes only, and whether one is escaped says
// the number of backslashes before it.
func (m *machine) skipString(b []byte, i int) int {
	if m.escape != escapeNone {
		m.escape = escapeNone
		i++
	}
	for p := unsafe.Pointer(unsafe.SliceData(b)); i+8 <= len(b); i += 8 { // short and plain, as most keys are
		if found := specials(word.Load(p, i)); found != 0 { // loads end at i+8 <= len(b)
			i += bits.TrailingZeros64(found) >> 3
			if b[i] == '"' {
				m.quoted = false
				return i + 1
			}
			break
		}
	}
	for from := i; ; from = i {
		i += quoteLen(b[i:])
		odd := oddSlashes(b[from:i])
		if i == len(b) {
			if odd {
				m.escape = escapeBegin
			}
			return i
		}
		i++
		if !odd {
			m.quoted = false
			return i
		}
	}
}

// oddSlashes reports whether b ends in an odd number of backslashes.
func oddSlashes(b []byte) bool {
	n := len(b)
	for n > 0 && b[n-1] == '\\' {
		n--
	}
	return (len(b)-n)&1 != 0
}

// numeric says which bytes besides digits may stand in a number.
var numeric = [256]bool{'-': true, '+': true, '.': true, 'e': true, 'E': true}

// literals holds the literals as scalarBytes collects them.
var literals = [16]uint64{kindTrue: 0x74727565, kindFalse: 0x66616c7365, kindNull: 0x6e756c6c}

// scalarBytes takes bytes of a number or literal. The byte behind it is left for run.
func (s *Scanner) scalarBytes(m *machine, b []byte, i int) int {
	num := m.num
	for ; uint(i) < uint(len(b)); i++ {
		c := b[i]
		switch {
		case kindOf[c] >= kindSpace:
			m.num = num
			count := uint64(0)
			if m.kind != kindNumber {
				if num != literals[m.kind&15] {
					s.fail(NotJSON)
					return i
				}
			} else if m.integer {
				count = num + 1
			}
			m.val[m.cur&15].count = count
			s.endValue(m, m.off+i)
			return i
		case m.kind != kindNumber:
			if num < 1<<56 { // a literal has at most five bytes
				num = num<<8 | uint64(c)
			}
		case c-'0' <= 9:
			num = min(num*10+uint64(c-'0'), maxNum)
		case numeric[c]:
			m.integer = false
		default:
			s.fail(NotJSON)
			return i
		}
	}
	m.num = num
	return i
}

// tokenBytes takes bytes of a list of token ids from within one of them. It handles digits, commas and spaces and leaves
// everything else to the general way.
func (s *Scanner) tokenBytes(m *machine, b []byte, i int) int {
	num := m.num
	for ; i < len(b); i++ {
		c := b[i] - '0'
		if c <= 9 {
			num = min(num*10+uint64(c), maxNum)
			continue
		}
		m.num = num
		next := i + 1
		if next < len(b) && b[next] == ' ' {
			next++
		}
		if b[i] != ',' || next >= len(b) || b[next]-'0' > 9 {
			m.state = inScalar
			return i
		}
		s.token(m)
		s.elems++
		i = next
		num = uint64(b[i] - '0')
	}
	m.num = num
	return i
}

// token hashes the token id just read.
func (s *Scanner) token(m *machine) {
	if m.kind != kindNumber || !m.integer || m.num > math.MaxUint32 {
		s.unsupported = true
		return
	}
	s.hash.WriteToken(uint32(m.num))
}
