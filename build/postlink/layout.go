package postlink

import "errors"

// Sections of a module, in the order in which they stand.
const (
	secType     = 1
	secImport   = 2
	secFunction = 3
	secMemory   = 5
	secExport   = 7
	secStart    = 8
	secElement  = 9
	secData     = 11
)

const (
	typeI32  = 0x7f
	typeFunc = 0x60
	pageSize = 64 << 10
)

// layout is the bodies of a module's sections by their numbers, nil for those that it lacks.
type layout [secData + 1][]byte

// layoutOf returns the layout of a module without custom sections.
func layoutOf(sections []section) (*layout, error) {
	var m layout
	last := byte(secCustom)
	for _, s := range sections {
		if s.id <= last || s.id > secData {
			return nil, errors.New("sections that Go's linker does not write, or not in this order")
		}
		last = s.id
		m[s.id] = s.body
	}
	if m[secStart] != nil {
		return nil, errors.New("there is a start function")
	}
	return &m, nil
}

func (m *layout) sections() []section {
	var sections []section
	for id, body := range m {
		if body != nil {
			sections = append(sections, section{byte(id), body})
		}
	}
	return sections
}

// addStart adds a function that runs before all others. It has the last number, so that the others keep theirs.
func (m *layout) addStart(body []byte) error {
	imported, err := imports(m[secImport])
	if err != nil {
		return err
	}
	typ, err := plainType(m[secType])
	if err != nil {
		return err
	}
	types, bodies := &reader{b: m[secFunction]}, &reader{b: m[secCode]}
	n := types.count()
	if bodies.count() != n || types.err != nil || bodies.err != nil {
		return errors.New("functions without a type, or types without a function")
	}
	m[secFunction] = appendUint(append(appendUint(nil, n+1), types.rest()...), typ)
	m[secCode] = appendBytes(append(appendUint(nil, n+1), bodies.rest()...), body)
	m[secStart] = appendUint(nil, imported+n)
	return nil
}

// imports returns the number of imported functions.
func imports(section []byte) (int, error) {
	if section == nil {
		return 0, nil
	}
	r := &reader{b: section}
	n := r.count()
	for range n {
		r.bytes() // the names of the other module and of the function
		r.bytes()
		if r.byte() != 0 && r.err == nil {
			return 0, errors.New("something else than a function is imported")
		}
		r.uint()
	}
	return n, r.err
}

// plainType returns the type of functions without parameters and results.
func plainType(section []byte) (int, error) {
	r := &reader{b: section}
	for i := range r.count() {
		if r.byte() != typeFunc {
			break
		}
		params := r.bytes()
		results := r.bytes()
		if r.err == nil && len(params) == 0 && len(results) == 0 {
			return i, nil
		}
	}
	return 0, errors.New("no function has neither parameters nor results")
}

// memoryBytes returns the size that the memory has at first.
func memoryBytes(section []byte) (uint64, error) {
	r := &reader{b: section}
	n, kind, pages := r.count(), r.byte(), r.uint()
	if r.err != nil || n != 1 || kind > 1 {
		return 0, errors.New("no memory, or one that is shared or of 64 bits")
	}
	return pages * pageSize, nil
}

// segment is data that an instance has in its memory from the begin.
type segment struct {
	at   int
	data []byte
}

// readData returns the segments of a data section.
func readData(b []byte) ([]segment, error) {
	r := &reader{b: b}
	n := r.count()
	segments := make([]segment, 0, n)
	for range n {
		kind, op := r.byte(), r.byte()
		at := r.constant()
		end := r.byte()
		data := r.bytes()
		if r.err != nil {
			return nil, r.err
		}
		if kind != 0 || op != opI32Const || at == ^uint32(0) || end != opEnd {
			return nil, errors.New("a data segment without a constant address below 128 MiB")
		}
		segments = append(segments, segment{int(at), data})
	}
	return segments, nil
}

// appendData appends what readData reads.
func appendData(b []byte, segments []segment) []byte {
	b = appendUint(b, len(segments))
	for _, s := range segments {
		b = appendInt(append(b, 0, opI32Const), s.at)
		b = appendBytes(append(b, opEnd), s.data)
	}
	return b
}

// newImage returns what segments put into a memory.
func newImage(segments []segment, memory []byte) (image, error) {
	size, err := memoryBytes(memory)
	if err != nil {
		return nil, err
	}
	end := 0
	for _, s := range segments {
		end = max(end, s.at+len(s.data))
	}
	if uint64(end) > size {
		return nil, errors.New("data beyond the memory")
	}
	m := make(image, end)
	for _, s := range segments {
		copy(m[s.at:], s.data)
	}
	return m, nil
}

// without returns segments that put nothing between two addresses. Those that reach beyond are cut.
func without(segments []segment, from, end int) []segment {
	var left []segment
	for _, s := range segments {
		last := s.at + len(s.data)
		if last <= from || s.at >= end {
			left = append(left, s)
			continue
		}
		if s.at < from {
			left = append(left, segment{s.at, s.data[:from-s.at]})
		}
		if last > end {
			left = append(left, segment{end, s.data[end-s.at:]})
		}
	}
	return left
}
