package postlink

import (
	"math"
	"slices"
	"strings"
	"testing"
)

// TestTableStays gives modules that are not as Go's linker writes them.
func TestTableStays(t *testing.T) {
	word := func(at, n int, v uint64) func(image) { return func(m image) { m.set(at, n, v) } }
	one := func(at int) func(image) { return func(m image) { m[at]++ } }
	tests := []struct {
		name, want string
		memory     func(m image)
		module     func(m *layout)
	}{
		{"another number", "bucket 16 ", one(smallTable + 16*bucketSize), nil},
		{"another function within a bucket", "bucket 17 ", one(smallTable + 17*bucketSize + 4), nil},
		{"another function at the end", "bucket 32 ", one(smallEnd - 1), nil},
		{"another version of the tables", "0 places", one(smallHeader), nil},
		{"other words of moduledata", "0 places", func(m image) { copy(m[smallModuledata+8:], m[smallModuledata+16:smallTable-8]) }, nil},
		{"other capacity", "0 places", word(smallModuledata, mdFiles+2, 9), nil},
		{"header beyond the data", "0 places", word(smallModuledata, 0, math.MaxUint64-7), nil},
		{"first PC within a function", "0 places", word(smallModuledata, mdMinPC, 0x1000*funcPCs+1), nil},
		{"no PCs", "0 places", word(smallModuledata, mdMaxPC, 0x1000*funcPCs), nil},
		{"two moduledata", "2 places", func(m image) { copy(m[smallModuledata+mdWords*wordSize:], m[smallModuledata:][:mdWords*wordSize]) }, nil},
		{"more PCs than functions", "do not have", word(smallModuledata, mdMaxPC, 0x1000*funcPCs+smallFuncs*funcPCs+1), nil},
		{"all PCs", "do not have", word(smallModuledata, mdMaxPC, math.MaxUint64), nil},
		{"table partly beyond the data", "beyond the data", word(smallModuledata, mdFindFunc, smallTable+1000), nil},
		{"table beyond all memory", "beyond the data", word(smallModuledata, mdFindFunc, math.MaxUint64-10), nil},
		{"a start function", "start function", nil, func(m *layout) { m[secStart] = []byte{0} }},
		{"no memory", "no memory", nil, func(m *layout) { m[secMemory] = nil }},
		{"two memories", "no memory", nil, func(m *layout) { m[secMemory] = []byte{2, 0, 1, 0, 1} }},
		{"memory of 64 bits", "of 64 bits", nil, func(m *layout) { m[secMemory] = []byte{1, 4, 1} }},
		{"memory too small", "beyond the memory", nil, func(m *layout) { m[secMemory] = []byte{1, 0, 0} }},
		{"no data", "0 places", nil, func(m *layout) { m[secData] = []byte{0} }},
		{"passive data", "constant address", nil, func(m *layout) { m[secData][1] = 1 }},
		{"data at an address that is a variable", "constant address", nil, func(m *layout) { m[secData] = []byte{1, 0, opGlobalGet, 0, opEnd, 0} }},
		{"data at a negative address", "constant address", nil, func(m *layout) { m[secData] = []byte{1, 0, opI32Const, 0x7f, opEnd, 0} }},
		{"data cut", "truncated", nil, func(m *layout) { m[secData] = m[secData][:len(m[secData])-1] }},
		{"imported memory", "imported", nil, func(m *layout) { m[secImport] = []byte{1, 0, 0, 2, 0, 1} }},
		{"imports cut", "truncated", nil, func(m *layout) { m[secImport] = []byte{1, 0, 0, 0} }},
		{"no plain type", "neither parameters", nil, func(m *layout) { m[secType] = []byte{1, typeFunc, 1, typeI32, 0} }},
		{"another kind of type", "neither parameters", nil, func(m *layout) { m[secType][1] = 0x5f }},
		{"function without a body", "without a type", nil, func(m *layout) { m[secFunction] = []byte{2, 1, 1} }},
		{"no functions", "without a type", nil, func(m *layout) { m[secFunction], m[secCode] = nil, nil }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			memory := smallImage()
			if tt.memory != nil {
				tt.memory(memory)
			}
			m := smallModule([]segment{{0, memory}})
			if tt.module != nil {
				tt.module(m)
			}
			assertStays(t, m.sections(), tt.want)
		})
	}
}

// TestOtherSections gives modules with sections whose content may be about functions or data.
func TestOtherSections(t *testing.T) {
	sections := smallModule([]segment{{0, smallImage()}}).sections()
	assertStays(t, append(slices.Clone(sections), section{12, []byte{1}}), "sections")
	assertStays(t, append(slices.Clone(sections), sections[0]), "sections")
	assertStays(t, nil, "memory")
}

// assertStays asserts that the table stays for a reason, and that sections are as before.
func assertStays(t *testing.T, sections []section, want string) {
	t.Helper()
	before := join(sections)
	if _, err := computeTable(sections); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want one about %q", err, want)
	}
	if string(join(sections)) != string(before) {
		t.Error("the module changed")
	}
}
