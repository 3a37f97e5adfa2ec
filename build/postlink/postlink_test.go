package postlink

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
)

// build compiles the program of testdata and returns the module.
func build(t testing.TB, flags ...string) []byte {
	t.Helper()
	out := filepath.Join(t.TempDir(), "program.wasm")
	cmd := exec.Command("go", append(append([]string{"build", "-o", out}, flags...), "./testdata/program")...)
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	if msg, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, msg)
	}
	b, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// run returns what a module prints.
func run(t *testing.T, module []byte) string {
	t.Helper()
	ctx := context.Background()
	r := wazero.NewRuntime(ctx)
	defer r.Close(ctx)
	wasi_snapshot_preview1.MustInstantiate(ctx, r)
	var out bytes.Buffer
	config := wazero.NewModuleConfig().WithStdout(&out).WithStderr(&out).WithSysNanotime().WithSysWalltime()
	if _, err := r.InstantiateWithConfig(ctx, module, config); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	return out.String()
}

// TestProgram compares what a program with every kind of jump prints before and after.
func TestProgram(t *testing.T) {
	for _, tt := range []struct {
		name  string
		flags []string
		order []string
	}{
		{"optimized", []string{"-ldflags=-w"}, nil},
		{"as written", []string{"-ldflags=-w", "-gcflags=-N -l"}, nil},
		{"in another order", []string{"-ldflags=-w"}, []string{"main.main", "no.such", "runtime.mallocgc", "runtime.gopanic", deferReturn, "main.main"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before := build(t, tt.flags...)
			after, stats, err := Rewrite(before, tt.order)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(run(t, before), run(t, after)); d != "" {
				t.Errorf("output (-before +after):\n%s", d)
			}
			// The rest is assembly language, and the calls between host and Go.
			if stats.Rewritten*100 < stats.Functions*90 {
				t.Errorf("%d of %d functions were rewritten", stats.Rewritten, stats.Functions)
			}
			if stats.Table != nil {
				t.Error(stats.Table)
			}
			if want := max(len(tt.order)-2, 0); stats.Ordered != want {
				t.Errorf("%d functions come first, not %d", stats.Ordered, want)
			}
			if len(after)*100 > len(before)*85 {
				t.Errorf("%d bytes became %d", len(before), len(after))
			}
		})
	}
}

func TestRefused(t *testing.T) {
	program := build(t, "-ldflags=-w")
	stripped := build(t, "-ldflags=-s -w")
	tests := []struct {
		name, want string
		module     []byte
	}{
		{"empty", "no Wasm module", nil},
		{"no module", "no Wasm module", []byte("\x7fELF")},
		{"another version", "no Wasm module of version 1", []byte("\x00asm\x02\x00\x00\x00")},
		{"cut", "truncated", program[:len(program)/2]},
		{"without names", "-ldflags=-s", stripped},
		{"length beyond the end", "truncated", append([]byte(magic), 1, 0xff, 0xff, 0xff, 0x7f)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, _, err := Rewrite(tt.module, nil); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one about %q", err, tt.want)
			}
		})
	}
}

// TestFile makes sure that a failure leaves a file as it was.
func TestFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.wasm")
	if err := os.WriteFile(path, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := File(path, ""); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("error %v, want one that names the file", err)
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != "text" {
		t.Errorf("file has %q (%v)", b, err)
	}
	if err := os.WriteFile(path, build(t, "-ldflags=-w"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := File(path, filepath.Join(t.TempDir(), "missing")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v with an order that is missing", err)
	}
	if err := File(path, ""); err != nil {
		t.Fatal(err)
	}
	if err := File(path, ""); err == nil {
		t.Error("a rewritten module was rewritten again")
	}
}
