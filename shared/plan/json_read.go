package plan

import (
	"errors"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// maxDepth bounds the nesting of objects and arrays, those of unknown fields included.
const maxDepth = 64

// ErrSyntax is wrapped by the error of Parse if the input is not one JSON value.
var ErrSyntax = errors.New("not valid JSON")

type syntaxError struct {
	_ [0]func() // not comparable, for the size of the module

	offset int // bytes from the start of the input
	what   string
}

func (e *syntaxError) Error() string {
	return ErrSyntax.Error() + ": offset " + strconv.Itoa(e.offset) + ": " + e.what
}

func (e *syntaxError) Unwrap() error { return ErrSyntax }

// reader is a pull parser for JSON (RFC 8259) that knows where in the document it stands. It accepts what encoding/json
// accepts, nesting aside, and replaces bad UTF-8 and lone surrogates by U+FFFD in the same way. The first syntax error is
// kept, and from then on nothing is left to read; problems with well-formed values are collected and reading goes on.
type reader struct {
	b        []byte
	pos      int
	depth    int
	err      error
	path     []byte // of the value being read, such as profiles[0].name
	problems []fieldError
}

// fail records a syntax error at the current position, unless there is one.
//
//go:noinline
func (r *reader) fail(what string) {
	if r.err == nil {
		r.err = &syntaxError{offset: r.pos, what: what}
	}
	r.pos = len(r.b)
}

// problem records an error about the value at the current path.
//
//go:noinline
func (r *reader) problem(what string) {
	r.problems = append(r.problems, fieldError{string(r.path), what})
}

// next skips white space and returns the byte at which the next token begins; 0 at the end.
//
//go:noinline
func (r *reader) next() byte {
	for r.pos < len(r.b) {
		switch c := r.b[r.pos]; c {
		case ' ', '\t', '\n', '\r':
			r.pos++
		default:
			return c
		}
	}
	return 0
}

// punct consumes c if it is the next token.
//
//go:noinline
func (r *reader) punct(c byte) bool {
	if r.next() != c || r.pos == len(r.b) {
		return false
	}
	r.pos++
	return true
}

func (r *reader) enter() bool {
	r.pos++
	r.depth++
	if r.depth > maxDepth {
		r.fail("nested deeper than " + strconv.Itoa(maxDepth))
	}
	return r.err == nil
}

// members reads an object and calls member with each name; member consumes the value.
func (r *reader) members(member func(name string)) {
	if !r.enter() {
		return
	}
	for first := true; !r.punct('}'); first = false {
		if !first && !r.punct(',') {
			r.fail("want ',' or '}'")
			return
		}
		if r.next() != '"' {
			r.fail("want a field name")
			return
		}
		name := r.text()
		if !r.punct(':') {
			r.fail("want ':'")
			return
		}
		member(name)
		if r.err != nil {
			return
		}
	}
	r.depth--
}

// elements reads an array and calls element with each index; element consumes the value.
func (r *reader) elements(element func(i int)) {
	if !r.enter() {
		return
	}
	for i := 0; !r.punct(']'); i++ {
		if i > 0 && !r.punct(',') {
			r.fail("want ',' or ']'")
			return
		}
		element(i)
		if r.err != nil {
			return
		}
	}
	r.depth--
}

// skip reads any value and forgets it.
func (r *reader) skip() {
	switch c := r.next(); {
	case c == '{':
		r.members(func(string) { r.skip() })
	case c == '[':
		r.elements(func(int) { r.skip() })
	case c == '"':
		r.text()
	case isNumberStart(c):
		r.number()
	default:
		r.literal()
	}
}

// literal reads true, false or null and returns it; empty after a syntax error.
func (r *reader) literal() string {
	for _, word := range [...]string{"true", "false", "null"} {
		if rest := r.b[r.pos:]; len(rest) >= len(word) && string(rest[:len(word)]) == word {
			r.pos += len(word)
			return word
		}
	}
	if r.pos == len(r.b) {
		r.fail("unexpected end")
	} else {
		r.fail("want a value")
	}
	return ""
}

func isNumberStart(c byte) bool { return c == '-' || isDigit(c) }

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// number reads a number and returns its text; empty after a syntax error.
func (r *reader) number() string {
	start := r.pos
	if r.b[r.pos] == '-' {
		r.pos++
	}
	ok := true
	if r.at('0') {
		r.pos++
	} else {
		ok = r.digits()
	}
	if ok && r.at('.') {
		r.pos++
		ok = r.digits()
	}
	if ok && (r.at('e') || r.at('E')) {
		r.pos++
		if r.at('+') || r.at('-') {
			r.pos++
		}
		ok = r.digits()
	}
	if !ok {
		r.fail("want a digit")
		return ""
	}
	return string(r.b[start:r.pos])
}

// at reports whether c is the next byte.
//
//go:noinline
func (r *reader) at(c byte) bool { return r.pos < len(r.b) && r.b[r.pos] == c }

// digits reads at least one digit.
//
//go:noinline
func (r *reader) digits() bool {
	start := r.pos
	for r.pos < len(r.b) && isDigit(r.b[r.pos]) {
		r.pos++
	}
	return r.pos > start
}

// text reads a string, whose opening quote is the next byte, and returns it decoded.
func (r *reader) text() string {
	r.pos++
	var out []byte
	for r.pos < len(r.b) {
		switch c := r.b[r.pos]; {
		case c == '"':
			r.pos++
			return string(out)
		case c == '\\':
			out = r.escape(out)
		case c < ' ':
			r.fail("control character in a string")
		case c < utf8.RuneSelf:
			out = append(out, c)
			r.pos++
		default:
			char, size := utf8.DecodeRune(r.b[r.pos:])
			out = utf8.AppendRune(out, char)
			r.pos += size
		}
	}
	r.fail("string does not end")
	return ""
}

// escape reads an escape sequence and appends what it stands for.
func (r *reader) escape(out []byte) []byte {
	r.pos++
	if r.pos == len(r.b) {
		r.fail("string does not end")
		return out
	}
	c := r.b[r.pos]
	switch c {
	case '"', '\\', '/':
	case 'b':
		c = '\b'
	case 'f':
		c = '\f'
	case 'n':
		c = '\n'
	case 'r':
		c = '\r'
	case 't':
		c = '\t'
	case 'u':
		return r.unicode(out)
	default:
		r.fail("unknown escape sequence")
		return out
	}
	r.pos++
	return append(out, c)
}

// unicode reads u and four digits, or two of them that form a surrogate pair.
func (r *reader) unicode(out []byte) []byte {
	char, ok := hex4(r.b[r.pos:])
	if !ok {
		r.fail("want four hexadecimal digits")
		return out
	}
	r.pos += 5
	if utf16.IsSurrogate(char) {
		pair := rune(utf8.RuneError)
		if r.at('\\') {
			if low, ok := hex4(r.b[r.pos+1:]); ok {
				pair = utf16.DecodeRune(char, low)
			}
		}
		if pair != utf8.RuneError {
			r.pos += 6
		}
		char = pair // a lone surrogate is replaced, and what follows it is read on its own
	}
	return utf8.AppendRune(out, char)
}

// hex4 decodes u and four hexadecimal digits at the start of b.
func hex4(b []byte) (rune, bool) {
	if len(b) < 5 || b[0] != 'u' {
		return 0, false
	}
	n := rune(0)
	for _, c := range b[1:5] {
		switch {
		case isDigit(c):
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		n = n<<4 | rune(c)
	}
	return n, true
}
