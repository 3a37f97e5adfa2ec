//go:build wasip1 && !faultinject

package main

// inject does nothing in the product; see inject_faults.go.
func inject() {}
