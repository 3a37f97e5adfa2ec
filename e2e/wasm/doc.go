// Package wasm runs the compiled module as a binary: wazero executes it, package hosttest plays Envoy, and this package is
// the proxy-wasm ABI 0.2.1 between them, with the restrictions that Envoy puts on a guest. A module may import only what
// stands here, so that an instance is also a test of the imports.
package wasm
