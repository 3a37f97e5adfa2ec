package wasm

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tetratelabs/wazero/api"

	"github.com/zerohop/zerohop/filter/hosttest/lifecycletest"
)

// module is the binary under test, built from this tree.
var module *Binary

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "zerohop-wasm-")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(dir)
	path, err := Build(filepath.Join("..", ".."), dir)
	if err != nil {
		return 1, err
	}
	if module, err = Open(ctx, path); err != nil {
		return 1, err
	}
	defer func() { err = module.Close() }()
	return m.Run(), nil
}

// maxModuleBytes is the budget for the size of the binary.
const maxModuleBytes = 3_000_000

func TestSize(t *testing.T) {
	if n := len(module.Code); n > maxModuleBytes {
		t.Errorf("the module has %d bytes, more than %d", n, maxModuleBytes)
	}
	t.Logf("%d bytes", len(module.Code))
}

// TestImports asserts that the module asks for what stands in the tables of this package, all of it and nothing else.
func TestImports(t *testing.T) {
	var want []string
	for name, functions := range map[string][]hostFunc{moduleProxy: proxyFuncs, moduleWASI: wasiFuncs} {
		for _, f := range functions {
			want = append(want, name+"."+f.name)
		}
	}
	var got []string
	for _, f := range module.compiled.ImportedFunctions() {
		from, name, _ := f.Import()
		got = append(got, from+"."+name)
	}
	slices.Sort(want)
	slices.Sort(got)
	got = slices.Compact(got) // two Go packages may import the same function
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("imports (-allowed +in the module):\n%s", d)
	}
}

// TestExports asserts names and types of the exports: Envoy refuses a module with a wrong type, and calls what it finds.
func TestExports(t *testing.T) {
	want := map[string]string{
		"_initialize":                 "()",
		"proxy_abi_version_0_2_1":     "()",
		"proxy_on_memory_allocate":    "(i32) i32",
		"proxy_on_context_create":     "(i32 i32)",
		"proxy_on_vm_start":           "(i32 i32) i32",
		"proxy_on_configure":          "(i32 i32) i32",
		"proxy_on_tick":               "(i32)",
		"proxy_on_http_call_response": "(i32 i32 i32 i32 i32)",
		"proxy_on_request_headers":    "(i32 i32 i32) i32",
		"proxy_on_request_body":       "(i32 i32 i32) i32",
		"proxy_on_request_trailers":   "(i32 i32) i32",
		"proxy_on_response_headers":   "(i32 i32 i32) i32",
		"proxy_on_response_body":      "(i32 i32 i32) i32",
		"proxy_on_delete":             "(i32)",
	}
	got := map[string]string{}
	for name, f := range module.compiled.ExportedFunctions() {
		got[name] = signature(f)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("exports (-wanted +in the module):\n%s", d)
	}
	if m := module.compiled.ExportedMemories(); len(m) != 1 || m["memory"] == nil {
		t.Errorf("exported memories %v, want one called memory", m)
	}
}

func signature(f api.FunctionDefinition) string {
	var b []byte
	for _, p := range f.ParamTypes() {
		b = append(append(b, ' '), api.ValueTypeName(p)...)
	}
	text := "("
	if len(b) > 0 {
		text += string(b[1:])
	}
	text += ")"
	for _, r := range f.ResultTypes() {
		text += " " + api.ValueTypeName(r)
	}
	return text
}

// TestRestricted asserts the calls that Envoy allows while the allocator runs, and while _initialize does.
func TestRestricted(t *testing.T) {
	var inAllocator, inInit []string
	for _, f := range slices.Concat(proxyFuncs, wasiFuncs) {
		if f.inAllocator {
			inAllocator = append(inAllocator, f.name)
		}
		if f.inInit && strings.HasPrefix(f.name, "proxy_") {
			inInit = append(inInit, f.name)
		}
		v := &VM{allocating: true}
		if refused := panics(func() { v.mayCall(f.name, f.inInit, f.inAllocator) }); refused == f.inAllocator {
			t.Errorf("%s while the allocator runs: refused %v", f.name, refused)
		}
	}
	slices.Sort(inAllocator)
	if d := cmp.Diff([]string{"clock_time_get", "fd_write", "poll_oneoff", "proxy_log"}, inAllocator); d != "" {
		t.Errorf("calls allowed while the allocator runs (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]string{"proxy_log"}, inInit); d != "" {
		t.Errorf("proxy calls allowed in _initialize (-want +got):\n%s", d)
	}
}

func panics(f func()) (did bool) {
	defer func() { did = recover() != nil }()
	f()
	return false
}

func TestLifecycle(t *testing.T) {
	lifecycletest.Run(t, lifecycletest.Subject{New: module.New})
}
