package report

import (
	"encoding/binary"
	"math"
	"slices"
)

// AppendReport appends the report of one Envoy process to dst and returns the extended slice and how many of the records
// it has. process is the same number in all reports of a process and differs between processes. nowNs is read from the
// clock that stamped the records. reasons names the fallback counters: more may follow in a later module, at the end only.
// Records are taken from the front until MaxReport is reached; the caller begins its next report with the first one that
// was left out, so that all get their turn. They must be what AppendRecord wrote; they are copied, not validated. On error
// dst is returned unchanged.
func AppendReport(dst []byte, process, nowNs uint64, reasons []string, records [][]byte) (out []byte, taken int, err error) {
	reasonsLen := 0
	if len(reasons) > MaxReasons {
		return dst, 0, ErrTooLarge
	}
	for _, name := range reasons {
		if !validReason(name) {
			return dst, 0, ErrReason
		}
		reasonsLen += 1 + len(name)
	}
	total := repHeaderLen + reasonsLen
	for _, r := range records {
		if len(r) < recHeaderLen {
			return dst, 0, ErrTruncated
		}
		if total+entryLen+len(r) > MaxReport {
			break
		}
		total += entryLen + len(r)
		taken++
	}
	start := len(dst)
	out = slices.Grow(dst, total)[:start+total]
	b, le := out[start:], binary.LittleEndian
	h, b := b[:repHeaderLen], b[repHeaderLen:]
	le.PutUint16(h[repReasons:], uint16(len(reasons)))
	le.PutUint32(h[repRecords:], uint32(taken))
	le.PutUint32(h[repReasonsLen:], uint32(reasonsLen))
	le.PutUint64(h[repProcess:], process)
	for _, name := range reasons {
		b[0] = byte(len(name))
		b = b[1+copy(b[1:], name):]
	}
	for _, r := range records[:taken] {
		entry := b[:entryLen]
		le.PutUint32(entry[entryAgeMs:], ageMs(le.Uint64(r[recAt:]), nowNs))
		le.PutUint32(entry[entryLength:], uint32(len(r)))
		b = b[entryLen+copy(b[entryLen:], r):]
	}
	seal(out[start:], MagicReport, repHeaderLen)
	return out, taken, nil
}

// validReason is ValidReason without a conversion that allocates.
func validReason(name string) bool {
	var buf [MaxReason]byte
	return len(name) <= MaxReason && ValidReason(buf[:copy(buf[:], name)])
}

// ageMs returns the age of what was stamped at. Another worker's stamp may be a little ahead of now.
func ageMs(at, now uint64) uint32 {
	if at >= now {
		return 0
	}
	return uint32(min((now-at)/1_000_000, math.MaxUint32))
}

// View reads an encoded report in place; see Open. The zero View has no record.
type View struct {
	process uint64
	reasons []byte
	records []byte
	count   int
}

// Open validates b completely, its records included, and returns a View that reads b in place: b must not change for as
// long as the View or a Record of it is used.
func Open(b []byte) (View, error) {
	if len(b) > MaxReport {
		return View{}, ErrTooLarge
	}
	headerLen, err := unseal(b, MagicReport, repHeaderLen)
	if err != nil {
		return View{}, err
	}
	le := binary.LittleEndian
	names, reasonsLen := int(le.Uint16(b[repReasons:])), uint64(le.Uint32(b[repReasonsLen:]))
	if uint64(headerLen)+reasonsLen > uint64(len(b)) {
		return View{}, ErrLength
	}
	if names > MaxReasons {
		return View{}, ErrTooLarge
	}
	v := View{process: le.Uint64(b[repProcess:]), reasons: b[headerLen:][:reasonsLen]}
	rest := v.reasons
	for range names {
		var name []byte
		if name, rest = nextReason(rest); !ValidReason(name) {
			return View{}, ErrReason
		}
	}
	if len(rest) != 0 {
		return View{}, ErrLength
	}
	v.records = b[uint64(headerLen)+reasonsLen:]
	v.count = int(le.Uint32(b[repRecords:]))
	it := v.Records()
	for range v.count {
		if it.next(); it.err != nil {
			return View{}, it.err
		}
	}
	return v, nil
}

// nextReason splits off the first name; it is nil if there is none.
func nextReason(b []byte) (name, rest []byte) {
	if len(b) == 0 || len(b) < 1+int(b[0]) {
		return nil, b
	}
	n := 1 + int(b[0])
	return b[1:n], b[n:]
}

// Process returns the number of the Envoy process.
func (v View) Process() uint64 { return v.process }

// Len returns the number of records.
func (v View) Len() int { return v.count }

// Reasons returns the names of the fallback counters. It allocates.
func (v View) Reasons() []string {
	var names []string
	for rest := v.reasons; len(rest) > 0; {
		var name []byte
		name, rest = nextReason(rest)
		names = append(names, string(name))
	}
	return names
}

// Fallbacks appends the fallback counts of r, a record of v, with their names to dst. Counters beyond the names that the
// report knows are left out: they come from a newer module than the leader's.
func (v View) Fallbacks(dst []Fallback, r Record) []Fallback {
	rest := v.reasons
	for i := 0; i < r.Reasons() && len(rest) > 0; i++ {
		var name []byte
		name, rest = nextReason(rest)
		dst = append(dst, Fallback{Name: string(name), Count: r.Fallbacks(i)})
	}
	return dst
}

// Records returns an iterator over the records:
//
//	for it := v.Records(); it.Next(); {
//		use(it.Record, it.AgeMs)
//	}
func (v View) Records() Iterator { return Iterator{rest: v.records, left: v.count} }

// Iterator walks the records of a report in their order. Record and AgeMs are those that Next moved to.
type Iterator struct {
	Record Record
	AgeMs  uint32 // age of the record when the report was made

	rest []byte
	left int
	err  error
}

// Next moves to the next record and reports whether there is one.
func (it *Iterator) Next() bool {
	if it.left == 0 {
		return false
	}
	it.left--
	it.next()
	return it.err == nil
}

// next reads a record. Open has read all, so an error cannot occur afterwards.
func (it *Iterator) next() {
	if len(it.rest) < entryLen {
		it.err = ErrLength
		return
	}
	le := binary.LittleEndian
	n := uint64(le.Uint32(it.rest[entryLength:]))
	if n > uint64(len(it.rest)-entryLen) {
		it.err = ErrLength
		return
	}
	it.AgeMs = le.Uint32(it.rest[entryAgeMs:])
	it.Record, it.err = OpenRecord(it.rest[entryLen : entryLen+n])
	it.rest = it.rest[entryLen+n:]
}
