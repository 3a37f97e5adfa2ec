// Package simtest holds tests of routing quality: the scheduler routes a public request trace to modelled endpoints, in
// virtual time, and the share of prompt tokens found in caches and the balance between endpoints are asserted.
package simtest
