package wasm

import (
	"context"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// hostFunc is a host function; args are its parameters.
type hostFunc struct {
	name   string
	params string // one letter each: i for i32, I for i64
	call   func(v *VM, args []uint64) status

	inInit, inAllocator bool // may be called in _initialize, and while the allocator runs
	void                bool // returns nothing
}

// Modules that a guest imports from.
const (
	moduleProxy = "env"
	moduleWASI  = "wasi_snapshot_preview1"
)

func defineImports(ctx context.Context, r wazero.Runtime) error {
	for module, functions := range map[string][]hostFunc{moduleProxy: proxyFuncs, moduleWASI: wasiFuncs} {
		b := r.NewHostModuleBuilder(module)
		for i := range functions {
			f := &functions[i]
			results := []api.ValueType{api.ValueTypeI32}
			if f.void {
				results = nil
			}
			b.NewFunctionBuilder().WithGoModuleFunction(f.bind(), f.types(), results).Export(f.name)
		}
		if _, err := b.Instantiate(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (f *hostFunc) types() []api.ValueType {
	var types []api.ValueType
	for _, c := range f.params {
		if c == 'I' {
			types = append(types, api.ValueTypeI64)
		} else {
			types = append(types, api.ValueTypeI32)
		}
	}
	return types
}

func (f *hostFunc) bind() api.GoModuleFunc {
	return func(ctx context.Context, _ api.Module, stack []uint64) {
		v := ctx.Value(vmKey{}).(*VM)
		v.mayCall(f.name, f.inInit, f.inAllocator)
		for i, c := range f.params {
			if c == 'i' {
				stack[i] &= 1<<32 - 1 // the upper half of an i32 is undefined
			}
		}
		s := f.call(v, stack)
		if !f.void {
			stack[0] = uint64(s)
		}
	}
}
