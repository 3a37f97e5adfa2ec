package filter

import "github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/types"

// Host is what the filter needs of the proxy it runs in: the proxy-wasm binding in production (package abi), an emulator
// in tests. Slices that a Host returns are views that stay valid until the next call of any Host method; slices passed in
// are not kept. A method that finds nothing returns nil. The calls that act on a stream act on the context that the
// current callback belongs to, unless Use chose another.
type Host interface {
	Clock
	Stream
	Process
}

// Clock gives time and randomness.
type Clock interface {
	// Now returns monotonic nanoseconds, comparable across the workers of one process.
	Now() uint64
	// Random returns a random number, different in each VM.
	Random() uint64
}

// Stream acts on the current stream.
type Stream interface {
	// Use makes ctx the current context and reports whether it still exists.
	Use(ctx uint32) bool
	// RequestHeaders returns the request headers as serialized pairs (package pairs).
	RequestHeaders() []byte
	// RequestHeader returns the first value of a request header.
	RequestHeader(name string) []byte
	// ReplaceRequestHeader sets a request header, removing other values of it.
	ReplaceRequestHeader(name string, value []byte)
	// RemoveRequestHeader removes all values of a request header.
	RemoveRequestHeader(name string)
	// RemoveRequestTrailer removes all values of a request trailer.
	RemoveRequestTrailer(name string)
	// Body returns at most limit bytes of the buffered request body from offset off on.
	Body(off, limit int) []byte
	// ResponseHeader returns the first value of a response header.
	ResponseHeader(name string) []byte
	// ReplaceResponseHeader sets a response header, removing other values of it. In a callback with response headers only.
	ReplaceResponseHeader(name string, value []byte)
	// Property returns what SetProperty stored on this request by either plugin, or a property that Envoy has of the stream
	// or, in callbacks of a root context, of the process.
	Property(name string) []byte
	// SetProperty stores a property in the request's filter state.
	SetProperty(name string, value []byte)
	// SetDestination stores ip:port in the filter state that an ORIGINAL_DST cluster reads, and reports whether Envoy took it.
	SetDestination(addr []byte) bool
	// Respond answers the request locally. headers are serialized pairs.
	Respond(status int, details, body string, headers []byte)
}

// Process acts on the process that all workers share, and on the root context.
type Process interface {
	// Log writes one line.
	Log(level LogLevel, msg string)
	// Configuration returns the plugin configuration; during Configure only.
	Configuration(size int) []byte
	// RootID returns the root id that the plugin being configured is meant for; during Configure only.
	RootID() string
	// SetTick asks for Tick calls of the current root context.
	SetTick(periodMs int)
	// Shared returns the value of a shared-data key and its compare-and-set token; the token is 0 if there is no such key.
	Shared(key string) (value []byte, cas uint32)
	// SetShared stores a shared-data value. A cas of 0 stores unconditionally; any other stores if the token still matches
	// or the key does not exist. It reports whether the value was stored.
	SetShared(key string, value []byte, cas uint32) bool
	// Post starts POST path on an Envoy cluster from the current root context, as a poll of the agent by this node with a
	// report as its body, which may be empty; the answer comes by CallDone with the token.
	Post(cluster string, path, node, body []byte, timeoutMs int) (token uint32, ok bool)
	// CallStatus and CallBody return the answer of the call being reported; during CallDone only.
	CallStatus() []byte
	CallBody(size int) []byte
	// DefineMetric returns the id of a process-wide stat.
	DefineMetric(kind MetricKind, name string) uint32
	// Add increments a counter by n > 0.
	Add(id uint32, n int64)
	// Record sets a gauge or adds a histogram sample.
	Record(id uint32, v uint64)
	// HeapBytes returns the bytes in live and not yet collected heap objects; Collect runs the garbage collector.
	HeapBytes() uint64
	Collect()
}

// LogLevel is the severity of a log line, as proxy-wasm numbers it.
type LogLevel uint32

// The log levels in use.
const (
	LogDebug LogLevel = 1
	LogInfo  LogLevel = 2
	LogWarn  LogLevel = 3
	LogError LogLevel = 4
)

// MetricKind is the type of a stat, as proxy-wasm numbers it.
type MetricKind uint32

// The kinds of stats.
const (
	Counter   MetricKind = 0
	Gauge     MetricKind = 1
	Histogram MetricKind = 2
)

// Action is what Envoy is to do after a callback. Pause in a header callback holds the headers and still delivers the
// body, provided that the plugin has allow_on_headers_stop_iteration; in a body callback it buffers.
type Action = types.Action

// The actions.
const (
	Continue = types.ActionContinue
	Pause    = types.ActionPause
)
