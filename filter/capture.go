package filter

import (
	"math/bits"
	"slices"

	"github.com/zerohop/zerohop/scorers"
	"github.com/zerohop/zerohop/shared/names"
	"github.com/zerohop/zerohop/shared/plan"
)

// Bounds of the headers that are kept for plugins between the headers callback and the decision.
const (
	maxCaptures   = 4096    // requests whose headers are kept at the same time
	captureBytes  = 2 << 10 // of values of one request
	maxHeaderText = 1 << 10 // of one value
)

// noCapture says that a stream has no headers kept.
const noCapture = -1

// longNames is the place in interest.byLen of names that have this many bytes or more.
const longNames = 64

// interest says which request headers matter: those that plugins asked for, and those that the filter removes. Names of
// other lengths cost one look into byLen. It is made once per configuration.
type interest struct {
	byLen [longNames + 1]uint64 // bit i: names[i] has that length
	names []string              // those of plugins first, by HeaderID
	count int                   // of those of plugins

	forged  uint64 // those that only the filter may set
	removed uint64 // those that are not to reach a model server
	explain uint64 // names.HeaderExplain, if it means something
	cookies uint64 // entries of plugins that are one cookie each
	cookie  uint64 // the header that has them, if there are any
}

// newInterest returns the interest of a plan whose plugins want the given headers.
func newInterest(wanted []string, p *plan.Plan) interest {
	n := interest{names: append([]string(nil), wanted...), count: len(wanted)}
	for _, name := range names.Stripped {
		n.forged |= n.bit(name)
	}
	n.removed = n.forged
	if p.Parity != plan.ParityEPP {
		for _, name := range names.SystemOwned {
			n.removed |= n.bit(name)
		}
	}
	if len(p.Explain.Networks) > 0 {
		n.explain = n.bit(names.HeaderExplain)
		n.removed |= n.explain
	}
	for i, name := range wanted {
		if scorers.CookieName(name) != "" {
			n.cookies |= 1 << i
			n.cookie = n.bit("cookie")
		}
	}
	for i, name := range n.names {
		if n.cookies>>i&1 == 0 {
			n.byLen[min(len(name), longNames)] |= 1 << i
		}
	}
	return n
}

// bit returns the bit of name, which is added if it is not there. There are never more than 64 names.
//
//go:noinline
func (n *interest) bit(name string) uint64 {
	for i := range n.names {
		if n.names[i] == name {
			return 1 << i
		}
	}
	n.names = append(n.names, name)
	return 1 << (len(n.names) - 1)
}

// find returns the index of key among the names whose bits are in m, or -1.
func (n *interest) find(m uint64, key []byte) int {
	for ; m != 0; m &= m - 1 {
		if i := bits.TrailingZeros64(m); string(key) == n.names[i] {
			return i
		}
	}
	return -1
}

// capture keeps the value of a header that plugins asked for. value is a view that the next host call takes away, and the
// decision comes after the body.
func (v *VM) capture(s *stream, id scorers.HeaderID, value []byte) {
	if s.capture == noCapture && !v.acquireCapture(s) {
		v.stats.n[cHeadersDropped]++
		return
	}
	limit := captureBytes
	if len(value) > maxHeaderText {
		limit = -1 // absent, also if there was another value before
	}
	if !v.captures[s.capture].Set(id, value, limit) {
		v.stats.n[cHeadersDropped]++
	}
}

// captureCookies keeps the cookies in one header that plugins asked for. Of several with one name the first counts.
func (v *VM) captureCookies(s *stream, header []byte) {
	for m := v.interest.cookies; m != 0; m &= m - 1 {
		id := bits.TrailingZeros64(m)
		value := scorers.Cookie(header, scorers.CookieName(v.interest.names[id]))
		if kept := v.headers(s); value != nil && kept.Get(scorers.HeaderID(id)) == nil {
			v.capture(s, scorers.HeaderID(id), value)
		}
	}
}

// acquireCapture gives s a buffer for headers and reports whether there was one.
func (v *VM) acquireCapture(s *stream) bool {
	n := len(v.freeCaptures)
	if n == 0 {
		if len(v.captures) >= maxCaptures {
			return false
		}
		v.captures = append(v.captures, scorers.Headers{})
		v.freeCaptures = append(v.freeCaptures, int32(len(v.captures)-1))
		n = 1
	}
	s.capture = v.freeCaptures[n-1]
	v.freeCaptures = v.freeCaptures[:n-1]
	v.captures[s.capture].Reset(v.interest.count)
	return true
}

func (v *VM) releaseCapture(s *stream) {
	if s.capture != noCapture {
		v.freeCaptures = append(v.freeCaptures, s.capture)
		s.capture = noCapture
	}
}

// headers returns what was kept of the request headers of s.
func (v *VM) headers(s *stream) scorers.Headers {
	if s.capture == noCapture {
		return scorers.Headers{}
	}
	return v.captures[s.capture]
}

// watchHeaders makes what a plan wants of request headers known. Requests that are being received keep the values of those
// headers that the plan before wanted too.
func (v *VM) watchHeaders(wanted []string, p *plan.Plan) {
	old := v.interest
	v.interest = newInterest(wanted, p)
	if slices.Equal(old.names[:old.count], wanted) {
		return
	}
	for i := range v.captures {
		var h scorers.Headers
		h.Reset(len(wanted))
		for id, name := range wanted {
			for was := range old.count {
				if b := v.captures[i].Get(scorers.HeaderID(was)); b != nil && old.names[was] == name {
					h.Set(scorers.HeaderID(id), b, captureBytes)
				}
			}
		}
		v.captures[i] = h
	}
}
