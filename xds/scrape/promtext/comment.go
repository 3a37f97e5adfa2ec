package promtext

import (
	"bytes"
	"strings"
)

// comment reads a line that begins with #. Only TYPE lines matter.
func (s *Scanner) comment(line []byte) error {
	const usual = "# TYPE "
	if len(line) > len(usual) && string(line[:len(usual)]) == usual && nameByte(line[len(usual)]) && line[len(usual)] != '"' {
		if f := s.find(line, len(usual)); f != nil {
			return s.declare(f, line[len(usual)+len(f.name):])
		}
		return nil
	}
	if len(line) > 2 && line[1] == ' ' && line[2] == 'H' { // HELP lines are a third of a page
		return nil
	}
	text, found := bytes.CutPrefix(trimBlank(line[1:]), []byte("TYPE"))
	if !found || len(text) == 0 || !blank(text[0]) {
		return nil
	}
	text = trimBlank(text)
	if len(text) > 0 && text[0] == '"' {
		if name, rest, ok := quotedName(text); ok {
			if f := s.named(name); f != nil {
				return s.declare(f, rest)
			}
		}
		return nil
	}
	if f := s.lookup(text); f != nil {
		return s.declare(f, text[len(f.name):])
	}
	return nil
}

// declare reads the rest of a TYPE line after the name.
func (s *Scanner) declare(f *family, text []byte) error {
	if len(text) == 0 {
		return nil // neither a type nor an error
	}
	if !blank(text[0]) {
		return s.fail(f.name, "no blank after the name in a TYPE line")
	}
	text = trimBlank(text)
	if len(text) == 0 {
		return nil
	}
	if f.typed {
		return s.fail(f.name, "second TYPE line, or one after samples")
	}
	f.typed = true
	switch {
	case is(text, "gauge"), is(text, "counter"), is(text, "untyped"), is(text, "unknown"), is(text, "info"), is(text, "stateset"):
	case is(text, "histogram"), is(text, "summary"), is(text, "gaugehistogram"), is(text, "gauge_histogram"):
		f.parts = true
	default:
		return s.fail(f.name, "unknown type")
	}
	return nil
}

func is(text []byte, word string) bool {
	return len(text) == len(word) && strings.EqualFold(string(text), word)
}
