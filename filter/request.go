package filter

import (
	"github.com/zerohop/zerohop/filter/pairs"
	"github.com/zerohop/zerohop/filter/scan"
	"github.com/zerohop/zerohop/shared/names"
	"github.com/zerohop/zerohop/shared/plan"
)

// bodyWindow is how much of the body is read from Envoy at once.
const bodyWindow = 64 << 10

// RequestHeaders handles proxy_on_request_headers of either filter.
func (v *VM) RequestHeaders(id uint32, endOfStream bool) Action {
	ref, _, ok := v.contexts.get(id)
	if !ok || v.sched == nil {
		return Continue
	}
	if ref < 0 {
		return v.attemptHeaders(id)
	}
	s := &v.streams[ref]
	s.reason = v.readHeaders(s)
	switch {
	case endOfStream:
		if s.reason == reasonScored {
			s.reason = reasonNoBody
		}
	case s.reason == reasonScored && v.blind.on:
		s.reason = reasonNoBodyCallbacks
	case s.reason == reasonScored:
		if v.acquireScanner(s) {
			v.blind.waiting = true
			s.block = v.sched.BlockTokens()
			v.scanners[s.scanner].Reset(s.api, s.block, v.sched.MaxBlocks())
			s.phase = phaseBody
			return Pause
		}
		s.reason = reasonScannersBusy
	}
	return v.decide(s, ref, v.host.Now())
}

// RequestBody handles proxy_on_request_body; size is the number of body bytes that Envoy holds, from the start of the body.
func (v *VM) RequestBody(id uint32, size int, endOfStream bool) Action {
	s, ref, attempt := v.lookup(id)
	if s == nil || attempt {
		return Continue
	}
	v.blind = blind{seen: true}
	if s.phase == phaseDecided {
		return Continue
	}
	if s.phase != phaseBody {
		return Pause
	}
	var start uint64
	if endOfStream {
		start = v.host.Now()
	}
	v.feed(s, size)
	if !endOfStream {
		return Pause
	}
	return v.finish(s, ref, start)
}

// RequestTrailers handles proxy_on_request_trailers: with trailers no body callback says that the stream ended.
func (v *VM) RequestTrailers(id uint32) Action {
	s, ref, attempt := v.lookup(id)
	if s == nil || attempt {
		return Continue
	}
	v.blind = blind{seen: true}
	for i := range names.Stripped {
		v.host.RemoveRequestTrailer(names.Stripped[i])
	}
	if s.phase == phaseBody {
		return v.finish(s, ref, v.host.Now())
	}
	if s.phase == phaseRefused {
		return Pause
	}
	return Continue
}

// feed scans what is new of a body of size bytes.
func (v *VM) feed(s *stream, size int) {
	sc := v.scanners[s.scanner]
	for s.seen < size {
		b := v.host.Body(s.seen, min(size-s.seen, bodyWindow))
		if len(b) == 0 {
			return
		}
		s.seen += len(b)
		v.stats.n[cBodyBytes] += int64(len(b))
		sc.Write(b, &v.body)
	}
}

// finish ends the scan and decides. start is the time at which the last callback began.
func (v *VM) finish(s *stream, ref int32, start uint64) Action {
	sc := v.scanners[s.scanner]
	s.reason = scanReasons[sc.Finish(&v.body)]
	if v.plan.Parity == plan.ParityEPP {
		if s.reason == reasonScored && len(sc.Model()) == 0 {
			s.reason = reasonNoModel
		}
		if text := badRequest(s.reason); text != nil {
			v.stats.n[cRejected]++
			return v.reject(s, ref, text)
		}
	}
	return v.decide(s, ref, start)
}

// bodySource lets the scanner read the buffered body again.
type bodySource struct{ host Host }

// Body implements scan.Source.
func (b *bodySource) Body(off, limit int) []byte { return b.host.Body(off, min(limit, bodyWindow)) }

// readHeaders finds out what kind of request s is, and removes headers that only the filter may set. It returns
// reasonScored if the body is to be scanned.
func (v *VM) readHeaders(s *stream) reason {
	var path []byte
	post := false
	var ours [len(names.Stripped)]bool
	found := false
	r := pairs.Read(v.host.RequestHeaders())
	for {
		key, value, ok := r.Next()
		if !ok {
			break
		}
		switch {
		case len(key) == 0:
		case key[0] == ':':
			switch string(key) {
			case ":path":
				path = value
			case ":method":
				post = string(value) == "POST"
			}
		case key[0] == 'x':
			for i := range names.Stripped {
				if string(key) == names.Stripped[i] {
					ours[i], found = true, true
				}
			}
		}
	}
	api, known := apiOf(path)
	if found {
		v.strip(&ours)
	}
	s.api = api
	switch {
	case !known:
		return reasonUnknownPath
	case !post:
		return reasonNoBody
	}
	return reasonScored
}

func (v *VM) strip(ours *[len(names.Stripped)]bool) {
	v.stats.n[cStripped]++
	for i := range ours {
		if ours[i] {
			v.host.RemoveRequestHeader(names.Stripped[i])
		}
	}
}

// apiOf tells the dialect by the end of the path, as the EPP does: query and one trailing slash do not count.
func apiOf(path []byte) (scan.API, bool) {
	for i, c := range path {
		if c == '?' {
			path = path[:i]
			break
		}
	}
	if n := len(path); n > 0 && path[n-1] == '/' {
		path = path[:n-1]
	}
	switch {
	case hasSuffix(path, "chat/completions"):
		return scan.Chat, true
	case hasSuffix(path, "completions"):
		return scan.Completions, true
	}
	return 0, false
}

func hasSuffix(b []byte, suffix string) bool {
	return len(b) >= len(suffix) && string(b[len(b)-len(suffix):]) == suffix
}
