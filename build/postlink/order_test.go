package postlink

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// ordered is a module with one imported function and three others: 1 calls 2 and 0, 2 calls 3, and 3 returns. It exports a memory and
// functions 1 and 3, and its table has functions 3, 1 and 2.
func ordered() *layout {
	body := func(code ...byte) []byte { return append(append([]byte{noLocals}, code...), opEnd) }
	code := appendUint(nil, 3)
	for _, b := range [][]byte{body(opCall, 2, opCall, 0), body(opCall, 3), body(opReturn)} {
		code = appendBytes(code, b)
	}
	return &layout{
		secImport:   {1, 1, 'm', 1, 'f', 0, 0},
		secFunction: {3, 10, 11, 12},
		secExport:   {3, 1, 'm', 2, 0, 1, 'a', 0, 1, 1, 'b', 0, 3},
		secElement:  {1, 0, opI32Const, 5, opEnd, 3, 3, 1, 2},
		secCode:     code,
	}
}

// TestReorder has functions come in another order, and makes sure of all that names them.
func TestReorder(t *testing.T) {
	names := map[string]uint32{"imported": 0, "a": 1, "two": 2, "b": 3, "none": 9}
	sections, n, err := reorder(ordered().sections(), names, []string{"b", "missing", "imported", "none", "two", "b"})
	if err != nil {
		t.Fatal(err)
	}
	if n != 2 {
		t.Errorf("%d functions come first, not 2", n)
	}
	want := ordered() // 3 is 1 now, 2 stays, and 1 is 3
	want[secFunction] = []byte{3, 12, 11, 10}
	want[secExport] = []byte{3, 1, 'm', 2, 0, 1, 'a', 0, 3, 1, 'b', 0, 1}
	want[secElement] = []byte{1, 0, opI32Const, 5, opEnd, 3, 1, 3, 2}
	want[secCode] = []byte{3, 3, noLocals, opReturn, opEnd, 4, noLocals, opCall, 1, opEnd, 6, noLocals, opCall, 2, opCall, 0, opEnd}
	got, err := layoutOf(sections)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	if d := cmp.Diff(map[string]uint32{"imported": 0, "a": 3, "two": 2, "b": 1, "none": 9}, names); d != "" {
		t.Errorf("names: -want +got:\n%s", d)
	}
}

func TestReorderRefuses(t *testing.T) {
	for _, tt := range []struct {
		name, want string
		change     func(*layout)
	}{
		{"call of a function that is not there", "named that there is not", func(m *layout) { m[secCode][4] = 4 }},
		{"export of one", "named that there is not", func(m *layout) { m[secExport][12] = 4 }},
		{"one in the table", "named that there is not", func(m *layout) { m[secElement][6] = 4 }},
		{"elements of another kind", "another kind", func(m *layout) { m[secElement][1] = 1 }},
		{"types without functions", "types without a function", func(m *layout) { m[secFunction][0] = 2 }},
		{"exports that are cut", "truncated", func(m *layout) { m[secExport] = m[secExport][:8] }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := ordered()
			tt.change(m)
			_, _, err := reorder(m.sections(), map[string]uint32{"b": 3}, []string{"b"})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one about %q", err, tt.want)
			}
		})
	}
	m := ordered()
	m[secExport], m[secElement] = nil, nil
	if _, _, err := reorder(m.sections(), map[string]uint32{"b": 3}, []string{"b"}); err != nil {
		t.Errorf("without exports and elements: %v", err)
	}
}
