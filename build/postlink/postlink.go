// Package postlink makes the Wasm modules that Go's linker writes smaller and faster.
//
// WebAssembly has no jumps but out of constructs that are open. Go's compiler does not look for constructs in a function: it puts
// a table around all of it, sets a number and goes back to the table for every jump of the program. So V8 sees a function as one
// loop that may go on anywhere: it can keep little in registers, knows nothing of what was checked before, and makes 4.8 bytes of
// machine code of each byte. In a filter, whose code is cold when a request comes, these bytes are what a request costs.
//
// Rewrite finds out where the jumps lead and writes them as such. The table stays for the places at which the Go runtime may
// continue a function: its begin, behind its calls, and where a recovered panic returns. A loop of the program becomes a loop
// of the module if the runtime cannot continue within it. What only debuggers read is left out, as -ldflags=-s would.
//
// A tenth of what is left is runtime.findfunctab, by which the runtime finds the function of a PC. Its content follows from the
// number of functions on Wasm. So Rewrite takes it out of the data and adds a start function, which writes it before anything
// else runs. Unless every byte of it is as expected, as with a Go version that lays it out otherwise, it stays where it is.
//
// A function of a form that is not known, such as one written in assembly language, stays as it is. Nothing is moved, so that
// all that the runtime knows of functions stays true.
package postlink

import (
	"fmt"
	"os"
)

// Stats says what Rewrite did.
type Stats struct {
	Functions int // in the module, imports excluded
	Rewritten int // those whose jumps lead where they go

	// Table says why runtime.findfunctab is in the data, nil if it is computed.
	Table error
}

// File rewrites the module in a file. A process that has the file open keeps the module that it had.
func File(path string) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	out, _, err := Rewrite(b)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	tmp := path + ".tmp"
	if err := os.WriteFile(tmp, out, 0o644); err != nil {
		return err
	}
	return os.Rename(tmp, path)
}
