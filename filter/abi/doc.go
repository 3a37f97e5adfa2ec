// Package abi binds the filter to proxy-wasm ABI 0.2.1 as Envoy implements it. It is the only package with Wasm imports
// and exists only for wasip1.
//
// Memory: the host writes results through package-level out-parameters, since a goroutine's stack may move while the host
// calls back into the allocator. The allocator hands out one buffer that lives for ever and only grows, so a result is
// valid until the next host call that returns data. Nothing is allocated per call.
package abi
