//go:build wasip1

package abi

import (
	"runtime"
	"unsafe"

	"github.com/zerohop/zerohop/filter"
	"github.com/zerohop/zerohop/filter/pairs"
	"github.com/zerohop/zerohop/shared/names"
)

// Host implements filter.Host. It has no state of its own.
type Host struct{}

var _ filter.Host = (*Host)(nil)

// Now implements filter.Clock by WASI's monotonic clock, which is the process's steady clock.
func (*Host) Now() uint64 {
	wasiClock(clockMonotonic, 1, &outU64)
	return outU64
}

// Random implements filter.Clock.
func (*Host) Random() uint64 {
	wasiRandom(&outU64, 8)
	return outU64
}

// Use implements filter.Stream.
func (*Host) Use(ctx uint32) bool { return proxySetContext(ctx) == statusOK }

// RequestHeaders implements filter.Stream.
func (*Host) RequestHeaders() []byte {
	return result(proxyGetPairs(mapRequestHeaders, &outPtr, &outLen))
}

// RequestHeader implements filter.Stream.
func (*Host) RequestHeader(name string) []byte {
	return result(proxyGetHeader(mapRequestHeaders, name, &outPtr, &outLen))
}

// ReplaceRequestHeader implements filter.Stream.
func (*Host) ReplaceRequestHeader(name string, value []byte) {
	p, n := pointer(value)
	proxyReplaceHeader(mapRequestHeaders, name, p, n)
}

// RemoveRequestHeader implements filter.Stream.
func (*Host) RemoveRequestHeader(name string) { proxyRemoveHeader(mapRequestHeaders, name) }

// RemoveRequestTrailer implements filter.Stream.
func (*Host) RemoveRequestTrailer(name string) { proxyRemoveHeader(mapRequestTrailers, name) }

// Body implements filter.Stream.
func (*Host) Body(off, limit int) []byte {
	return result(proxyGetBuffer(bufferRequestBody, uint32(off), uint32(limit), &outPtr, &outLen))
}

// ResponseHeader implements filter.Stream.
func (*Host) ResponseHeader(name string) []byte {
	return result(proxyGetHeader(mapResponseHeaders, name, &outPtr, &outLen))
}

// ReplaceResponseHeader implements filter.Stream.
func (*Host) ReplaceResponseHeader(name string, value []byte) {
	p, n := pointer(value)
	proxyReplaceHeader(mapResponseHeaders, name, p, n)
}

// Property implements filter.Stream.
func (*Host) Property(name string) []byte { return result(proxyGetProperty(name, &outPtr, &outLen)) }

// SetProperty implements filter.Stream.
func (*Host) SetProperty(name string, value []byte) {
	p, n := pointer(value)
	proxySetProperty(name, p, n)
}

// destination is the protobuf message envoy.source.extensions.common.wasm.SetEnvoyFilterStateArguments {1: path, 2: value,
// 3: span} with the path in place; the rest is written for each call.
var destination = append([]byte{1<<3 | 2, byte(len(names.StateOriginalDst))}, names.StateOriginalDst...)

const (
	pathFieldLen          = 2 + len(names.StateOriginalDst)
	spanDownstreamRequest = 1
	maxAddressLen         = 127 // one length byte
)

// SetDestination implements filter.Stream.
func (*Host) SetDestination(addr []byte) bool {
	if len(addr) > maxAddressLen {
		return false
	}
	destination = append(destination[:pathFieldLen], 2<<3|2, byte(len(addr)))
	destination = append(destination, addr...)
	destination = append(destination, 3<<3, spanDownstreamRequest)
	p, n := pointer(destination)
	return proxyCallForeign("set_envoy_filter_state", p, n, &outPtr, &outLen) == statusOK
}

// Respond implements filter.Stream.
func (*Host) Respond(status int, details, body string, headers []byte) {
	p, n := pointer(headers)
	proxyRespond(uint32(status), details, body, p, n, -1)
}

// Log implements filter.Process.
func (*Host) Log(level filter.LogLevel, msg string) { proxyLog(uint32(level), msg) }

// Configuration implements filter.Process. The caller keeps the result only during Configure.
func (*Host) Configuration(size int) []byte {
	return result(proxyGetBuffer(bufferPluginConfig, 0, uint32(size), &outPtr, &outLen))
}

// RootID implements filter.Process.
func (*Host) RootID() string {
	return string(result(proxyGetProperty("plugin_root_id", &outPtr, &outLen)))
}

// SetTick implements filter.Process.
func (*Host) SetTick(periodMs int) { proxySetTick(uint32(periodMs)) }

// Shared implements filter.Process.
func (*Host) Shared(key string) (value []byte, cas uint32) {
	status := proxyGetShared(key, &outPtr, &outLen, &outCAS)
	if status != statusOK {
		return nil, 0
	}
	return result(status), outCAS
}

// SetShared implements filter.Process.
func (*Host) SetShared(key string, value []byte, cas uint32) bool {
	p, n := pointer(value)
	return proxySetShared(key, p, n, cas) == statusOK
}

// callHeaders is scratch for the headers of a call.
var callHeaders []byte

// Post implements filter.Process.
func (*Host) Post(cluster string, path, node, body []byte, timeoutMs int) (token uint32, ok bool) {
	callHeaders = pairs.Append(callHeaders[:0],
		":method", "POST", ":authority", cluster, ":path", text(path),
		"accept", names.ContentTypeSnapshot+", "+names.ContentTypeDelta, "content-type", names.ContentTypeReport,
		names.HeaderPrefer, filter.Prefer, names.HeaderModule, filter.Module, names.HeaderNode, text(node))
	p, n := pointer(callHeaders)
	b, size := pointer(body)
	status := proxyHTTPCall(cluster, p, n, b, size, nil, 0, uint32(timeoutMs), &outID)
	return outID, status == statusOK
}

// text returns b as a string that shares its bytes.
func text(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// CallStatus implements filter.Process.
func (*Host) CallStatus() []byte {
	return result(proxyGetHeader(mapCallHeaders, ":status", &outPtr, &outLen))
}

// CallBody implements filter.Process.
func (*Host) CallBody(size int) []byte {
	return result(proxyGetBuffer(bufferCallBody, 0, uint32(size), &outPtr, &outLen))
}

// DefineMetric implements filter.Process.
func (*Host) DefineMetric(kind filter.MetricKind, name string) uint32 {
	proxyDefineMetric(uint32(kind), name, &outID)
	return outID
}

// Add implements filter.Process.
func (*Host) Add(id uint32, n int64) { proxyIncrementMetric(id, n) }

// Record implements filter.Process.
func (*Host) Record(id uint32, v uint64) { proxyRecordMetric(id, v) }

// HeapBytes implements filter.Process.
func (*Host) HeapBytes() uint64 { return heapBytes() }

// Collect implements filter.Process.
func (*Host) Collect() { runtime.GC() }
