package promtext

import (
	"bytes"
	"math"
	"strconv"
	"unicode/utf8"
)

// sample reads the rest of a sample's line after the name: labels, value, timestamp. If the name is
// inside the braces, it is still to come.
func (s *Scanner) sample(f *family, text []byte, inside bool, values []Value) error {
	f.typed = true
	for _, i := range f.wants {
		s.matched[i], s.have[i], s.number[i] = 0, false, math.NaN()
		clear(s.found[i])
	}
	text = trimBlank(text)
	if len(text) > 0 && text[0] == '{' {
		var err error
		if text, err = s.labels(f, text[1:], inside); err != nil {
			return err
		}
		text = trimBlank(text)
	}
	word, rest := token(text)
	number, ok := parseFloat(word)
	if !ok {
		return s.fail(f.name, "the value is no number")
	}
	at, err := s.timestamp(f, rest)
	if err != nil {
		return err
	}
	if f.parts {
		return nil
	}
	for _, i := range f.wants {
		if s.wants[i].From == "" {
			s.number[i] = number
		}
	}
	s.merge(f, at, values)
	return nil
}

// timestamp reads what follows the value: nothing, a timestamp, an exemplar, or both.
func (s *Scanner) timestamp(f *family, text []byte) (stamp, error) {
	if len(text) == 0 {
		return stamp{}, nil
	}
	text = trimBlank(text)
	if len(text) > 0 && text[0] == '#' {
		return stamp{}, nil
	}
	word, rest := token(text)
	at, ok := parseStamp(word)
	if !ok {
		return stamp{}, s.fail(f.name, "the timestamp is no number")
	}
	if len(rest) > 0 {
		if rest = trimBlank(rest); len(rest) == 0 || rest[0] != '#' {
			return stamp{}, s.fail(f.name, "text after the timestamp")
		}
	}
	return at, nil
}

// labels reads labels up to the closing brace and returns what follows it. With inside, the family's name is among them.
func (s *Scanner) labels(f *family, text []byte, inside bool) ([]byte, error) {
	for {
		text = trimBlank(text)
		if len(text) > 0 && text[0] == '}' {
			return text[1:], nil
		}
		name, rest, ok := labelName(text)
		if !ok {
			return nil, s.fail(f.name, "no name of a label where one should be")
		}
		rest = trimBlank(rest)
		if inside && len(rest) > 0 && rest[0] != '=' && string(name) == f.name {
			inside = false
		} else {
			var err error
			if rest, err = s.label(f, name, rest); err != nil {
				return nil, err
			}
		}
		switch {
		case len(rest) > 0 && rest[0] == ',':
			text = rest[1:]
		case len(rest) > 0 && rest[0] == '}':
			return rest[1:], nil
		default:
			return nil, s.fail(f.name, "neither a comma nor a brace after a label")
		}
	}
}

// label reads a label after its name and returns what follows it.
func (s *Scanner) label(f *family, name, text []byte) ([]byte, error) {
	switch {
	case len(text) == 0 || text[0] != '=':
		return nil, s.fail(f.name, "no = after the name of a label")
	case !validLabel(name):
		return nil, s.fail(f.name, "invalid name of a label")
	}
	value, rest, problem := labelValue(text[1:])
	if problem != "" {
		return nil, s.fail(f.name, problem)
	}
	return trimBlank(rest), s.take(f, name, value)
}

// take notes a label of the series at hand. The value is still escaped, which makes no difference to numbers and to the
// values that are asked for.
func (s *Scanner) take(f *family, name, value []byte) error {
	for _, i := range f.wants {
		w := &s.wants[i]
		for m := range w.Match {
			if string(name) != w.Match[m].Name {
				continue
			}
			s.matched[i] &^= 1 << m
			if string(value) == s.escaped[i][m] {
				s.matched[i] |= 1 << m
			}
		}
		if string(name) == w.From {
			if s.have[i] {
				return s.fail(f.name, "a label stands twice")
			}
			s.have[i] = true
			s.number[i] = parseUint(value)
		}
		for t, wanted := range w.Texts {
			if string(name) != wanted {
				continue
			}
			if s.found[i][t] != nil {
				return s.fail(f.name, "a label stands twice")
			}
			s.found[i][t] = value
		}
	}
	return nil
}

// nameInBraces returns the family of a line such as {"name", label="value"} 1, or nil if nobody asked for it.
func (s *Scanner) nameInBraces(line []byte) *family {
	text := line[1:]
	for {
		name, rest, ok := labelName(trimBlank(text))
		if !ok {
			return nil
		}
		rest = trimBlank(rest)
		if len(rest) == 0 || rest[0] != '=' {
			return s.named(name)
		}
		_, rest, problem := labelValue(rest[1:])
		if rest = trimBlank(rest); problem != "" || len(rest) == 0 || rest[0] != ',' {
			return nil
		}
		text = rest[1:]
	}
}

// labelName reads a name, which may be quoted, and returns what follows it.
func labelName(text []byte) (name, rest []byte, ok bool) {
	if len(text) > 0 && text[0] == '"' {
		return quotedName(text)
	}
	n := 0
	for n < len(text) && labelByte(text[n]) {
		n++
	}
	return text[:n], text[n:], n > 0
}

// quotedName reads a name in quotes. No valid name needs a backslash, so one with a backslash is left escaped.
func quotedName(text []byte) (name, rest []byte, ok bool) {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '"':
			return text[1:i], text[i+1:], true
		case '\\':
			i++
		}
	}
	return nil, nil, false
}

// labelValue reads a value in quotes and returns it without them, still escaped, and what follows it.
func labelValue(text []byte) (value, rest []byte, problem string) {
	text = trimBlank(text)
	if len(text) == 0 || text[0] != '"' {
		return nil, nil, "the value of a label is not quoted"
	}
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '"':
			if value = text[1:i]; !utf8.Valid(value) {
				return nil, nil, "the value of a label is not UTF-8"
			}
			return value, text[i+1:], ""
		case '\\':
			if i++; i == len(text) || text[i] != '"' && text[i] != '\\' && text[i] != 'n' {
				return nil, nil, "unknown escape in the value of a label"
			}
		}
	}
	return nil, nil, "the value of a label has no end"
}

func labelByte(b byte) bool { return nameByte(b) && b != ':' && b != '"' }

// validLabel says whether name may be the name of a label.
func validLabel(name []byte) bool {
	if len(name) == 0 || name[0] >= '0' && name[0] <= '9' || string(name) == "__name__" {
		return false
	}
	for _, b := range name {
		if !labelByte(b) {
			return false
		}
	}
	return true
}

// token cuts text at the first blank, which stays in rest.
func token(text []byte) (word, rest []byte) {
	for i, b := range text {
		if blank(b) {
			return text[:i], text[i:]
		}
	}
	return text, nil
}

// parseFloat reads a value. Hexadecimal numbers and underscores are none.
func parseFloat(word []byte) (float64, bool) {
	if bytes.ContainsAny(word, "pP_") {
		return 0, false
	}
	v, err := strconv.ParseFloat(string(word), 64)
	return v, err == nil
}

// parseStamp reads a timestamp.
func parseStamp(word []byte) (stamp, bool) {
	if whole, err := strconv.ParseInt(string(word), 10, 64); err == nil {
		return stamp{whole: whole}, true
	}
	v, ok := parseFloat(word)
	if !ok || !(math.Abs(v) < 1<<62) {
		return stamp{}, false
	}
	whole := math.Floor(v)
	return stamp{whole: int64(whole), fraction: v - whole}, true
}

// parseUint reads a label's number of up to 32 bits; anything else is NaN. vLLM writes None for what it does not know yet,
// so that this is no error; strconv would allocate one.
func parseUint(text []byte) float64 {
	var n uint64
	for _, b := range text {
		if n = n*10 + uint64(b-'0'); b < '0' || b > '9' || n > math.MaxUint32 {
			return math.NaN()
		}
	}
	if len(text) == 0 {
		return math.NaN()
	}
	return float64(n)
}
