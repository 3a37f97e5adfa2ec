package hosttest

import (
	"strings"

	"github.com/zerohop/zerohop/filter"
	"github.com/zerohop/zerohop/shared/names"
)

// Host implements filter.Host for the VM of one worker.
type Host struct {
	// Strict overwrites what a call returned as soon as the next call begins, so that a use of a stale result shows. It
	// allocates.
	Strict bool
	// OnCall, if set, runs at the begin of every call with its name; it may panic, as a bug in the filter would.
	OnCall func(name string)
	// Calls counts the calls.
	Calls int
	// Heap is what HeapBytes returns; Collect sets it to HeapLive and counts Collections.
	Heap, HeapLive uint64
	Collections    int

	p   *Process
	w   *Worker
	cur uint32 // context that stream calls act on

	view      []byte // what the last call returned
	configure *Root  // the root being configured, during Configure only
	answering bool   // during CallDone
	answer    answer
	metrics   []*Metric // by id
}

// answer is the answer of a call.
type answer struct {
	status string
	body   []byte
}

var _ filter.Host = (*Host)(nil)

// enter begins a call.
func (h *Host) enter(name string) {
	h.spoil()
	h.take(name)
}

// take begins a call whose arguments may be what the call before returned; spoil ends it.
func (h *Host) take(name string) {
	h.Calls++
	if h.OnCall != nil {
		h.OnCall(name)
	}
}

// spoil makes what the last call returned unusable.
func (h *Host) spoil() {
	if h.Strict {
		for i := range h.view {
			h.view[i] = 0xDB
		}
		h.view = nil
	}
}

// give returns a copy of b that the next call invalidates; nil if b is empty, as the ABI gives no address then.
func (h *Host) give(b []byte) []byte {
	if len(b) == 0 {
		return nil
	}
	h.view = append(h.view[:0], b...)
	return h.view
}

func (h *Host) giveString(s string) []byte {
	if s == "" {
		return nil
	}
	h.view = append(h.view[:0], s...)
	return h.view
}

// context returns the current context if it belongs to a stream.
func (h *Host) context(call string) *context {
	c := h.w.find(h.cur)
	if c == nil || c.stream == nil {
		h.p.Fault("%s: context %d is not a stream's", call, h.cur)
		return nil
	}
	return c
}

// requestFields returns the request headers if the current context may write them.
func (h *Host) requestFields(call string) *Fields {
	c := h.context(call)
	if c == nil {
		return nil
	}
	if !c.holdsHeaders {
		h.p.Fault("%s: the request headers are not held any more", call)
		return nil
	}
	return &c.stream.fields
}

// Now implements filter.Clock.
func (h *Host) Now() uint64 {
	h.enter("Now")
	return h.p.now
}

// Random implements filter.Clock.
func (h *Host) Random() uint64 {
	h.enter("Random")
	h.p.seed += 0x9E3779B97F4A7C15
	z := h.p.seed
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	return z ^ z>>31
}

// Use implements filter.Stream.
func (h *Host) Use(ctx uint32) bool {
	h.enter("Use")
	if h.w.find(ctx) == nil {
		return false
	}
	h.cur = ctx
	return true
}

// RequestHeaders implements filter.Stream.
func (h *Host) RequestHeaders() []byte {
	h.enter("RequestHeaders")
	c := h.context("RequestHeaders")
	if c == nil || !c.holdsHeaders {
		return nil
	}
	h.view = c.stream.fields.appendPairs(h.view[:0])
	return h.view
}

// RequestHeader implements filter.Stream.
func (h *Host) RequestHeader(name string) []byte {
	h.enter("RequestHeader")
	c := h.context("RequestHeader")
	if c == nil || !c.holdsHeaders {
		return nil
	}
	v, _ := c.stream.fields.First(name)
	return h.giveString(v)
}

// ReplaceRequestHeader implements filter.Stream.
func (h *Host) ReplaceRequestHeader(name string, value []byte) {
	h.take("ReplaceRequestHeader")
	defer h.spoil()
	if f := h.requestFields("ReplaceRequestHeader"); f != nil {
		f.replace(name, h.p.intern(value))
	}
}

// RemoveRequestHeader implements filter.Stream.
func (h *Host) RemoveRequestHeader(name string) {
	h.enter("RemoveRequestHeader")
	if f := h.requestFields("RemoveRequestHeader"); f != nil {
		f.remove(name)
	}
}

// RemoveRequestTrailer implements filter.Stream.
func (h *Host) RemoveRequestTrailer(name string) {
	h.enter("RemoveRequestTrailer")
	c := h.context("RemoveRequestTrailer")
	if c == nil {
		return
	}
	if !c.inTrailers {
		h.p.Fault("RemoveRequestTrailer: no trailers to write")
		return
	}
	c.stream.trailers.remove(name)
}

// Body implements filter.Stream.
func (h *Host) Body(off, limit int) []byte {
	h.enter("Body")
	c := h.context("Body")
	if c == nil {
		return nil
	}
	b := c.stream.req.Body[c.bodyFrom:c.bodyTo]
	if off < 0 || limit < 0 || off > len(b) {
		return nil
	}
	return h.give(b[off:min(off+limit, len(b))])
}

// ResponseHeader implements filter.Stream.
func (h *Host) ResponseHeader(name string) []byte {
	h.enter("ResponseHeader")
	c := h.context("ResponseHeader")
	if c == nil {
		return nil
	}
	v, _ := c.stream.response.First(name)
	return h.giveString(v)
}

// ReplaceResponseHeader implements filter.Stream.
func (h *Host) ReplaceResponseHeader(name string, value []byte) {
	h.take("ReplaceResponseHeader")
	defer h.spoil()
	c := h.context("ReplaceResponseHeader")
	switch {
	case c == nil:
	case !c.holdsResponse:
		h.p.Fault("ReplaceResponseHeader: no response headers to write, or those of an attempt")
	default:
		c.stream.response.replace(name, h.p.intern(value))
	}
}

// Property implements filter.Stream.
func (h *Host) Property(name string) []byte {
	h.enter("Property")
	if h.w.root(h.cur) != nil {
		if name == names.PropertyNodeID {
			return h.giveString(h.p.Node)
		}
		return nil
	}
	c := h.context("Property")
	if c == nil {
		return nil
	}
	return h.give(c.stream.Property(name))
}

// SetProperty implements filter.Stream.
func (h *Host) SetProperty(name string, value []byte) {
	h.take("SetProperty")
	defer h.spoil()
	if c := h.context("SetProperty"); c != nil {
		c.stream.SetProperty(name, value)
	}
}

// SetDestination implements filter.Stream.
func (h *Host) SetDestination(addr []byte) bool {
	h.take("SetDestination")
	defer h.spoil()
	c := h.context("SetDestination")
	if c == nil {
		return false
	}
	c.stream.destination = h.p.intern(addr)
	return true
}

// Respond implements filter.Stream.
func (h *Host) Respond(status int, details, body string, headers []byte) {
	h.take("Respond")
	defer h.spoil()
	c := h.context("Respond")
	switch {
	case c == nil:
	case c.attempt || c.stream.local != nil || c.stream.routed:
		h.p.Fault("Respond: too late")
	default:
		c.stream.local = &Local{Status: status, Details: details, Body: strings.Clone(body), Headers: append([]byte{}, headers...)}
	}
}

// Process returns the process that the VM runs in.
func (h *Host) Process() *Process { return h.p }
