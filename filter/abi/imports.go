//go:build wasip1

package abi

import "unsafe"

// The host functions in use, with the parameter names of the ABI text. None may be marked noescape: those that return
// data call back into the allocator.

//go:wasmimport env proxy_log
func proxyLog(level uint32, msg string) uint32

//go:wasmimport env proxy_set_tick_period_milliseconds
func proxySetTick(period uint32) uint32

//go:wasmimport env proxy_get_property
func proxyGetProperty(path string, retPtr, retLen *uint32) uint32

//go:wasmimport env proxy_set_property
func proxySetProperty(path string, value unsafe.Pointer, valueLen uint32) uint32

//go:wasmimport env proxy_get_buffer_bytes
func proxyGetBuffer(kind, start, size uint32, retPtr, retLen *uint32) uint32

//go:wasmimport env proxy_get_header_map_pairs
func proxyGetPairs(kind uint32, retPtr, retLen *uint32) uint32

//go:wasmimport env proxy_get_header_map_value
func proxyGetHeader(kind uint32, key string, retPtr, retLen *uint32) uint32

//go:wasmimport env proxy_replace_header_map_value
func proxyReplaceHeader(kind uint32, key string, value unsafe.Pointer, valueLen uint32) uint32

//go:wasmimport env proxy_remove_header_map_value
func proxyRemoveHeader(kind uint32, key string) uint32

//go:wasmimport env proxy_send_local_response
func proxyRespond(status uint32, details, body string, headers unsafe.Pointer, headersLen uint32, grpcStatus int32) uint32

//go:wasmimport env proxy_http_call
func proxyHTTPCall(upstream string, headers unsafe.Pointer, headersLen uint32, body unsafe.Pointer, bodyLen uint32, trailers unsafe.Pointer, trailersLen, timeout uint32, retToken *uint32) uint32

//go:wasmimport env proxy_get_shared_data
func proxyGetShared(key string, retPtr, retLen, retCAS *uint32) uint32

//go:wasmimport env proxy_set_shared_data
func proxySetShared(key string, value unsafe.Pointer, valueLen, cas uint32) uint32

//go:wasmimport env proxy_define_metric
func proxyDefineMetric(kind uint32, name string, retID *uint32) uint32

//go:wasmimport env proxy_increment_metric
func proxyIncrementMetric(id uint32, delta int64) uint32

//go:wasmimport env proxy_record_metric
func proxyRecordMetric(id uint32, value uint64) uint32

//go:wasmimport env proxy_set_effective_context
func proxySetContext(id uint32) uint32

//go:wasmimport env proxy_call_foreign_function
func proxyCallForeign(name string, args unsafe.Pointer, argsLen uint32, retPtr, retLen *uint32) uint32

//go:wasmimport wasi_snapshot_preview1 clock_time_get
func wasiClock(id uint32, precision uint64, retTime *uint64) uint32

//go:wasmimport wasi_snapshot_preview1 random_get
func wasiRandom(buf *uint64, n uint32) uint32

// Enumerations of the ABI text that the SDK's types package does not have.
const (
	statusOK = 0

	mapRequestHeaders  = 0
	mapRequestTrailers = 1
	mapResponseHeaders = 2
	mapCallHeaders     = 6

	bufferRequestBody  = 0
	bufferCallBody     = 4
	bufferPluginConfig = 7

	clockMonotonic = 1
)
