package postlink

import (
	"errors"
	"slices"
)

// reorder puts the functions with the names of order first, and returns how many these are. names, the numbers of functions by
// their names, is changed along.
func reorder(sections []section, names map[string]uint32, order []string) ([]section, int, error) {
	m, err := layoutOf(sections)
	if err != nil {
		return nil, 0, err
	}
	imported, err := imports(m[secImport])
	if err != nil {
		return nil, 0, err
	}
	types := &reader{b: m[secFunction]}
	number := slices.Repeat([]int{-1}, imported+types.count())
	first := imported
	for _, name := range order {
		if old, ok := names[name]; ok && int(old) >= imported && int(old) < len(number) && number[old] < 0 {
			number[old] = first
			first++
		}
	}
	next := first
	for old := range number {
		switch {
		case old < imported:
			number[old] = old
		case number[old] < 0:
			number[old] = next
			next++
		}
	}
	if err := m.renumber(number); err != nil {
		return nil, 0, err
	}
	for name, old := range names {
		if int(old) < len(number) {
			names[name] = uint32(number[old])
		}
	}
	return m.sections(), first - imported, nil
}

// renumber gives the functions of a module, which has no custom sections, the numbers number[old]; imported ones keep theirs.
func (m *layout) renumber(number []int) error {
	imported, err := imports(m[secImport])
	if err != nil {
		return err
	}
	types, bodies := &reader{b: m[secFunction]}, &reader{b: m[secCode]}
	n := types.count()
	if bodies.count() != n || imported+n != len(number) {
		return errors.New("functions without a type, or types without a function")
	}
	typ, code := make([]int, n), make([][]byte, n)
	var instrs []instr
	for old := imported; old < imported+n; old++ {
		body := bodies.bytes()
		to := number[old] - imported
		typ[to] = int(types.uint())
		if instrs, err = decode(body, instrs[:0]); err != nil {
			return err
		}
		if code[to], err = renumberCalls(body, instrs, number); err != nil {
			return err
		}
	}
	if err := errors.Join(types.err, bodies.err); err != nil {
		return err
	}
	m[secFunction], m[secCode] = appendUint(nil, n), appendUint(nil, n)
	for i := range n {
		m[secFunction] = appendUint(m[secFunction], typ[i])
		m[secCode] = appendBytes(m[secCode], code[i])
	}
	if m[secExport], err = renumberExports(m[secExport], number); err != nil {
		return err
	}
	m[secElement], err = renumberElements(m[secElement], number)
	return err
}

// errNumber is the error of a function that the module has not.
var errNumber = errors.New("a function is named that there is not")

// renumberCalls returns the body of a function with other numbers of those that it calls.
func renumberCalls(body []byte, code []instr, number []int) ([]byte, error) {
	out, done := make([]byte, 0, len(body)+len(body)/16), 0
	for i := range code {
		c := &code[i]
		if c.op != opCall {
			continue
		}
		if int(c.arg) >= len(number) {
			return nil, errNumber
		}
		out = append(out, body[done:c.from]...)
		out = appendUint(append(out, opCall), number[c.arg])
		done = c.end
	}
	return append(out, body[done:]...), nil
}

// function reads the number of a function and returns its new one.
func (r *reader) function(number []int) int {
	i := r.uint()
	if i >= uint64(len(number)) {
		r.fail(errNumber)
		return 0
	}
	return number[i]
}

// renumberExports returns an export section with other numbers of functions.
func renumberExports(section []byte, number []int) ([]byte, error) {
	if section == nil {
		return nil, nil
	}
	r := &reader{b: section}
	n := r.count()
	out := appendUint(nil, n)
	for range n {
		out = appendBytes(out, r.bytes())
		kind := r.byte()
		if out = append(out, kind); kind == 0 {
			out = appendUint(out, r.function(number))
		} else {
			out = appendUint(out, int(r.uint()))
		}
	}
	return out, r.err
}

// renumberElements returns an element section, which fills the table of functions, with other numbers of these. The places in the
// table, by which the runtime knows functions, stay.
func renumberElements(section []byte, number []int) ([]byte, error) {
	if section == nil {
		return nil, nil
	}
	r := &reader{b: section}
	n := r.count()
	out := appendUint(nil, n)
	for range n {
		kind, op, at, end := r.byte(), r.byte(), r.constant(), r.byte()
		if r.err == nil && (kind != 0 || op != opI32Const || at == ^uint32(0) || end != opEnd) {
			return nil, errors.New("elements of another kind than numbers of functions from a constant place on")
		}
		out = append(appendInt(append(out, kind, op), int(at)), end)
		functions := r.count()
		out = appendUint(out, functions)
		for range functions {
			out = appendUint(out, r.function(number))
		}
	}
	return out, r.err
}
