package hosttest

import (
	"github.com/zerohop/zerohop/filter"
	"github.com/zerohop/zerohop/shared/names"
)

// Do plays one request from its first header to the deletion of its contexts. The result is valid until the worker's next
// request.
func (w *Worker) Do(r *Request) *Result {
	s := w.Open(r)
	s.Receive()
	s.Forward()
	return s.Close()
}

// Open creates the stream and its downstream context. Receive, Forward and Close play the rest; several streams may be
// open at a time.
func (w *Worker) Open(r *Request) *Stream {
	s := w.spare
	if s == nil {
		s = new(Stream)
	} else {
		w.spare = s.next
	}
	s.reset(w, r)
	s.down = w.open(w.Newest(names.RootDownstream), s, false)
	if s.down == 0 {
		s.res.Route = LostVM
		return s
	}
	w.find(s.down).holdsHeaders = true
	s.reached(Created)
	return s
}

// reached runs what is to happen at a stage, and reports whether the stream goes on.
func (s *Stream) reached(at Stage) bool {
	if s.gone || s.res.Route == LostVM {
		return false
	}
	if s.req.At == at && s.req.Do != nil {
		s.req.Do()
	}
	if s.req.Reset == at && at != Never {
		s.gone = true
		if s.res.Route == "" {
			s.res.Route = Undecided
		}
	}
	return !s.gone
}

// Receive plays the arrival of the request until it is complete, answered or reset.
func (s *Stream) Receive() {
	if s.gone || s.res.Route != "" {
		return
	}
	r := s.req
	endsByHeaders := len(r.Body) == 0 && len(r.Trailers) == 0 && !r.EmptyEnd
	if s.w.enter(s.down, s) == nil {
		s.lost()
		return
	}
	s.res.Headers = s.w.mod.RequestHeaders(s.down, endsByHeaders)
	s.settle(s.res.Headers)
	if !s.reached(GotHeaders) || s.answered() {
		return
	}
	if !s.receiveBody() || s.answered() {
		return
	}
	if len(r.Trailers) > 0 {
		s.receiveTrailers()
		if s.answered() {
			return
		}
	}
	if !s.routed {
		s.res.Route = Stuck
		return
	}
	s.reached(GotRequest)
}

// settle acts on what a request callback returned.
func (s *Stream) settle(a filter.Action) {
	if c := s.w.find(s.down); c != nil && s.local == nil && a == filter.Continue {
		s.routed = true
		c.holdsHeaders = false
	}
}

// lost ends a request whose VM is gone while it was being received.
func (s *Stream) lost() {
	if s.res.Route == "" {
		s.res.Route = LostVM
		s.respondLocally(503)
	}
}

// answered plays a local response by the filter, if there is one.
func (s *Stream) answered() bool {
	if s.local == nil {
		return s.res.Route != ""
	}
	s.res.Route, s.res.Local = ToClient, s.local
	s.respondLocally(s.local.Status)
	return true
}

// receiveBody plays the body callbacks and reports whether the stream goes on.
func (s *Stream) receiveBody() bool {
	r := s.req
	chunk := r.Chunk
	if chunk <= 0 {
		chunk = len(r.Body)
	}
	for off := 0; off < len(r.Body); off += chunk {
		end := min(off+chunk, len(r.Body))
		if s.w.BodyLimit > 0 && end > s.w.BodyLimit && !s.routed {
			s.res.Route = TooLarge
			s.respondLocally(413)
			return false
		}
		last := end == len(r.Body) && len(r.Trailers) == 0 && !r.EmptyEnd
		s.body(off, end, last)
		if off == 0 && !s.reached(GotChunk) || s.local != nil || s.res.Route != "" {
			return !s.gone
		}
	}
	if r.EmptyEnd && len(r.Trailers) == 0 {
		s.body(len(r.Body), len(r.Body), true)
	}
	return true
}

// body plays one body callback. While the filter holds the request it sees all of the body from the start, later only the
// new chunk.
func (s *Stream) body(off, end int, last bool) {
	times := 1
	if s.req.Repeat {
		times = 2
	}
	for i := 0; i < times; i++ {
		c := s.w.enter(s.down, s)
		if c == nil {
			s.lost()
			return
		}
		from := 0
		if s.routed {
			from = off
		}
		c.bodyFrom, c.bodyTo = from, end
		a := s.w.mod.RequestBody(s.down, end-from, last)
		s.res.Body = append(s.res.Body, a)
		if c = s.w.find(s.down); c != nil && a == filter.Continue {
			c.bodyFrom, c.bodyTo = 0, 0
		}
		s.settle(a)
	}
}

func (s *Stream) receiveTrailers() {
	c := s.w.enter(s.down, s)
	if c == nil {
		s.lost()
		return
	}
	c.inTrailers = true
	s.res.Trailers = s.w.mod.RequestTrailers(s.down)
	if c = s.w.find(s.down); c != nil {
		c.inTrailers = false
	}
	s.settle(s.res.Trailers)
}

// respondLocally plays the response of Envoy or of the filter, which passes the downstream filter only.
func (s *Stream) respondLocally(status int) {
	s.res.Status = status
	s.extra = nil
	s.startResponse(status)
	s.toClient(false)
	if c := s.w.enter(s.down, s); c != nil {
		s.w.mod.ResponseBody(s.down, 1, true)
	}
}

func (s *Stream) startResponse(status int) {
	s.response = append(s.response[:0], Field{":status", s.w.p.status(status)})
	s.response = append(s.response, s.extra...)
}

// toClient passes response headers through the downstream filter.
func (s *Stream) toClient(endOfStream bool) {
	if c := s.w.enter(s.down, s); c != nil {
		c.holdsResponse = true
		if a := s.w.mod.ResponseHeaders(s.down, endOfStream); a != filter.Continue {
			s.w.p.Fault("the response was paused")
		}
		if c = s.w.find(s.down); c != nil {
			c.holdsResponse = false
		}
	}
	s.res.Response = append(s.res.Response[:0], s.response...)
}

// Close deletes the contexts and returns the result. The stream must not be used any more.
func (s *Stream) Close() *Result {
	if s.gone || s.req.DownstreamFirst {
		s.w.close(s.down, s)
		s.w.close(s.attempt, s)
	} else {
		s.w.close(s.attempt, s)
		s.w.close(s.down, s)
	}
	s.res.Pick = append(s.res.Pick[:0], s.Property(names.StatePick)...)
	if s.gone {
		s.res.Status = 0
	}
	s.next, s.w.spare = s.w.spare, s
	return &s.res
}
