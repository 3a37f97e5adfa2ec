// Package promtext reads a few numbers from a page in the Prometheus text format (text/plain; version=0.0.4). It walks the
// page once, looks closely only at lines of the families that are asked for, and allocates nothing. It keeps no state
// between pages and does no I/O.
//
// A page that prometheus/common's parser accepts gives the same numbers here (FuzzScan). Beyond that these pages, which
// that parser rejects, are read too:
//
//   - broken lines of families that nobody asked for;
//   - OpenMetrics: timestamps with a fraction, exemplars, the types unknown, info and stateset, "# EOF" without line end;
//   - a label that nobody asked for and that stands twice.
//
// Two spellings that it accepts by accident are not understood here: a name that is quoted in part (na"me"), and a type
// with a backslash in it.
package promtext

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Combine says how the series of a family become one number.
type Combine uint8

// The ways to combine.
const (
	Newest  Combine = iota // the series with the greatest timestamp, the first of equals; without one it is 0
	Largest                // the series with the largest value, the last of equals; NaN is the least
)

// Label is a label's name and value.
type Label struct{ Name, Value string }

// MaxMatch is the most labels of Want.Match.
const MaxMatch = 16

// Want is one number to read.
type Want struct {
	// Family is the whole name of a gauge, counter or untyped family. Names of parts of a histogram or summary (_bucket,
	// _sum, _count) do not work.
	Family  string
	Match   []Label // only series with all these labels count; at most MaxMatch
	From    string  // the label that holds the number, an unsigned one; empty means the sample's value
	Combine Combine // how several series become one number
	// Texts are labels whose text is wanted, of the series that Combine chose. Largest takes no From.
	Texts []string
}

// Value is what a page says about a Want.
type Value struct {
	Seen   bool    // the page has at least one such series
	Number float64 // any float; NaN too if the label that holds it is missing or is no number
	// Texts are those of the Want, in its order, and nil where the label is missing. They belong to the scanner and are valid
	// until it scans again.
	Texts [][]byte

	stamp stamp
}

// stamp is a timestamp. Only its order counts: milliseconds in one format, seconds with a fraction in the other.
type stamp struct {
	whole    int64
	fraction float64
}

func (s stamp) after(t stamp) bool {
	return s.whole > t.whole || s.whole == t.whole && s.fraction > t.fraction
}

// Scanner reads pages. One goroutine at a time may use it.
type Scanner struct {
	wants    []Want
	families []family
	prefix   int       // length of the beginning that all families share
	branch   [256]bool // bytes that may follow it
	line     int       // 1, 2, ...

	escaped [][]string // values of Match by want, as they stand on a page

	// Of the series at hand, by want.
	matched []uint32 // a bit for each label of Match
	number  []float64
	have    []bool     // the label that holds the number was there
	found   [][][]byte // the texts, still escaped and within the page

	// Of the series that was chosen, by want.
	texts, buffers [][][]byte
}

// family is one family that is asked for.
type family struct {
	name  string
	wants []int // that it serves
	typed bool  // by a TYPE line, or because a sample came first
	parts bool  // a histogram or summary, which has no value of its own
}

// escaper writes the value of a label as it stands on a page.
var escaper = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

// NewScanner returns a scanner for wants, which must not change afterwards. It panics if a family has no name or too many
// labels are to match.
func NewScanner(wants []Want) *Scanner {
	s := &Scanner{
		wants: wants, escaped: make([][]string, len(wants)), matched: make([]uint32, len(wants)), number: make([]float64, len(wants)), have: make([]bool, len(wants)),
		found: make([][][]byte, len(wants)), texts: make([][][]byte, len(wants)), buffers: make([][][]byte, len(wants)),
	}
	for i := range wants {
		name := wants[i].Family
		if name == "" || len(wants[i].Match) > MaxMatch {
			panic("promtext: want without a family, or with too many labels")
		}
		at := slices.IndexFunc(s.families, func(f family) bool { return f.name == name })
		if at < 0 {
			at = len(s.families)
			s.families = append(s.families, family{name: name})
		}
		s.families[at].wants = append(s.families[at].wants, i)
		for _, l := range wants[i].Match {
			s.escaped[i] = append(s.escaped[i], escaper.Replace(l.Value))
		}
		n := len(wants[i].Texts)
		s.found[i], s.texts[i], s.buffers[i] = make([][]byte, n), make([][]byte, n), make([][]byte, n)
		for t := range n {
			s.buffers[i][t] = []byte{} // not nil, which means that the label is missing
		}
	}
	if len(wants) > 0 {
		s.prefix = len(wants[0].Family) - 1 // at least one byte is left to branch on
		for i := range wants {
			s.prefix = min(s.prefix, shared(wants[0].Family, wants[i].Family), len(wants[i].Family)-1)
		}
	}
	for i := range wants {
		s.branch[wants[i].Family[s.prefix]] = true
	}
	return s
}

// shared returns the length of the common beginning of a and b.
func shared(a, b string) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// Scan reads a page. It sets all values, one for each want, and keeps nothing of page. After an error the values mean
// nothing.
func (s *Scanner) Scan(page []byte, values []Value) error {
	clear(values)
	for i := range s.families {
		s.families[i].typed, s.families[i].parts = false, false
	}
	s.line = 0
	for len(page) > 0 {
		s.line++
		end := bytes.IndexByte(page, '\n')
		if end < 0 {
			return s.unfinished(page)
		}
		line := page[:end]
		page = page[end+1:]
		if end == 0 {
			continue
		}
		var err error
		switch line[0] {
		case '#':
			err = s.comment(line)
		case ' ', '\t', '{', '"':
			err = s.unusual(line, values)
		default:
			if f := s.find(line, 0); f != nil {
				err = s.sample(f, line[len(f.name):], false, values)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// unfinished judges a last line without line end. A number there may be cut short.
func (s *Scanner) unfinished(line []byte) error {
	if text := bytes.Trim(line, " \t"); len(text) == 0 || string(text) == "# EOF" {
		return nil
	}
	return s.fail("", "the page ends within a line")
}

// find returns the family whose name stands at line[at:] with a byte after it that cannot be part of a name, or nil.
func (s *Scanner) find(line []byte, at int) *family {
	if len(line) <= at+s.prefix || !s.branch[line[at+s.prefix]] {
		return nil
	}
	return s.lookup(line[at:])
}

func (s *Scanner) lookup(text []byte) *family {
	for i := range s.families {
		f := &s.families[i]
		n := len(f.name)
		if len(text) >= n && string(text[:n]) == f.name && (len(text) == n || !nameByte(text[n])) {
			return f
		}
	}
	return nil
}

func nameByte(b byte) bool {
	return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' || b == '_' || b == ':' || b == '"'
}

// unusual reads a sample that is indented or whose name stands in quotes or within the braces.
func (s *Scanner) unusual(line []byte, values []Value) error {
	line = trimBlank(line)
	if len(line) == 0 {
		return nil
	}
	switch line[0] {
	case '#':
		return s.comment(line)
	case '{':
		if f := s.nameInBraces(line); f != nil {
			return s.sample(f, line, true, values)
		}
		return nil
	case '"':
		if name, rest, ok := quotedName(line); ok {
			if f := s.named(name); f != nil {
				return s.sample(f, rest, false, values)
			}
		}
		return nil
	}
	if f := s.lookup(line); f != nil {
		return s.sample(f, line[len(f.name):], false, values)
	}
	return nil
}

func (s *Scanner) named(name []byte) *family {
	for i := range s.families {
		if string(name) == s.families[i].name {
			return &s.families[i]
		}
	}
	return nil
}

// merge adds the series at hand to the values.
func (s *Scanner) merge(f *family, at stamp, values []Value) {
	for _, i := range f.wants {
		if s.matched[i] != 1<<len(s.wants[i].Match)-1 {
			continue
		}
		v, n := &values[i], s.number[i]
		better := at.after(v.stamp)
		if s.wants[i].Combine == Largest {
			better = n >= v.Number || math.IsNaN(v.Number)
		}
		if better || !v.Seen {
			*v = Value{Seen: true, Number: n, stamp: at}
			s.keepTexts(i, v)
		}
	}
}

// keepTexts copies the texts of the series at hand, unescaped.
func (s *Scanner) keepTexts(i int, v *Value) {
	if len(s.found[i]) == 0 {
		return
	}
	for t, text := range s.found[i] {
		s.texts[i][t] = nil
		if text != nil {
			s.buffers[i][t] = unescape(s.buffers[i][t][:0], text)
			s.texts[i][t] = s.buffers[i][t]
		}
	}
	v.Texts = s.texts[i]
}

// unescape appends the value of a label to dst. Its escapes are known to be valid.
func unescape(dst, value []byte) []byte {
	for i := 0; i < len(value); i++ {
		b := value[i]
		if b == '\\' {
			i++
			if b = value[i]; b == 'n' {
				b = '\n'
			}
		}
		dst = append(dst, b)
	}
	return dst
}

// fail returns an error with the line's number. It shows nothing of the page, which may hold anything.
func (s *Scanner) fail(family, problem string) error {
	text := "line " + strconv.Itoa(s.line) + ": "
	if family != "" {
		text += family + ": "
	}
	return errors.New(text + problem)
}

func blank(b byte) bool { return b == ' ' || b == '\t' }

func trimBlank(b []byte) []byte {
	for len(b) > 0 && blank(b[0]) {
		b = b[1:]
	}
	return b
}
