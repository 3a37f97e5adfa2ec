package report

import (
	"encoding/binary"
	"slices"
)

// AppendRecord appends the record of w to dst and returns the extended slice; on error it returns dst unchanged. Endpoints
// that the worker never touched may be left out. fallbacks counts the requests per reason, in the order of the names that
// the leader gives to AppendReport. Nothing is kept.
func AppendRecord(dst []byte, w *Worker, eps []Endpoint, fallbacks []uint64) ([]byte, error) {
	if len(eps) > MaxEndpoints || len(fallbacks) > MaxReasons {
		return dst, ErrTooLarge
	}
	if w.Epoch == 0 {
		return dst, ErrID
	}
	for i := range eps {
		if eps[i].ID == 0 {
			return dst, ErrID
		}
	}
	start, total := len(dst), recHeaderLen+len(eps)*epLen+len(fallbacks)*fallbackLen
	out := slices.Grow(dst, total)[:start+total]
	b := out[start:]
	putWorker(b, w, len(eps), len(fallbacks))
	rest := b[recHeaderLen:]
	for i := range eps {
		putEndpoint(rest, &eps[i])
		rest = rest[epLen:]
	}
	for _, n := range fallbacks {
		binary.LittleEndian.PutUint64(rest, n)
		rest = rest[fallbackLen:]
	}
	seal(b, MagicRecord, recHeaderLen)
	return out, nil
}

func putWorker(b []byte, w *Worker, endpoints, fallbacks int) {
	b, le := b[:recHeaderLen], binary.LittleEndian // one check of the bounds for all
	le.PutUint16(b[recEndpointLen:], epLen)
	le.PutUint32(b[recCount:], uint32(endpoints))
	le.PutUint16(b[recFallbacks:], uint16(fallbacks))
	le.PutUint16(b[recFlags:], w.Flags)
	le.PutUint64(b[recEpoch:], w.Epoch)
	le.PutUint64(b[recAt:], w.At)
	le.PutUint64(b[recRevision:], w.Revision)
	le.PutUint64(b[recSnapshot:], w.Snapshot)
	le.PutUint64(b[recPicks:], w.Picks)
	le.PutUint64(b[recRetries:], w.Retries)
	le.PutUint64(b[recFailures:], w.Failures)
	le.PutUint16(b[recPlanMin:], w.PlanMin)
	le.PutUint16(b[recPlanMax:], w.PlanMax)
	le.PutUint16(b[recNumber:], w.Number)
	le.PutUint16(b[recNumber+2:], 0)
}

func putEndpoint(b []byte, e *Endpoint) {
	b, le := b[:epLen], binary.LittleEndian
	le.PutUint64(b[epID:], e.ID)
	le.PutUint64(b[epTokens:], e.InFlightTokens)
	le.PutUint64(b[epPicks:], e.Picks)
	le.PutUint64(b[epFallbacks:], e.Fallbacks)
	le.PutUint64(b[epFailures:], e.Failures)
	le.PutUint32(b[epInFlight:], e.InFlight)
	le.PutUint16(b[epFlags:], e.Flags)
	le.PutUint16(b[epFlags+2:], 0)
}

// Record reads an encoded record in place; see OpenRecord. The zero Record is that of no worker and has no endpoint.
type Record struct {
	header    []byte
	endpoints []byte
	counters  []byte
	stride    int // endpoint length
}

// OpenRecord validates b completely, so that reading the Record cannot fail, and returns a Record that reads b in place: b
// must not change for as long as the Record is used.
func OpenRecord(b []byte) (Record, error) {
	headerLen, err := unseal(b, MagicRecord, recHeaderLen)
	if err != nil {
		return Record{}, err
	}
	h, le := b[:recHeaderLen], binary.LittleEndian
	stride, count := uint64(le.Uint16(h[recEndpointLen:])), uint64(le.Uint32(h[recCount:]))
	fallbacks := uint64(le.Uint16(h[recFallbacks:]))
	if count > MaxEndpoints || fallbacks > MaxReasons {
		return Record{}, ErrTooLarge
	}
	counters := uint64(headerLen) + count*stride
	end := counters + fallbacks*fallbackLen
	if stride < epLen || end > uint64(len(b)) {
		return Record{}, ErrLength
	}
	r := Record{header: b[:headerLen], endpoints: b[headerLen:counters], counters: b[counters:end], stride: int(stride)}
	if le.Uint64(h[recEpoch:]) == 0 {
		return Record{}, ErrID
	}
	for i := range r.Len() {
		if r.ID(i) == 0 {
			return Record{}, ErrID
		}
	}
	return r, nil
}

// Worker fills w with what the worker says of itself.
func (r Record) Worker(w *Worker) {
	if r.header == nil {
		*w = Worker{}
		return
	}
	h, le := r.header[:recHeaderLen], binary.LittleEndian
	w.Flags = le.Uint16(h[recFlags:])
	w.Epoch = le.Uint64(h[recEpoch:])
	w.At = le.Uint64(h[recAt:])
	w.Revision = le.Uint64(h[recRevision:])
	w.Snapshot = le.Uint64(h[recSnapshot:])
	w.Picks = le.Uint64(h[recPicks:])
	w.Retries = le.Uint64(h[recRetries:])
	w.Failures = le.Uint64(h[recFailures:])
	w.PlanMin = le.Uint16(h[recPlanMin:])
	w.PlanMax = le.Uint16(h[recPlanMax:])
	w.Number = le.Uint16(h[recNumber:])
}

// Len returns the number of endpoints.
func (r Record) Len() int {
	if r.stride == 0 {
		return 0
	}
	return len(r.endpoints) / r.stride
}

// ID returns the id of endpoint i, 0 <= i < Len.
func (r Record) ID(i int) uint64 { return binary.LittleEndian.Uint64(r.endpoints[i*r.stride+epID:]) }

// Endpoint fills e with endpoint i, 0 <= i < Len.
func (r Record) Endpoint(i int, e *Endpoint) {
	b, le := r.endpoints[i*r.stride:][:epLen], binary.LittleEndian
	e.ID = le.Uint64(b[epID:])
	e.InFlightTokens = le.Uint64(b[epTokens:])
	e.Picks = le.Uint64(b[epPicks:])
	e.Fallbacks = le.Uint64(b[epFallbacks:])
	e.Failures = le.Uint64(b[epFailures:])
	e.InFlight = le.Uint32(b[epInFlight:])
	e.Flags = le.Uint16(b[epFlags:])
}

// Reasons returns the number of fallback counters.
func (r Record) Reasons() int { return len(r.counters) / fallbackLen }

// Fallbacks returns the count of reason i, 0 <= i < Reasons.
func (r Record) Fallbacks(i int) uint64 {
	return binary.LittleEndian.Uint64(r.counters[i*fallbackLen:])
}
