package hosttest

import (
	"time"

	"github.com/zerohop/zerohop/filter"
	"github.com/zerohop/zerohop/shared/names"
	"github.com/zerohop/zerohop/shared/plan"
)

// retryPause is the time between a failed attempt and the next.
const retryPause = 10 * time.Millisecond

// Forward plays the router: the route, the attempts and the response.
func (s *Stream) Forward() {
	switch {
	case s.gone || s.res.Route != "":
	case s.toFallback():
		s.res.Route = ToFallback
		s.sent()
		s.respond(s.reply("", 0), false)
	default:
		s.res.Route = ToEndpoint
		s.tryAll()
	}
}

// toFallback is the route table of envoy.yaml.
func (s *Stream) toFallback() bool {
	if s.w.Mode == plan.DestinationFilterState {
		return s.fields.Has(names.HeaderFallback)
	}
	return !s.fields.Has(names.HeaderDestination)
}

// host is the choice of the ORIGINAL_DST cluster: filter state first, then the header where the cluster reads it.
func (s *Stream) host() string {
	if s.destination != "" || s.w.Mode == plan.DestinationFilterState {
		return s.destination
	}
	addr, _ := s.fields.First(names.HeaderDestination)
	return addr
}

// tryAll plays attempts until an endpoint answers or the retries are used up.
func (s *Stream) tryAll() {
	for n := 0; n <= s.w.Retries; n++ {
		if n > 0 {
			s.w.p.Advance(retryPause)
		}
		addr := s.host()
		if addr == "" {
			s.res.Route = NoHost
			break
		}
		s.res.Hosts = append(s.res.Hosts, addr)
		s.begin()
		at := Attempt1
		if n > 0 {
			at = Attempt2
		}
		if n <= 1 && !s.reached(at) {
			return
		}
		reply := s.reply(addr, n)
		if reply.Retry && n < s.w.Retries {
			s.hideResponse(reply)
		} else if !reply.Fail {
			s.respond(reply, s.attempt != 0)
			return
		}
		s.w.close(s.attempt, s)
		s.attempt = 0
	}
	s.respondLocally(503)
}

// begin passes the request through the attempt filter.
func (s *Stream) begin() {
	w := s.w
	if root := w.Newest(names.RootAttempt); root != nil && !w.NoAttempts {
		s.attempt = w.open(root, s, true)
		c := w.find(s.attempt)
		c.holdsHeaders = true
		w.enter(s.attempt, s)
		r := s.req
		a := w.mod.RequestHeaders(s.attempt, len(r.Body) == 0 && len(r.Trailers) == 0)
		if len(r.Body) > 0 && w.enter(s.attempt, s) != nil {
			a |= w.mod.RequestBody(s.attempt, len(r.Body), len(r.Trailers) == 0)
		}
		if len(r.Trailers) > 0 && w.enter(s.attempt, s) != nil {
			a |= w.mod.RequestTrailers(s.attempt)
		}
		if a != filter.Continue {
			w.p.Fault("an attempt was paused")
		}
		if c = w.find(s.attempt); c != nil {
			c.holdsHeaders = false
		}
	}
	s.sent()
}

func (s *Stream) sent() {
	s.res.Sent = append(s.res.Sent[:0], s.fields...)
	s.res.SentEnd = append(s.res.SentEnd[:0], s.trailers...)
}

func (s *Stream) reply(addr string, attempt int) Reply {
	if s.req.Reply == nil {
		return Reply{Chunks: 1}
	}
	return s.req.Reply(addr, attempt)
}

// hideResponse shows response headers to the attempt filter only; the router drops the response.
func (s *Stream) hideResponse(r Reply) {
	s.startResponse(r.Status)
	if s.w.enter(s.attempt, s) != nil && s.w.mod.ResponseHeaders(s.attempt, r.Chunks == 0) != filter.Continue {
		s.w.p.Fault("the response was paused at the attempt")
	}
}

// respond passes a response through the attempt filter, if it has an attempt, and the downstream filter.
func (s *Stream) respond(r Reply, attempt bool) {
	w := s.w
	status := r.Status
	if status == 0 {
		status = 200
	}
	s.res.Status = status
	s.startResponse(status)
	if attempt && w.enter(s.attempt, s) != nil && w.mod.ResponseHeaders(s.attempt, r.Chunks == 0) != filter.Continue {
		w.p.Fault("the response was paused at the attempt")
	}
	s.toClient(r.Chunks == 0)
	if !s.reached(ResponseHeaders) {
		return
	}
	for i := 1; i <= r.Chunks; i++ {
		s.responseChunk(attempt, i == r.Chunks)
		if i == 1 && !s.reached(ResponseChunk) {
			return
		}
		if r.Cut == i {
			s.gone = true
			return
		}
	}
	s.reached(Responded)
}

// chunkBytes is the size of a response chunk.
const chunkBytes = 100

func (s *Stream) responseChunk(attempt, last bool) {
	w := s.w
	var a filter.Action
	if attempt && w.enter(s.attempt, s) != nil {
		a = w.mod.ResponseBody(s.attempt, chunkBytes, last)
	}
	if w.enter(s.down, s) != nil {
		a |= w.mod.ResponseBody(s.down, chunkBytes, last)
	}
	if a != filter.Continue {
		w.p.Fault("a response chunk was paused")
	}
}
