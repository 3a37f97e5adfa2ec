package filter

import (
	"github.com/zerohop/zerohop/shared/names"
	"github.com/zerohop/zerohop/shared/snapshot"
)

// attemptHeaders handles the request headers of one attempt. Envoy has chosen its host already: by the pick for the first,
// and by what announce wrote for a retry, which is booked now.
func (v *VM) attemptHeaders(id uint32) Action {
	pick := v.host.Property(names.StatePick)
	ref := v.findStream(pick)
	if ref == attemptUnknown {
		v.strayAttempt()
		return Continue
	}
	s := &v.streams[ref]
	v.contexts.put(id, attemptRef(ref), s.serial)
	first := !s.attempts
	if !first || s.how == byList {
		v.keepFacts(pick)
	}
	s.attempts = true
	if first && s.how != byFilterState {
		v.host.RemoveRequestHeader(names.HeaderDestination)
	}
	if s.how == byList {
		v.attemptListed(s, first)
		return Continue
	}
	if first {
		return Continue
	}
	if s.nextTry < 0 {
		return Continue // let go without a pick
	}
	v.retry(s, s.nextTry, s.nextGen)
	return Continue
}

// retry books an attempt after the first.
func (v *VM) retry(s *stream, slot int32, gen uint32) {
	v.sched.Retry(v.clock(), &s.d, slot, gen)
	s.nextTry, s.nextGen = s.d.Cur, s.d.CurGen
	s.responded, s.firstByte, s.announced = false, false, false
	v.stats.n[cRetries]++
	v.logAttempt(s)
	v.publish()
}

// attemptListed handles an attempt of a request that was sent by a list. Envoy has taken the next address that its cluster
// knows, or one by the cluster's fallback policy, and says which.
func (v *VM) attemptListed(s *stream, first bool) {
	if s.d.Attempt == 0 {
		return // let go without a pick
	}
	slot := v.sched.Find(&s.d, v.host.Property(names.PropertyUpstreamAddress))
	if first {
		if v.sched.Redirect(v.clock(), &s.d, slot) {
			v.logAttempt(s)
			v.publish()
		}
		return
	}
	gen := uint32(0) // of no endpoint
	if slot >= 0 {
		gen = v.sched.Gen(slot)
	}
	v.retry(s, slot, gen)
}

// announce tells Envoy where a retry is to go. It is called as soon as the current attempt can be seen to fail, which is
// before Envoy chooses the host of the next one, so that requests that succeed at once do not pay for it.
func (v *VM) announce(s *stream, ref int32) {
	if s.announced || s.how == byList {
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
// retries and hides the header from the model server. A list is in Envoy's hands already.
func (v *VM) strayAttempt() {
	v.stats.n[cStrayAttempts]++
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
	if attempt || (!s.attempts && v.fromEndpoint(s)) {
		code := v.answered(s, endOfStream)
		if attempt && code >= 400 {
			v.announce(s, ref)
		}
	}
	if !attempt {
		v.decorate(s)
		s.replied = true
	}
	v.publish()
	return Continue
}

// fromEndpoint reports whether a response seen downstream has to do with an endpoint, and is not a local reply of another
// filter. Of a request that was sent by a list it finds out which endpoint answered.
func (v *VM) fromEndpoint(s *stream) bool {
	addr := v.host.Property(names.PropertyUpstreamAddress)
	if addr != nil && s.how == byList {
		slot := v.sched.Find(&s.d, addr) // before the next host call takes addr away
		v.sched.Redirect(v.clock(), &s.d, slot)
	}
	return addr != nil
}

// answered books the response status of the current attempt and returns it.
func (v *VM) answered(s *stream, endOfStream bool) int {
	if s.d.Cur < 0 {
		return 0
	}
	s.responded = true
	code := statusCode(v.host.ResponseHeader(":status"))
	now := v.clock()
	v.sched.Status(now, &s.d, code)
	if endOfStream {
		s.firstByte = true
		v.sched.Began(now, &s.d)
	}
	return code
}

// ResponseBody handles proxy_on_response_body: the first chunk ends the prefill.
func (v *VM) ResponseBody(id uint32) Action {
	s, _, attempt := v.lookup(id)
	if s != nil && s.responded && !s.firstByte && (attempt || !s.attempts) {
		s.firstByte = true
		now := uint64(0) // of use for streams only
		if s.d.Streams {
			now = v.clock()
		}
		v.sched.Began(now, &s.d)
		v.publish()
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
