package postlink

import (
	"bytes"
	"context"
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
)

// Where things lie in the memory of the small module.
const (
	smallHeader     = 64
	smallModuledata = 192
	smallTable      = 1000
	smallFuncs      = 3
	smallPCs        = (smallFuncs-1)*funcPCs + 700 // the last bucket has three parts
	smallBuckets    = (smallFuncs-1)*16 + 1
	smallEnd        = smallTable + smallBuckets*bucketNumber + (smallFuncs-1)*256 + 3
)

// smallImage is the memory of a module with nothing but what the table is found by, and other bytes close around it.
func smallImage() image {
	m := make(image, smallEnd+100)
	m.set(smallHeader, 0, hdrMagic)
	m.set(smallHeader, hdrFuncs, smallFuncs)
	for i, n := range []int{mdFuncNames, mdUnits, mdFiles, mdPCs, mdPCLines} {
		m.set(smallHeader, hdrFuncNames+i, uint64(100+i))
		m.set(smallModuledata, n, uint64(smallHeader+100+i))
	}
	m.set(smallModuledata, 0, smallHeader)
	m.set(smallModuledata, mdFuncs, smallHeader+104)
	m.set(smallModuledata, mdFuncs+1, smallFuncs+1)
	m.set(smallModuledata, mdFuncs+2, smallFuncs+1)
	m.set(smallModuledata, mdFindFunc, smallTable)
	m.set(smallModuledata, mdMinPC, 0x1000*funcPCs)
	m.set(smallModuledata, mdMaxPC, 0x1000*funcPCs+smallPCs)
	for b := range smallBuckets {
		binary.LittleEndian.PutUint32(m[smallTable+b*bucketSize:], uint32(b/16))
	}
	m[smallTable-1], m[smallEnd], m[len(m)-1] = 1, 2, 3
	return m
}

func (m image) set(at, n int, word uint64) {
	binary.LittleEndian.PutUint64(m[at+n*wordSize:], word)
}

// pieces cuts memory into segments, each of a length and so far behind the one before.
func pieces(m image, length, apart int) []segment {
	var segments []segment
	for at := 0; at < len(m); at += length + apart {
		segments = append(segments, segment{at, m[at:min(at+length, len(m))]})
	}
	return segments
}

// withoutZeros cuts memory as Go's linker does.
func withoutZeros(m image) []segment {
	var segments []segment
	for at := 0; at < len(m); at++ {
		if m[at] == 0 {
			continue
		}
		n := bytes.Index(m[at:], make([]byte, 8))
		if n < 0 {
			n = len(m) - at
		}
		segments = append(segments, segment{at, m[at : at+n]})
		at += n
	}
	return segments
}

// smallModule returns the sections of a module with some data, with two types and one function.
func smallModule(data []segment) *layout {
	empty := []byte{0, opEnd}
	return &layout{
		secType:     {2, typeFunc, 1, typeI32, 0, typeFunc, 0, 0},
		secFunction: {1, 1},
		secMemory:   {1, 0, 1},
		7:           slices.Concat([]byte{1, 6}, []byte("memory"), []byte{2, 0}),
		secCode:     appendBytes([]byte{1}, empty),
		secData:     appendData(nil, data),
	}
}

// join returns the module of sections.
func join(sections []section) []byte {
	b := []byte(magic)
	for _, s := range sections {
		b = appendBytes(append(b, s.id), s.body)
	}
	return b
}

// memoryOf returns the memory of a new instance, none of whose functions but the start function has run.
func memoryOf(t *testing.T, module []byte) []byte {
	t.Helper()
	ctx := context.Background()
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter()) // which has less to compile
	t.Cleanup(func() { r.Close(ctx) })
	wasi_snapshot_preview1.MustInstantiate(ctx, r)
	m, err := r.InstantiateWithConfig(ctx, module, wazero.NewModuleConfig().WithStartFunctions())
	if err != nil {
		t.Fatal(err)
	}
	b, _ := m.Memory().Read(0, m.Memory().Size())
	return b
}

// TestMemory compares the whole memory with and without the table in the data.
func TestMemory(t *testing.T) {
	m := smallImage()
	tests := []struct {
		name   string
		module []byte
	}{
		{"command", build(t, "-ldflags=-w")},
		{"reactor", build(t, "-ldflags=-w", "-buildmode=c-shared")},
		{"as the linker cuts", join(smallModule(withoutZeros(m)).sections())},
		{"one segment", join(smallModule(pieces(m, len(m), 0)).sections())},
		{"cut in the table and at its edges", join(smallModule(pieces(m, 5, 0)).sections())},
		{"segments upon each other", join(smallModule(append(pieces(m, 700, 0), segment{smallTable - 8, m[smallTable-8 : smallEnd+9]})).sections())},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			sections, err := split(tt.module)
			if err != nil {
				t.Fatal(err)
			}
			sections = slices.DeleteFunc(sections, func(s section) bool { return s.id == secCustom })
			computed, err := computeTable(sections)
			if err != nil {
				t.Fatal(err)
			}
			after := join(computed)
			if !bytes.Equal(memoryOf(t, join(sections)), memoryOf(t, after)) {
				t.Error("the memory differs")
			}
			assertComputed(t, tt.module, after)
		})
	}
}

// assertComputed asserts that the data of a module, together with the table, are those that another one had.
func assertComputed(t *testing.T, before, after []byte) {
	t.Helper()
	want, got := dataOf(t, before), dataOf(t, after)
	table, err := want.table()
	if err != nil {
		t.Fatal(err)
	}
	got = append(got, make(image, max(len(want)-len(got), 0))...)
	if !bytes.Equal(got[table.from:table.end], make([]byte, table.end-table.from)) {
		t.Error("parts of the table are still there")
	}
	for b := range table.buckets {
		binary.LittleEndian.PutUint32(got[table.from+b*bucketSize:], uint32(b>>funcBuckets))
	}
	if !bytes.Equal(want, got) {
		t.Error("other data than before")
	}
}

func dataOf(t *testing.T, module []byte) image {
	t.Helper()
	sections, err := split(module)
	if err != nil {
		t.Fatal(err)
	}
	var data, memory []byte
	for _, s := range sections {
		switch s.id {
		case secData:
			data = s.body
		case secMemory:
			memory = s.body
		}
	}
	segments, err := readData(data)
	if err != nil {
		t.Fatal(err)
	}
	m, err := newImage(segments, memory)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestChangedBucket makes sure that a table with something else in it stays, wherever that is.
func TestChangedBucket(t *testing.T) {
	program := build(t, "-ldflags=-w")
	table, err := dataOf(t, program).table()
	if err != nil {
		t.Fatal(err)
	}
	sections, err := split(program)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(sections, func(s section) bool { return s.id == secData })
	segments, err := readData(sections[i].body)
	if err != nil {
		t.Fatal(err)
	}
	var inside []segment
	for _, s := range segments {
		if s.at >= table.from && s.at < table.end {
			inside = append(inside, s)
		}
	}
	for _, s := range []segment{inside[0], inside[len(inside)/2], inside[len(inside)-1]} {
		s.data[0]++ // of the program
		after, stats, err := Rewrite(program, nil)
		if err != nil {
			t.Fatal(err)
		}
		if stats.Table == nil || !strings.Contains(stats.Table.Error(), "bucket") {
			t.Errorf("reason %v, want one about a bucket", stats.Table)
		}
		got, err := split(after)
		if err != nil {
			t.Fatal(err)
		}
		if last := got[len(got)-1]; !bytes.Equal(last.body, sections[i].body) {
			t.Error("the data changed")
		}
		if slices.ContainsFunc(got, func(s section) bool { return s.id == secStart }) {
			t.Error("there is a start function")
		}
		s.data[0]--
	}
}
