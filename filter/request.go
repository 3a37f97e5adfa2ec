package filter

import (
	"math/bits"

	"github.com/zerohop/zerohop/filter/pairs"
	"github.com/zerohop/zerohop/filter/scan"
	"github.com/zerohop/zerohop/scorers"
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
	s.reason, s.hasBody = v.readHeaders(s), !endOfStream
	switch {
	case s.asked == askedForeign || s.asked == askedByOther:
		return v.rejectDryRun(s)
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
			switch s.asked {
			case askedDryRun:
				return v.answerDryRun(s, start, &answer{reason: s.reason, status: text.status})
			case askedHeaders:
				v.takeNote(s, start, s.reason, false)
			}
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

// readHeaders finds out what kind of request s is, keeps the headers that plugins read, and removes those that are not to go
// on. It returns reasonScored if the body is to be scanned.
func (v *VM) readHeaders(s *stream) reason {
	var path []byte
	post := false
	s.safe = false
	found := uint64(0) // by the bits of v.interest
	ask := false
	r := pairs.Read(v.host.RequestHeaders())
	for {
		key, value, ok := r.Next()
		if !ok {
			break
		}
		if m := v.interest.byLen[min(len(key), longNames)]; m != 0 {
			if i := v.interest.find(m, key); i >= 0 {
				found |= 1 << i
				if v.interest.cookie>>i&1 != 0 {
					v.captureCookies(s, value)
				}
				if i < v.interest.count {
					v.capture(s, scorers.HeaderID(i), value)
				} else if v.interest.explain>>i&1 != 0 {
					ask = string(value) == names.ExplainHeaders
				}
			}
		}
		if len(key) > 0 && key[0] == ':' {
			switch string(key) {
			case ":path":
				path = value
			case ":method":
				switch string(value) {
				case "POST":
					post = true
				case "GET", "HEAD", "OPTIONS":
					s.safe = true
				}
			}
		}
	}
	dry := false
	if v.interest.explain != 0 {
		if about, is := isDryRun(path); is {
			dry = true
			v.line = append(v.line[:0], about...)
			path = unescape(v.line)
		}
	}
	api, known := apiOf(path)
	if ask || dry {
		v.ask(s, ask, dry, post)
	}
	if found &= v.interest.removed; found != 0 {
		v.strip(found)
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

// strip removes the request headers whose bits are in m.
func (v *VM) strip(m uint64) {
	if m&v.interest.forged != 0 {
		v.stats.n[cStripped]++
	}
	for ; m != 0; m &= m - 1 {
		v.host.RemoveRequestHeader(v.interest.names[bits.TrailingZeros64(m)])
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

func hasPrefix(b []byte, prefix string) bool {
	return len(b) >= len(prefix) && string(b[:len(prefix)]) == prefix
}
