package filter

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/zerohop/zerohop/filter/scan"
)

// TestContextTable compares the table with a map over random use, with the ids that Envoy gives out: ascending, with gaps,
// deleted in any order.
func TestContextTable(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	var table contextTable
	table.init()
	type value struct {
		ref    int32
		serial uint32
	}
	model := map[uint32]value{}
	var ids []uint32
	next := uint32(1)
	for step := range 100_000 {
		grow := step/10_000%2 == 0
		switch k := rnd.IntN(10); {
		case k < 4 || grow && k < 6:
			next += uint32(1 + rnd.IntN(3))
			v := value{int32(rnd.IntN(1000) - 500), rnd.Uint32()}
			table.put(next, v.ref, v.serial)
			model[next] = v
			ids = append(ids, next)
		case k < 9 && len(ids) > 0:
			i := rnd.IntN(len(ids))
			id := ids[i]
			ids[i] = ids[len(ids)-1]
			ids = ids[:len(ids)-1]
			ref, ok := table.take(id)
			if want := model[id]; !ok || ref != want.ref {
				t.Fatalf("step %d: take %d: %d, %v; want %d", step, id, ref, ok, want.ref)
			}
			delete(model, id)
		case len(ids) > 0: // put again replaces
			id := ids[rnd.IntN(len(ids))]
			v := value{attemptRef(int32(rnd.IntN(1000))), rnd.Uint32()}
			table.put(id, v.ref, v.serial)
			model[id] = v
		}
		if table.n != len(model) {
			t.Fatalf("step %d: %d entries, want %d", step, table.n, len(model))
		}
		probe := next - uint32(rnd.IntN(200))
		ref, serial, ok := table.get(probe)
		want, found := model[probe]
		if ok != found || found && (ref != want.ref || serial != want.serial) {
			t.Fatalf("step %d: get %d: %d, %d, %v; want %v, %v", step, probe, ref, serial, ok, want, found)
		}
	}
	for id, want := range model {
		if ref, serial, ok := table.get(id); !ok || ref != want.ref || serial != want.serial {
			t.Errorf("get %d: %d, %d, %v; want %v", id, ref, serial, ok, want)
		}
	}
}

// TestPickID asserts that the id of a pick leads to its stream only while that stream lasts, and only in its VM.
func TestPickID(t *testing.T) {
	v := New(newFakeHost())
	first := v.newStream(7)
	key := append([]byte("endpoint=a id="), v.appendPickID(nil, first)...)
	if got := v.findStream(key); got != first {
		t.Errorf("findStream = %d, want %d", got, first)
	}
	v.endStream(first)
	if got := v.findStream(key); got != attemptUnknown {
		t.Errorf("findStream of an ended stream = %d", got)
	}
	second := v.newStream(9)
	if second != first {
		t.Fatalf("record %d, want %d to be used again", second, first)
	}
	if got := v.findStream(key); got != attemptUnknown {
		t.Errorf("findStream of an ended stream whose record is used again = %d", got)
	}
	key = v.appendPickID(nil, second)
	v.epoch++
	if got := v.findStream(key); got != attemptUnknown {
		t.Errorf("findStream of another VM's stream = %d", got)
	}
}

// TestStaleContext asserts that a context that outlives its stream leads nowhere, also when the record is used again.
func TestStaleContext(t *testing.T) {
	v := New(newFakeHost())
	ref := v.newStream(7)
	v.contexts.put(8, attemptRef(ref), v.streams[ref].serial)
	if s, got, attempt := v.lookup(8); s == nil || got != ref || !attempt {
		t.Errorf("lookup = %v, %d, %v", s, got, attempt)
	}
	v.endStream(ref)
	if s, _, _ := v.lookup(8); s != nil {
		t.Error("lookup found an ended stream")
	}
	v.newStream(9)
	if s, _, _ := v.lookup(8); s != nil {
		t.Error("lookup found the stream that has the record now")
	}
}

func TestAPIOf(t *testing.T) {
	tests := []struct {
		name, path string
		want       scan.API
		known      bool
	}{
		{"chat", "/v1/chat/completions", scan.Chat, true},
		{"completions", "/v1/completions", scan.Completions, true},
		{"with a prefix", "/tenant/a/v1/chat/completions", scan.Chat, true},
		{"query", "/v1/completions?x=/v1/chat/completions", scan.Completions, true},
		{"trailing slash", "/v1/chat/completions/", scan.Chat, true},
		{"slash and query", "/v1/chat/completions/?a", scan.Chat, true},
		{"two slashes", "/v1/chat/completions//", 0, false},
		{"query only", "?chat/completions", 0, false},
		{"embeddings", "/v1/embeddings", 0, false},
		{"longer", "/v1/completions/x", 0, false},
		{"empty", "", 0, false},
		{"root", "/", 0, false},
		{"upper case", "/v1/Completions", 0, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got, known := apiOf([]byte(tt.path)); got != tt.want || known != tt.known {
				t.Errorf("apiOf(%q) = %d, %v; want %d, %v", tt.path, got, known, tt.want, tt.known)
			}
		})
	}
}

func TestStatusCode(t *testing.T) {
	for text, want := range map[string]int{"200": 200, "503": 503, "000": 0, "": 0, "20": 0, "2000": 0, "2x0": 0, "-10": 0} {
		if got := statusCode([]byte(text)); got != want {
			t.Errorf("statusCode(%q) = %d, want %d", text, got, want)
		}
	}
}

// TestStatNames asserts that every stat has a name of its own with the project's prefix.
func TestStatNames(t *testing.T) {
	seen := map[string]bool{}
	all := counterNames[:]
	for _, r := range reasonNames {
		all = append(all, "zerohop_fallback_"+r+"_total")
	}
	for i, name := range all {
		if len(name) < 16 || name[:8] != "zerohop_" || name[len(name)-6:] != "_total" {
			t.Errorf("counter %d is called %q, want zerohop_…_total", i, name)
		}
		if seen[name] {
			t.Errorf("two counters are called %s", name)
		}
		seen[name] = true
	}
}

func TestAppendHex(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	for i := range 1000 {
		n := rnd.Uint64() >> (i % 64)
		if got, want := string(appendHex([]byte("x"), n, 16)), fmt.Sprintf("x%016x", n); got != want {
			t.Fatalf("%d is written as %s, want %s", n, got, want)
		}
		if got, want := string(appendHex(nil, n, 8)), fmt.Sprintf("%08x", uint32(n)); got != want {
			t.Fatalf("%d is written as %s, want %s", n, got, want)
		}
	}
}
