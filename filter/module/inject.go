//go:build wasip1 && !faultinject

package main

// inject and injectTick do nothing in the product; see inject_faults.go.
func inject() {}

func injectTick() {}
