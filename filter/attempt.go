package filter

import (
	"github.com/zerohop/zerohop/shared/names"
	"github.com/zerohop/zerohop/shared/plan"
	"github.com/zerohop/zerohop/shared/snapshot"
)

// attemptHeaders handles the request headers of one attempt. Envoy has chosen its host already: by the pick for the first,
// and by what announce wrote for a retry, which is booked now.
func (v *VM) attemptHeaders(id uint32) Action {
	ref := v.findStream(v.host.Property(names.StatePick))
	if ref == attemptUnknown {
		v.strayAttempt()
		return Continue
	}
	s := &v.streams[ref]
	v.contexts.put(id, attemptRef(ref), s.serial)
	if !s.attempts {
		s.attempts = true
		if v.plan.Destination == plan.DestinationHeader {
			v.host.RemoveRequestHeader(names.HeaderDestination)
		}
		return Continue
	}
	if s.nextTry < 0 {
		return Continue // let go without a pick
	}
	v.sched.Retry(v.host.Now(), &s.d, s.nextTry, s.nextGen)
	s.nextTry, s.nextGen = s.d.Cur, s.d.CurGen
	s.responded, s.firstByte, s.announced = false, false, false
	v.stats.n[cRetries]++
	v.host.SetProperty(names.StatePick, v.pickLine(s, ref))
	return Continue
}

// announce tells Envoy where a retry is to go. It is called as soon as the current attempt can be seen to fail, which is
// before Envoy chooses the host of the next one, so that requests that succeed at once do not pay for it.
func (v *VM) announce(s *stream, ref int32) {
	if s.announced {
		return
	}
	v.announcing = ref
	s.announced = true
	if !v.host.Use(s.ctx) {
		v.announcing = -1
		return
	}
	next := v.sched.Next(v.host.Now(), &s.d)
	if next < 0 {
		next = s.d.Cur
	}
	if next < 0 {
		v.announcing = -1
		return
	}
	s.nextTry, s.nextGen = next, v.sched.Gen(next)
	if !v.host.SetDestination(v.sched.Address(s.nextTry)) {
		v.stats.n[cHostErrors]++
		s.nextTry, s.nextGen = s.d.Cur, s.d.CurGen
	}
	v.announcing = -1
}

// announceSame serves a stream whose announce panicked: a retry goes to the same endpoint rather than nowhere.
func (v *VM) announceSame() {
	s := &v.streams[v.announcing]
	v.announcing = -1
	if s.d.Cur < 0 {
		return
	}
	s.nextTry, s.nextGen = s.d.Cur, v.sched.Gen(s.d.Cur)
	if v.host.Use(s.ctx) {
		v.host.SetDestination(v.sched.Address(s.d.Cur))
	}
}

// strayAttempt serves an attempt whose stream is not known, as after a reload of the VM: it keeps the destination for
// retries and hides the header from the model server.
func (v *VM) strayAttempt() {
	v.stats.n[cStrayAttempts]++
	if v.plan == nil || v.plan.Destination != plan.DestinationHeader {
		return
	}
	addr := v.host.RequestHeader(names.HeaderDestination)
	if addr == nil {
		return
	}
	if snapshot.ValidAddress(addr) {
		v.line = append(v.line[:0], addr...)
		if !v.host.SetDestination(v.line) {
			v.stats.n[cHostErrors]++
		}
	}
	v.host.RemoveRequestHeader(names.HeaderDestination)
}

// ResponseHeaders handles proxy_on_response_headers of either filter. The attempt filter sees every endpoint's answer;
// where it is not installed, the downstream filter's view has to do.
func (v *VM) ResponseHeaders(id uint32, endOfStream bool) Action {
	s, ref, attempt := v.lookup(id)
	if s == nil {
		return Continue
	}
	if attempt || (!s.attempts && v.fromEndpoint()) {
		code := v.answered(s, endOfStream)
		if attempt && code >= 400 {
			v.announce(s, ref)
		}
	}
	if !attempt {
		s.replied = true
	}
	return Continue
}

// fromEndpoint reports whether a response seen downstream has to do with an endpoint, and is not a local reply of another
// filter.
func (v *VM) fromEndpoint() bool { return v.host.Property(names.PropertyUpstreamAddress) != nil }

// answered books the response status of the current attempt and returns it.
func (v *VM) answered(s *stream, endOfStream bool) int {
	if s.d.Cur < 0 {
		return 0
	}
	s.responded = true
	code := statusCode(v.host.ResponseHeader(":status"))
	v.sched.Status(v.host.Now(), &s.d, code)
	if endOfStream {
		s.firstByte = true
		v.sched.FirstByte(&s.d)
	}
	return code
}

// ResponseBody handles proxy_on_response_body: the first chunk ends the prefill.
func (v *VM) ResponseBody(id uint32) Action {
	s, _, attempt := v.lookup(id)
	if s != nil && s.responded && !s.firstByte && (attempt || !s.attempts) {
		s.firstByte = true
		v.sched.FirstByte(&s.d)
	}
	return Continue
}

// statusCode reads a three-digit status; 0 if it is none.
func statusCode(b []byte) int {
	if len(b) != 3 {
		return 0
	}
	n := 0
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0
		}
		n = n*10 + int(c-'0')
	}
	return n
}
