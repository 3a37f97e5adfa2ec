package strictyaml

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// maxListed bounds the length of an error message.
const maxListed = 50

// Problem is one thing that is wrong with a document.
type Problem struct {
	Line int    // 0 if unknown
	Path string // of the field, such as plugins[2].type; empty if unknown
	Text string // what is wrong, and after a semicolon what to do
}

// String returns "line 3: plugins[2].type: is missing", without what is unknown.
func (p Problem) String() string {
	s := p.Text
	if p.Path != "" {
		s = p.Path + ": " + s
	}
	if p.Line != 0 {
		s = "line " + strconv.Itoa(p.Line) + ": " + s
	}
	return s
}

// Error is all that is wrong with a document, in the order of lines.
type Error struct{ Problems []Problem }

// Error lists the problems, one a line.
func (e *Error) Error() string {
	list, rest := e.Problems, 0
	if len(list) > maxListed {
		list, rest = list[:maxListed], len(list)-maxListed
	}
	lines := make([]string, len(list))
	for i := range list {
		lines[i] = list[i].String()
	}
	s := strings.Join(lines, "\n")
	if rest > 0 {
		s += fmt.Sprintf("\nand %d more", rest)
	}
	return s
}

// ListOf returns the problems that err consists of. An error of another kind is one problem without line and path.
func ListOf(err error) []Problem {
	if err == nil {
		return nil
	}
	var e *Error
	if errors.As(err, &e) {
		return e.Problems
	}
	return []Problem{{Text: err.Error()}}
}

// Problems collects what is wrong with a document. The zero value is ready to use.
type Problems struct {
	list []Problem
	seen map[Problem]bool
}

// Addf adds a problem of the field at path, whose line is unknown.
func (p *Problems) Addf(path, format string, args ...any) {
	p.add(Problem{Path: path, Text: fmt.Sprintf(format, args...)})
}

// add adds a problem. One that is already known is not repeated, so that a value may be read twice.
func (p *Problems) add(x Problem) {
	if p.seen[x] {
		return
	}
	if p.seen == nil {
		p.seen = map[Problem]bool{}
	}
	p.seen[x] = true
	p.list = append(p.list, x)
}

// Len returns the number of problems found so far.
func (p *Problems) Len() int { return len(p.list) }

// Err returns an *Error that lists all problems in the order of lines, those without line first, or nil if there are none.
func (p *Problems) Err() error {
	if len(p.list) == 0 {
		return nil
	}
	list := slices.Clone(p.list)
	slices.SortStableFunc(list, func(a, b Problem) int { return cmp.Compare(a.Line, b.Line) })
	return &Error{Problems: list}
}
