package snapshot

import (
	"encoding/binary"
	"math"

	"github.com/cespare/xxhash/v2"
)

// View reads an encoded snapshot in place; see Open. The zero View is an empty snapshot of version 0.
type View struct {
	records []byte // count records
	text    []byte
	stride  int // record length
	count   int
	version uint64
	extras  extrasView
}

// Open validates b completely, so that reading the View cannot fail, and returns a View that reads b in place: b belongs to
// the View, and must not change, for as long as the View or anything filled from it is used.
func Open(b []byte) (View, error) {
	v, err := open(b)
	if err != nil {
		return View{}, err
	}
	var e Endpoint
	last := uint64(0)
	for i := range v.count {
		if err := v.read(i, &e); err != nil {
			return View{}, &endpointError{i, err}
		}
		if err := e.check(); err != nil {
			return View{}, &endpointError{i, err}
		}
		if !v.roomy(i) {
			return View{}, &endpointError{i, ErrFacts}
		}
		if e.ID <= last {
			return View{}, &endpointError{i, ErrID}
		}
		last = e.ID
	}
	return v, nil
}

// open checks everything but the records.
func open(b []byte) (View, error) {
	if err := unseal(b, Magic, headerLen); err != nil {
		return View{}, err
	}
	f, ok := frameOf(b)
	if !ok {
		return View{}, ErrLength
	}
	text := f.record(f.count)
	facts := text + f.text
	v := View{
		records: b[f.header:text:text],
		text:    b[text:facts:facts],
		stride:  f.stride,
		count:   f.count,
		version: binary.LittleEndian.Uint64(b[offVersion:]),
	}
	v.extras, ok = openExtras(b[facts:facts+f.facts:facts+f.facts], f)
	if !ok {
		return View{}, ErrFacts
	}
	return v, nil
}

// unseal checks what stands at the beginning of snapshots and of deltas: magic, format, total length and checksum. b is at
// least least bytes long if there is no error.
func unseal(b []byte, magic string, least int) error {
	if len(b) < least {
		if n := min(len(b), len(magic)); string(b[:n]) != magic[:n] {
			return ErrMagic
		}
		return ErrTruncated
	}
	if string(b[:len(magic)]) != magic {
		return ErrMagic
	}
	h, le := b[:offHeaderLen], binary.LittleEndian
	if le.Uint32(h[offFormat:]) != FormatVersion {
		return ErrVersion
	}
	total := uint64(le.Uint32(h[offTotal:]))
	if uint64(len(b)) < total {
		return ErrTruncated
	}
	if uint64(len(b)) != total {
		return ErrLength
	}
	if le.Uint64(h[offChecksum:]) != xxhash.Sum64(b[offTotal:]) {
		return ErrChecksum
	}
	return nil
}

// frame says where the sections of a snapshot are.
type frame struct {
	header, stride, count, text int // lengths of header and record, count of records, length of the text section
	facts, places, attributes   int // length of the facts section, adapters and attributes for which a record has room
}

// frameOf reads the frame of b, and whether its sections lie inside b, which is at least headerLen long.
func frameOf(b []byte) (frame, bool) {
	h, le := b[:headerLen], binary.LittleEndian
	header, stride := uint64(le.Uint16(h[offHeaderLen:])), uint64(le.Uint16(h[offRecordLen:]))
	count, text := uint64(le.Uint32(h[offCount:])), uint64(le.Uint32(h[offTextLen:]))
	if header < headerLen || header > uint64(len(b)) {
		return frame{}, false
	}
	var facts, places, attributes uint64
	if header >= factsHeader {
		h = b[:factsHeader]
		facts = uint64(le.Uint32(h[offFactsLen:]))
		places, attributes = uint64(le.Uint16(h[offPlaces:])), uint64(le.Uint16(h[offAttributes:]))
	}
	end := header + count*stride + text + facts // at most 2^49: no overflow
	if stride < recordLen+8*(places+attributes) || end > uint64(len(b)) {
		return frame{}, false
	}
	return frame{int(header), int(stride), int(count), int(text), int(facts), int(places), int(attributes)}, true
}

// record returns the offset of record i; that of the record after the last one is the text section's.
func (f frame) record(i int) int { return f.header + i*f.stride }

// Version returns the snapshot version that the agent gave.
func (v View) Version() uint64 { return v.version }

// Len returns the number of endpoints.
func (v View) Len() int { return v.count }

// Endpoint fills e with endpoint i, 0 <= i < Len. Endpoints stand in ascending order of ID. Name and Address point into the
// bytes given to Open.
func (v View) Endpoint(i int, e *Endpoint) {
	// Open has read every record, so the error cannot occur.
	_ = v.read(i, e)
}

func (v View) read(i int, e *Endpoint) error {
	r := v.records[i*v.stride:][:recordLen]
	le := binary.LittleEndian
	var ok bool
	if e.Address, ok = v.slice(le.Uint32(r[recAddrOff:]), le.Uint16(r[recAddrLen:])); !ok {
		return ErrAddress
	}
	if e.Name, ok = v.slice(le.Uint32(r[recNameOff:]), le.Uint16(r[recNameLen:])); !ok {
		return ErrName
	}
	e.ID = le.Uint64(r[recID:])
	e.Flags = le.Uint16(r[recFlags:])
	e.ScrapeAgeMs = le.Uint32(r[recAgeMs:])
	e.ScrapeSeq = le.Uint32(r[recSeq:])
	e.Waiting = le.Uint32(r[recWaiting:])
	e.Running = le.Uint32(r[recRunning:])
	e.KVUsage = math.Float32frombits(le.Uint32(r[recKVUsage:]))
	e.BlockSize = le.Uint32(r[recBlockSize:])
	e.NumBlocks = le.Uint32(r[recNumBlocks:])
	return nil
}

// slice returns a piece of the text section, and whether it lies inside.
func (v View) slice(off uint32, n uint16) ([]byte, bool) {
	lo, hi := uint64(off), uint64(off)+uint64(n)
	if hi > uint64(len(v.text)) {
		return nil, false
	}
	return v.text[lo:hi:hi], true
}
