// Package postlink makes the Wasm modules that Go's linker writes smaller and faster.
//
// WebAssembly has no jumps but out of constructs that are open. Go's compiler does not look for constructs in a function: it puts
// a table around all of it, sets a number and goes back to the table for every jump of the program. So V8 sees a function as one
// loop that may go on anywhere: it can keep little in registers, knows nothing of what was checked before, and makes 4.8 bytes of
// machine code of each byte. In a filter, whose code is cold when a request comes, these bytes are what a request costs.
//
// Rewrite finds out where the jumps lead and writes them as such. The table stays for the places at which the Go runtime may
// continue a function: its begin, behind its calls that may return, and where a recovered panic returns. A loop of the program becomes a loop
// of the module if the runtime cannot continue within it. What only debuggers read is left out, as -ldflags=-s would.
//
// A tenth of what is left is runtime.findfunctab, by which the runtime finds the function of a PC. Its content follows from the
// number of functions on Wasm. So Rewrite takes it out of the data and adds a start function, which writes it before anything
// else runs. Unless every byte of it is as expected, as with a Go version that lays it out otherwise, it stays where it is.
//
// The compiler does not say either that a call of, say, runtime.goPanicIndex does not return: to V8 the code goes on with whatever
// the next place is, often another such call, and keeps values for it. Rewrite ends the function there.
//
// V8 lays machine code out as the functions stand in the module. Rewrite can put those that are often called together side by side,
// so that they are in few pages.
//
// A function of a form that is not known, such as one written in assembly language, stays as it is. The runtime knows functions by
// their places in the table of functions and by PCs that follow from these. Neither changes, so that all it knows stays true.
package postlink

import (
	"fmt"
	"os"
	"strings"
)

// Stats says what Rewrite did.
type Stats struct {
	Functions int // in the module, imports excluded
	Rewritten int // those whose jumps lead where they go
	Ordered   int // those that come first because the caller named them

	// Table says why runtime.findfunctab is in the data, nil if it is computed.
	Table error
}

// File rewrites the module in a file. A process that has the file open keeps the module that it had. order, if not empty, is a file
// with the names of the functions that are to come first, one in a line; a line that begins with # says something else.
func File(path, order string) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var names []string
	if order != "" {
		text, err := os.ReadFile(order)
		if err != nil {
			return err
		}
		names = readOrder(string(text))
	}
	out, _, err := Rewrite(b, names)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	tmp := path + ".tmp"
	if err := os.WriteFile(tmp, out, 0o644); err != nil {
		return err
	}
	return os.Rename(tmp, path)
}

func readOrder(text string) []string {
	var names []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			names = append(names, line)
		}
	}
	return names
}
