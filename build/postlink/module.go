package postlink

import (
	"errors"
	"fmt"
	"strings"
)

// magic begins every module: its name and the version of the format.
const magic = "\x00asm\x01\x00\x00\x00"

// Sections of a module that are of interest.
const (
	secCustom = 0
	secCode   = 10
)

// functionNames is the part of the name section that is about functions.
const functionNames = 1

// deferReturn is the function that a function whose panic was recovered calls next. The runtime continues there.
const deferReturn = "runtime.deferreturn"

type section struct {
	id   byte
	body []byte
}

// Rewrite returns module b, as Go's linker wrote it with the names of its functions (without -ldflags=-s), with jumps that lead
// where they go and without the names.
func Rewrite(b []byte) ([]byte, Stats, error) {
	var stats Stats
	sections, err := split(b)
	if err != nil {
		return nil, stats, err
	}
	deferReturns, err := find(sections, deferReturn)
	if err != nil {
		return nil, stats, err
	}
	kept := make([]section, 0, len(sections))
	for _, s := range sections {
		switch s.id {
		case secCustom:
			continue
		case secCode:
			if s.body, err = rewriteCode(s.body, deferReturns, &stats); err != nil {
				return nil, stats, err
			}
		}
		kept = append(kept, s)
	}
	if computed, err := computeTable(kept); err == nil {
		kept = computed
	} else {
		stats.Table = fmt.Errorf("runtime.findfunctab stays: %w", err)
	}
	out := append(make([]byte, 0, len(b)), magic...)
	for _, s := range kept {
		out = appendBytes(append(out, s.id), s.body)
	}
	return out, stats, nil
}

// split returns the sections of a module.
func split(b []byte) ([]section, error) {
	if !strings.HasPrefix(string(b[:min(len(b), len(magic))]), magic) {
		return nil, errors.New("no Wasm module of version 1")
	}
	var sections []section
	r := &reader{b: b, at: len(magic)}
	for r.more() {
		id := r.byte()
		sections = append(sections, section{id, r.bytes()})
	}
	return sections, r.err
}

// find returns the number of the function with a name.
func find(sections []section, name string) (uint32, error) {
	for _, s := range sections {
		r := &reader{b: s.body}
		if s.id != secCustom || string(r.bytes()) != "name" {
			continue
		}
		for r.more() {
			kind := r.byte()
			part := &reader{b: r.bytes()}
			if kind != functionNames {
				continue
			}
			for n := part.count(); n > 0 && part.err == nil; n-- {
				if i := part.uint(); string(part.bytes()) == name && part.err == nil {
					return uint32(i), nil
				}
			}
		}
	}
	return 0, fmt.Errorf("no function is called %s; was the module built by Go, and without -ldflags=-s?", name)
}

// rewriteCode returns a code section with its functions rewritten.
func rewriteCode(b []byte, deferReturn uint32, stats *Stats) ([]byte, error) {
	r := &reader{b: b}
	n := r.count()
	out := appendUint(make([]byte, 0, len(b)), n)
	f := function{deferReturn: deferReturn}
	for i := range n {
		body := r.bytes()
		if r.err != nil {
			break
		}
		rewritten, err := f.rewrite(body)
		if err != nil {
			return nil, fmt.Errorf("function %d of the code section: %w", i, err)
		}
		if rewritten != nil {
			body = rewritten
			stats.Rewritten++
		}
		out = appendBytes(out, body)
	}
	stats.Functions = n
	return out, r.err
}

// rewrite returns the new body of a function, or nil if it is to stay as it is.
func (f *function) rewrite(body []byte) ([]byte, error) {
	var err error
	if f.code, err = decode(body, f.code[:0]); err != nil {
		return nil, err
	}
	if f.body = body; !f.read() {
		return nil, nil
	}
	out, err := f.write()
	if errors.Is(err, errShape) {
		return nil, nil
	}
	return out, err
}
