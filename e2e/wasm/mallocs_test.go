package wasm

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/tetratelabs/wazero/api"
)

// TestNoAllocations builds the module with an export that tells how many objects the guest has allocated, and asserts that
// mixed requests, ticks and new snapshots allocate none once all of them have been seen.
func TestNoAllocations(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a second module")
	}
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	path, err := Build(root, dir, "-overlay="+overlay(t, root, dir))
	if err != nil {
		t.Fatal(err)
	}
	b, err := Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })

	const requests = soakWarmUp
	s := newSoak(t, b, requests)
	vm := s.w.Module().(*VM)
	count := vm.module.ExportedFunction("debug_mallocs")
	s.send(requests)
	before := mallocs(t, vm, count)
	s.send(requests)
	if n := mallocs(t, vm, count) - before; n != 0 {
		t.Errorf("%d requests allocated %d objects", requests, n)
	}
	if len(s.p.Faults) != 0 {
		t.Errorf("faults: %q", s.p.Faults)
	}
}

// overlay writes the file that makes go build add testdata/mallocs.go.txt to the module's sources.
func overlay(t *testing.T, root, dir string) string {
	t.Helper()
	source, err := filepath.Abs(filepath.Join("testdata", "mallocs.go.txt"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(map[string]any{"Replace": map[string]string{
		filepath.Join(root, "filter", "module", "debug_mallocs.go"): source,
	}})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func mallocs(t *testing.T, v *VM, f api.Function) uint64 {
	t.Helper()
	r, err := f.Call(v.ctx)
	if err != nil {
		t.Fatal(err)
	}
	return r[0]
}
