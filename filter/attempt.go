package filter

import "github.com/zerohop/zerohop/shared/names"

// attemptHeaders handles the request headers of one attempt: Envoy has chosen the host by what was announced before, and
// reads the destination again only for the next attempt. So the current attempt is booked, and the one after it announced.
func (v *VM) attemptHeaders(id uint32) Action {
	ref := v.findStream(v.host.Property(names.StateStream))
	if ref == attemptUnknown {
		v.strayAttempt()
		return Continue
	}
	s := &v.streams[ref]
	v.contexts.put(id, attemptRef(ref), s.serial)
	now := v.host.Now()
	if s.attempts && s.nextTry >= 0 {
		v.sched.Retry(now, &s.d, s.nextTry)
		s.responded, s.firstByte = false, false
		v.stats.n[cRetries]++
		v.host.SetProperty(names.StatePick, v.pickLine(s))
	}
	s.attempts = true
	s.nextTry = v.sched.Next(now, &s.d)
	if s.nextTry < 0 {
		s.nextTry = s.d.Cur
	}
	v.host.SetDestination(v.sched.Address(s.nextTry))
	v.host.RemoveRequestHeader(names.HeaderDestination)
	return Continue
}

// strayAttempt serves an attempt whose stream is not known, as after a reload of the VM: it keeps the destination for
// retries and hides the header from the model server.
func (v *VM) strayAttempt() {
	v.stats.n[cStrayAttempts]++
	if addr := v.host.RequestHeader(names.HeaderDestination); addr != nil {
		v.line = append(v.line[:0], addr...)
		v.host.SetDestination(v.line)
		v.host.RemoveRequestHeader(names.HeaderDestination)
	}
}

// ResponseHeaders handles proxy_on_response_headers of either filter. The attempt filter sees every endpoint's answer;
// where it is not installed, the downstream filter's view has to do.
func (v *VM) ResponseHeaders(id uint32, endOfStream bool) Action {
	s, _, attempt := v.lookup(id)
	if s == nil {
		return Continue
	}
	if attempt || !s.attempts {
		v.answered(s, endOfStream)
	}
	if !attempt {
		s.replied = true
	}
	return Continue
}

// answered books the response status of the current attempt.
func (v *VM) answered(s *stream, endOfStream bool) {
	if s.d.Cur < 0 {
		return
	}
	s.responded = true
	now := v.host.Now()
	v.sched.Status(now, &s.d, statusCode(v.host.ResponseHeader(":status")))
	if endOfStream {
		v.sched.FirstByte(now, &s.d)
	}
}

// ResponseBody handles proxy_on_response_body: the first chunk ends the prefill.
func (v *VM) ResponseBody(id uint32) Action {
	s, _, attempt := v.lookup(id)
	if s != nil && s.responded && !s.firstByte && (attempt || !s.attempts) {
		s.firstByte = true
		v.sched.FirstByte(v.host.Now(), &s.d)
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
