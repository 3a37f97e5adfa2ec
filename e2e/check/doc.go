// Package check tests that "zerohop check --envoy" asks for enough: an Envoy configuration that knows nothing of zerohop is
// given what the check asks for, and nothing else, and then run by a real Envoy.
package check
