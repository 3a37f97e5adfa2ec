package hosttest

import (
	"slices"
	"strings"
	"time"

	"github.com/zerohop/zerohop/filter"
	"github.com/zerohop/zerohop/shared/names"
)

// retryPause is the time between a failed attempt and the next.
const retryPause = 10 * time.Millisecond

// Forward plays the router: the route, the attempts and the response. The route table is that of envoy.yaml.
func (s *Stream) Forward() {
	s.instruct()
	switch dest, _ := s.fields.First(names.HeaderDestination); {
	case s.gone || s.res.Route != "":
	case s.fields.Has(names.HeaderFallback):
		s.res.Route = ToFallback
		s.fields.remove(names.HeaderFallback)
		s.sent()
		s.respond(s.reply("", 0), false)
	default:
		s.res.Route = ToEndpoint
		s.listed = strings.Contains(dest, ",")
		s.tryAll()
	}
}

// host is the choice of the cluster. ORIGINAL_DST looks at the filter state first, then at the header.
func (s *Stream) host() string {
	if s.listed {
		return s.listedHost()
	}
	if s.destination != "" {
		return s.destination
	}
	addr, _ := s.fields.First(names.HeaderDestination)
	return addr
}

// listedHost is the choice of the override_host cluster: it reads the header at the first attempt only, and each attempt takes
// the next address of a host that the cluster has.
func (s *Stream) listedHost() string {
	if s.list == "" && len(s.res.Hosts) == 0 {
		s.list, _ = s.fields.First(names.HeaderDestination)
	}
	for s.list != "" {
		var addr string
		addr, s.list, _ = strings.Cut(s.list, ",")
		if s.w.Lacks == nil || !s.w.Lacks(addr) {
			return addr
		}
	}
	for range s.w.Others { // as with retry host predicate previous_hosts
		s.w.turn++
		if addr := s.w.Others[s.w.turn%len(s.w.Others)]; !slices.Contains(s.res.Hosts, addr) {
			return addr
		}
	}
	return ""
}

// instruct lets the router read and remove what it is told about attempts.
func (s *Stream) instruct() {
	s.res.RetryOn, _ = s.fields.First(names.HeaderRetryOn)
	s.res.FirstByte, _ = s.fields.First(names.HeaderFirstByte)
	s.fields.remove(names.HeaderRetryOn)
	s.fields.remove(names.HeaderFirstByte)
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
	s.extra = r.Headers
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
	s.extra = r.Headers
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
