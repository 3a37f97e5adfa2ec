package wasm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/tetratelabs/wazero"

	"github.com/zerohop/zerohop/e2e/harness"
	"github.com/zerohop/zerohop/filter/hosttest"
)

// maxPages is Envoy's limit of a guest's memory: 1 GiB.
const maxPages = 16384

// Binary is the module, compiled to machine code and ready to be instantiated. It is not safe for concurrent use.
type Binary struct {
	// Code is the Wasm binary.
	Code []byte

	ctx      context.Context
	runtime  wazero.Runtime
	compiled wazero.CompiledModule
}

// Build compiles the module from source as the Makefile does, with more flags if given, and returns the path of the binary
// in dir. root is the root of the repository.
func Build(root, dir string, flags ...string) (string, error) {
	out := filepath.Join(dir, "zerohop.wasm")
	return out, harness.BuildModule(root, out, "./filter/module", flags...)
}

// Open reads a binary and compiles it to machine code.
func Open(ctx context.Context, path string) (*Binary, error) {
	code, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	b, err := compile(ctx, code)
	if err != nil {
		return nil, fmt.Errorf("compile %s: %w", path, err)
	}
	return b, nil
}

func compile(ctx context.Context, code []byte) (*Binary, error) {
	b := &Binary{Code: code, ctx: ctx, runtime: wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfig().WithMemoryLimitPages(maxPages))}
	err := defineImports(ctx, b.runtime)
	if err == nil {
		b.compiled, err = b.runtime.CompileModule(ctx, code)
	}
	if err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return b, nil
}

// Close frees all instances.
func (b *Binary) Close() error { return b.runtime.Close(b.ctx) }

// New is a hosttest.NewModule. A binary that cannot be instantiated is a fault of the host's process.
func (b *Binary) New(h *hosttest.Host) hosttest.Module {
	v := &VM{host: h, names: make(map[string]string), starting: true}
	v.ctx = callContext{b.ctx, v}
	// Envoy calls _initialize itself.
	m, err := b.runtime.InstantiateModule(v.ctx, b.compiled, wazero.NewModuleConfig().WithName("").WithStartFunctions())
	if err != nil {
		v.fail("instantiate", err)
		return v
	}
	v.module, v.memory = m, m.Memory()
	v.link()
	v.call("_initialize", m.ExportedFunction("_initialize"), 0)
	v.starting = false
	return v
}
