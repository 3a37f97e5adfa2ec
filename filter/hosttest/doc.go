// Package hosttest emulates Envoy as far as a proxy-wasm filter can see it, so that whole request life cycles run in go
// test: workers with one VM each, streams and their attempts, shared data, stats, HTTP calls and a clock that only the
// test moves. It plays the callback sequences of Envoy 1.40, including the unpleasant ones: chunked bodies with cumulative
// sizes, trailers, resets at any point, retries, rebuilt VMs, old configurations that still tick.
//
// The filter under test stands behind Module, so that the same test drives a *filter.VM and the compiled binary. What the
// filter must not do (write headers after it let them go, use a stale result, act on a dead context) is recorded as a
// fault.
//
// In steady state the emulator allocates nothing per request, so that testing.AllocsPerRun over it measures the filter.
// Nothing here is safe for concurrent use.
package hosttest
