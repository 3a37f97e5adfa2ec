// Package conventions checks the source tree instead of running it: who imports whom, what is linked into the Wasm module,
// and the rules of style that a machine can see. It has tests only. A rule that is broken names the file and the fix.
package conventions
