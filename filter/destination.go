package filter

import (
	"github.com/zerohop/zerohop/shared/names"
	"github.com/zerohop/zerohop/shared/plan"
)

// destination says how Envoy was told where a request is to go. Each stream keeps its own, so that a request that was decided
// under one plan is retried properly under the next.
type destination uint8

const (
	byHeader      destination = iota // one address in the header
	byFilterState                    // one address in the filter state; no header
	byList                           // several addresses in the header; Envoy itself takes the next for a retry
)

// destinationOf translates a plan's mode.
func destinationOf(mode string) destination {
	switch mode {
	case plan.DestinationFilterState:
		return byFilterState
	case plan.DestinationList:
		return byList
	}
	return byHeader
}

// retryOn is what makes Envoy send a request again that may have reached a server: whatever ends an attempt before the response,
// a first byte that is late included, and 503. Routes name the status, which means nothing without this.
const retryOn = "reset,retriable-status-codes"

// allow tells Envoy what else than its route says is good for a retry of s, and how long its first byte may take.
func (v *VM) allow(s *stream) {
	if s.safe || v.plan.Attempts.Retries == plan.RetryUnanswered {
		v.host.ReplaceRequestHeader(names.HeaderRetryOn, v.retryOn)
	}
	if s.d.Streams && len(v.firstByte) > 0 {
		v.host.ReplaceRequestHeader(names.HeaderFirstByte, v.firstByte)
	}
}

// send tells Envoy where s is to go.
func (v *VM) send(now uint64, s *stream) {
	addr := v.sched.Address(s.d.Cur)
	s.how = v.how
	switch s.how {
	case byHeader:
		v.host.ReplaceRequestHeader(names.HeaderDestination, addr)
	case byList:
		v.host.ReplaceRequestHeader(names.HeaderDestination, v.list(now, s))
	default:
		if !v.host.SetDestination(addr) {
			v.stats.n[cHostErrors]++
			v.fallBack(s.ctx)
		}
	}
}

// list returns the picked address and those that are to be tried after it, and marks s as sent by one header if there are
// none, or if no others may get the request: after a list comes Envoy's own policy, which knows nothing of that. The result
// is valid until the next call that formats a line.
func (v *VM) list(now uint64, s *stream) []byte {
	var slots [plan.ListLength]int32
	slots[0] = s.d.Cur
	b := append(v.line[:0], v.sched.Address(s.d.Cur)...)
	s.how = byHeader
	if s.d.Bound {
		v.line = b
		return b
	}
	for _, slot := range v.sched.Following(now, &s.d, slots[:1])[1:] {
		b = append(append(b, ','), v.sched.Address(slot)...)
		s.how = byList
	}
	v.line = b
	return b
}

// fallBack sends the request to the fallback cluster.
func (v *VM) fallBack(ctx uint32) {
	if !v.host.Use(ctx) {
		return
	}
	v.host.RemoveRequestHeader(names.HeaderDestination)
	v.host.ReplaceRequestHeader(names.HeaderFallback, one[:])
}

var one = [1]byte{'1'}
