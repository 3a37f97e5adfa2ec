package postlink

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// magic begins every module: its name and the version of the format.
const magic = "\x00asm\x01\x00\x00\x00"

// Sections of a module that are of interest.
const (
	secCustom = 0
	secCode   = 10
)

// namesOfFunctions is the part of the name section that is about functions.
const namesOfFunctions = 1

// deferReturn is the function that a function whose panic was recovered calls next. The runtime continues there.
const deferReturn = "runtime.deferreturn"

// noReturns are the functions that never return to where they are called, and whose calls the compiler or many programs write. What
// stands behind such a call is not reached, which the compiler does not say: its code goes on with whatever comes next.
var noReturns = []string{
	"runtime.goPanicIndex", "runtime.goPanicIndexU",
	"runtime.goPanicSliceAlen", "runtime.goPanicSliceAlenU", "runtime.goPanicSliceAcap", "runtime.goPanicSliceAcapU",
	"runtime.goPanicSliceB", "runtime.goPanicSliceBU", "runtime.goPanicSlice3Alen", "runtime.goPanicSlice3AlenU",
	"runtime.goPanicSlice3Acap", "runtime.goPanicSlice3AcapU", "runtime.goPanicSlice3B", "runtime.goPanicSlice3BU",
	"runtime.goPanicSlice3C", "runtime.goPanicSlice3CU", "runtime.goPanicSliceConvert",
	"runtime.panicdivide", "runtime.panicshift", "runtime.panicwrap", "runtime.panicdottypeE", "runtime.panicdottypeI",
	"runtime.panicnildottype", "runtime.sigpanic", "runtime.gopanic", "runtime.throw", "runtime.fatal",
}

type section struct {
	id   byte
	body []byte
}

// Rewrite returns module b, as Go's linker wrote it with the names of its functions (without -ldflags=-s), with jumps that lead
// where they go and without the names. The functions whose names are in order come first, in this order; names that no function
// has are left out. An order is refused, with an error, for a module with sections that Go's linker does not write.
func Rewrite(b []byte, order []string) ([]byte, Stats, error) {
	var stats Stats
	sections, err := split(b)
	if err != nil {
		return nil, stats, err
	}
	names, err := functionNames(sections)
	if err != nil {
		return nil, stats, err
	}
	kept := slices.DeleteFunc(sections, func(s section) bool { return s.id == secCustom })
	if len(order) > 0 {
		if kept, stats.Ordered, err = reorder(kept, names, order); err != nil {
			return nil, stats, fmt.Errorf("order functions: %w", err)
		}
	}
	for i := range kept {
		if kept[i].id == secCode {
			if kept[i].body, err = rewriteCode(kept[i].body, names, &stats); err != nil {
				return nil, stats, err
			}
		}
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

// functionNames returns the numbers of the functions of a module by their names.
func functionNames(sections []section) (map[string]uint32, error) {
	names := make(map[string]uint32)
	for _, s := range sections {
		r := &reader{b: s.body}
		if s.id != secCustom || string(r.bytes()) != "name" {
			continue
		}
		for r.more() {
			kind := r.byte()
			part := &reader{b: r.bytes()}
			if kind != namesOfFunctions {
				continue
			}
			for n := part.count(); n > 0 && part.err == nil; n-- {
				i := part.uint()
				if name := string(part.bytes()); part.err == nil {
					names[name] = uint32(i)
				}
			}
		}
	}
	if _, ok := names[deferReturn]; !ok {
		return nil, fmt.Errorf("no function is called %s; was the module built by Go, and without -ldflags=-s?", deferReturn)
	}
	return names, nil
}

// rewriteCode returns a code section with its functions rewritten.
func rewriteCode(b []byte, names map[string]uint32, stats *Stats) ([]byte, error) {
	r := &reader{b: b}
	n := r.count()
	out := appendUint(make([]byte, 0, len(b)), n)
	f := function{deferReturn: names[deferReturn], noReturn: make(map[uint32]bool)}
	for _, name := range noReturns {
		if i, ok := names[name]; ok {
			f.noReturn[i] = true
		}
	}
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
