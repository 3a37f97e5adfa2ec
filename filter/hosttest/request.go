package hosttest

import "github.com/zerohop/zerohop/filter"

// Request is one request and what happens to it. It may be sent any number of times.
type Request struct {
	Headers  Fields // pseudo headers included
	Body     []byte
	Trailers Fields
	Source   string // ip:port of the client; DefaultSource if empty

	// Chunk is the number of body bytes that arrive at once; 0 means the whole body.
	Chunk int
	// EmptyEnd ends the stream by a data frame without bytes.
	EmptyEnd bool
	// Repeat makes every body callback twice with the same size.
	Repeat bool
	// DownstreamFirst deletes the downstream context before the attempt's also at a regular end. Resets always do.
	DownstreamFirst bool

	// Reset is the stage at which the client goes away.
	Reset Stage
	// At and Do run code at a stage, such as a rebuild of the VM.
	At Stage
	Do func()

	// Reply says what the endpoint at addr answers to an attempt, counted from 0. nil answers 200 with one chunk.
	Reply func(addr string, attempt int) Reply
}

// DefaultSource is the address of clients that have none of their own.
const DefaultSource = "192.0.2.1:40000"

// Reply is an endpoint's answer.
type Reply struct {
	// Fail refuses the connection, or resets it before a response byte. The route retries that.
	Fail bool
	// Status is the response status; 0 means 200.
	Status int
	// Headers are the response's other headers.
	Headers Fields
	// Retry says that the route retries this status. The client then sees nothing of the response.
	Retry bool
	// Chunks is the number of body chunks; 0 ends the stream with the headers.
	Chunks int
	// Cut resets the connection after that many chunks, if it is not 0.
	Cut int
}

// Stage is a point in the life of a request.
type Stage int

// The stages, in the order in which a request passes them.
const (
	Never           Stage = iota
	Created               // the context exists
	GotHeaders            // after the headers callback
	GotChunk              // after the first body callback
	GotRequest            // all of the request has arrived and was let go
	Attempt1              // the first attempt has begun
	Attempt2              // the first retry has begun
	ResponseHeaders       // after the response headers
	ResponseChunk         // after the first response chunk
	Responded             // after the last response byte, before the contexts are deleted
)

// Route says where a request ended up.
type Route string

// The routes.
const (
	ToEndpoint Route = "endpoint"   // the destination cluster
	ToFallback Route = "fallback"   // the fallback cluster
	ToClient   Route = "local"      // answered by the filter
	TooLarge   Route = "too large"  // answered by Envoy: 413
	NoHost     Route = "no host"    // the destination cluster had no address: 503
	Stuck      Route = "stuck"      // the filter never let the complete request go
	Undecided  Route = "undecided"  // the client went away first
	LostVM     Route = "no such VM" // no downstream plugin is loaded
)

// Local is a local response by the filter.
type Local struct {
	Status        int
	Details, Body string
	Headers       []byte // serialized pairs
}

// Result is what became of a request. Slices belong to the worker and are valid until its next request.
type Result struct {
	Route    Route
	Status   int      // what the client sees; 0 if the stream was reset
	Hosts    []string // addresses of the attempts
	Sent     Fields   // request headers as the last attempt's endpoint or the fallback cluster saw them
	SentEnd  Fields   // request trailers, likewise
	Response Fields   // response headers as the client saw them
	Pick     []byte   // the pick property at the end
	Local    *Local   // the filter's answer, if Route is ToClient

	// What the router was told beside the route: what else to retry on, and how long an attempt may be silent.
	RetryOn, FirstByte string

	// What the downstream filter returned: to the headers, to each body callback, to trailers.
	Headers  filter.Action
	Body     []filter.Action
	Trailers filter.Action
}

// Reason is the reason in the pick property.
func (r *Result) Reason() string { return Pick(string(r.Pick), "reason") }

// Endpoint is the endpoint in the pick property.
func (r *Result) Endpoint() string { return Pick(string(r.Pick), "endpoint") }

// Pick returns the part of a pick line that follows key and "=", such as "scored" for "reason".
func Pick(line, key string) string {
	for line != "" {
		word := line
		line = ""
		for i := range word {
			if word[i] == ' ' {
				word, line = word[:i], word[i+1:]
				break
			}
		}
		if len(word) > len(key) && word[:len(key)] == key && word[len(key)] == '=' {
			return word[len(key)+1:]
		}
	}
	return ""
}
