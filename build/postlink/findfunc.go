package postlink

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// runtime.findfunctab leads from a PC to the first function that may have it. It has a bucket for every bucketPCs of them: a
// number of a function, and for each of the parts of the bucket how much to add. On Wasm the PC of a function is its place in
// the table of functions times funcPCs, so that a bucket is always of one function, and the table says nothing that is not known without it: a tenth
// of a module. The linker puts the number of each bucket into a data segment of its own.
const (
	bucketPCs    = 4096
	bucketParts  = 16
	bucketNumber = 4 // bytes of the number
	bucketSize   = bucketNumber + bucketParts
	partPCs      = bucketPCs / bucketParts
	funcPCs      = 1 << 16
	funcBuckets  = 4 // as a power of two
)

// Words of runtime.moduledata, which begins with a pointer to the pcHeader. Slices have three.
const (
	wordSize     = 8
	mdFuncNames  = 1
	mdUnits      = 4
	mdFiles      = 7
	mdPCs        = 10
	mdPCLines    = 13
	mdFuncs      = 16
	mdFindFunc   = 19
	mdMinPC      = 20
	mdMaxPC      = 21
	mdWords      = 22 // those that are of interest
	hdrFuncs     = 1
	hdrFuncNames = 4
	hdrWords     = 9
)

// hdrMagic is the first word of a pcHeader: a number for the version of the tables, that code has a grain of one byte, and the
// size of a pointer.
const hdrMagic = 0xfffffff1 | 1<<48 | wordSize<<56

// computeTable returns sections whose data lack runtime.findfunctab, and which have a start function that writes it: the memory
// of an instance is the same before any other function of it runs. An error says why that cannot be done.
func computeTable(sections []section) ([]section, error) {
	m, err := layoutOf(sections)
	if err != nil {
		return nil, err
	}
	segments, err := readData(m[secData])
	if err != nil {
		return nil, err
	}
	image, err := newImage(segments, m[secMemory])
	if err != nil {
		return nil, err
	}
	t, err := image.table()
	if err != nil {
		return nil, err
	}
	m[secData] = appendData(nil, without(segments, t.from, t.end))
	if err := m.addStart(t.code()); err != nil {
		return nil, err
	}
	return m.sections(), nil
}

// image is what the data segments put into memory.
type image []byte

// word returns the word with a number behind an address, which have to be within the image.
func (m image) word(at uint64, n int) uint64 {
	return binary.LittleEndian.Uint64(m[at+uint64(n)*wordSize:])
}

// has reports whether there are n words at an address.
func (m image) has(at uint64, n int) bool {
	return at < uint64(len(m)) && uint64(len(m))-at >= uint64(n)*wordSize
}

// findTable is where the table lies.
type findTable struct {
	from, end int
	buckets   int
}

// table finds the table by the only thing that points to it, and makes sure of every byte.
func (m image) table() (findTable, error) {
	var t findTable
	moduledata, found := uint64(0), 0
	for at := uint64(0); m.has(at, mdWords); at += wordSize {
		if m.isModuledata(at) {
			moduledata = at
			found++
		}
	}
	if found != 1 {
		return t, fmt.Errorf("%d places look like runtime.moduledata, not one", found)
	}
	from, pcs := m.word(moduledata, mdFindFunc), m.word(moduledata, mdMaxPC)-m.word(moduledata, mdMinPC)
	if funcs := m.word(m.word(moduledata, 0), hdrFuncs); pcs == 0 || pcs > uint64(len(m))*partPCs || (pcs-1)/funcPCs+1 != funcs {
		return t, fmt.Errorf("%d functions do not have %d PCs", funcs, pcs)
	}
	t.buckets = int((pcs + bucketPCs - 1) / bucketPCs)
	size := uint64(t.buckets)*bucketNumber + (pcs+partPCs-1)/partPCs // the last bucket lacks parts that nothing is in
	if size > uint64(len(m)) || from > uint64(len(m))-size {
		return t, errors.New("runtime.findfunctab is beyond the data")
	}
	t.from, t.end = int(from), int(from+size)
	return t, t.check(m[t.from:t.end])
}

// isModuledata compares what the moduledata at an address, if it is one, has in common with the pcHeader.
func (m image) isModuledata(at uint64) bool {
	hdr := m.word(at, 0)
	if !m.has(hdr, hdrWords) || m.word(hdr, 0) != hdrMagic {
		return false
	}
	for i, n := range []int{mdFuncNames, mdUnits, mdFiles, mdPCs, mdPCLines} {
		if m.word(at, n) != hdr+m.word(hdr, hdrFuncNames+i) {
			return false
		}
	}
	for n := mdFuncNames; n <= mdFuncs; n += 3 { // length and capacity
		if m.word(at, n+1) != m.word(at, n+2) {
			return false
		}
	}
	return m.word(at, mdFuncs) == m.word(at, mdPCLines) && m.word(at, mdFuncs+1) == m.word(hdr, hdrFuncs)+1 &&
		m.word(at, mdMinPC)%funcPCs == 0 && m.word(at, mdMaxPC) > m.word(at, mdMinPC)
}

// check compares a table with what code would write.
func (t findTable) check(table []byte) error {
	for b := range t.buckets {
		bucket := table[b*bucketSize : min((b+1)*bucketSize, len(table))]
		if n := binary.LittleEndian.Uint32(bucket); n != uint32(b>>funcBuckets) {
			return fmt.Errorf("bucket %d of runtime.findfunctab is of function %d", b, n)
		}
		for _, part := range bucket[bucketNumber:] {
			if part != 0 {
				return fmt.Errorf("bucket %d of runtime.findfunctab is of several functions", b)
			}
		}
	}
	return nil
}

// code returns the body of a function that writes the table. All but the numbers is zero in a fresh memory.
func (t findTable) code() []byte {
	b := []byte{
		1, 1, typeI32, // one local variable, the bucket
		opLoop, noType,
		opLocalGet, 0, opI32Const, bucketSize, opI32Mul,
		opLocalGet, 0, opI32Const, funcBuckets, opI32ShrU,
		opI32Store, maxAlignI32,
	}
	b = appendUint(b, t.from)
	b = append(b, opLocalGet, 0, opI32Const, 1, opI32Add, opLocalTee, 0, opI32Const)
	b = appendInt(b, t.buckets)
	return append(b, opI32LtU, opBrIf, 0, opEnd, opEnd)
}
