package hosttest

import (
	"cmp"

	"github.com/zerohop/zerohop/shared/names"
)

// Stream is one request in progress: what the downstream context and the attempts share.
type Stream struct {
	w    *Worker
	next *Stream // next free one
	req  *Request
	res  Result

	fields      Fields // request headers: one map for both filters
	trailers    Fields
	response    Fields
	extra       Fields // headers of the response beside its status
	properties  []property
	destination string // filter state that an ORIGINAL_DST cluster reads
	listed      bool   // the request is in the override_host cluster
	list        string // what that cluster has left of the list
	upstream    []byte // what Property returns of the newest attempt's address
	local       *Local
	routed      bool // the request has left the downstream filter
	gone        bool // the client reset the stream

	down, attempt uint32 // context ids; 0 if there is none
	attempts      int
}

// property is one filter-state property.
type property struct {
	name  string
	value []byte
}

// Property returns a filter-state property of the plugins, nil if it was never set, or the address of the newest attempt
// or of the client.
// The slice is valid until the next callback.
func (s *Stream) Property(name string) []byte {
	if n := len(s.res.Hosts); name == names.PropertyUpstreamAddress && n > 0 {
		s.upstream = append(s.upstream[:0], s.res.Hosts[n-1]...)
		return s.upstream
	}
	if name == names.PropertySourceAddress {
		s.upstream = append(s.upstream[:0], cmp.Or(s.req.Source, DefaultSource)...)
		return s.upstream
	}
	for i := range s.properties {
		if s.properties[i].name == name {
			return s.properties[i].value
		}
	}
	return nil
}

// RequestHeader returns the first value of a request header as it is.
func (s *Stream) RequestHeader(name string) (string, bool) { return s.fields.First(name) }

// SetProperty sets a filter-state property.
func (s *Stream) SetProperty(name string, value []byte) {
	for i := range s.properties {
		if p := &s.properties[i]; p.name == name {
			p.value = append(p.value[:0], value...)
			return
		}
	}
	n := len(s.properties)
	if n < cap(s.properties) {
		s.properties = s.properties[:n+1] // keeps the value's storage
	} else {
		s.properties = append(s.properties, property{})
	}
	p := &s.properties[n]
	p.name, p.value = name, append(p.value[:0], value...)
}

// reset prepares a record for a request.
func (s *Stream) reset(w *Worker, r *Request) {
	*s = Stream{
		w: w, req: r,
		fields:     append(s.fields[:0], r.Headers...),
		trailers:   append(s.trailers[:0], r.Trailers...),
		response:   s.response[:0],
		properties: s.properties[:0],
		upstream:   s.upstream[:0],
		res: Result{
			Hosts:    s.res.Hosts[:0],
			Sent:     s.res.Sent[:0],
			SentEnd:  s.res.SentEnd[:0],
			Response: s.res.Response[:0],
			Pick:     s.res.Pick[:0],
			Body:     s.res.Body[:0],
		},
	}
	if w.NoEarlyStrip {
		return
	}
	kept := s.fields[:0]
	for _, f := range s.fields {
		if !ours(f.Name) {
			kept = append(kept, f)
		}
	}
	s.fields = kept
}

// ours reports whether name is one of the headers that only the filter may set.
func ours(name string) bool {
	for i := range names.Stripped {
		if name == names.Stripped[i] {
			return true
		}
	}
	return false
}
