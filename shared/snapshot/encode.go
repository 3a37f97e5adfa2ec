package snapshot

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/cespare/xxhash/v2"
)

// Append appends the encoded snapshot of eps to dst and returns the extended slice; on error it returns dst unchanged. It
// keeps no reference to eps, which may be in any order: records are written in ascending order of ID, so that equal sets
// of endpoints give equal bytes.
func Append(dst []byte, version uint64, eps []Endpoint) ([]byte, error) {
	return AppendExtras(dst, version, eps, nil)
}

// AppendExtras is Append with what x says of the endpoints; x may be nil. It keeps no reference to x either.
func AppendExtras(dst []byte, version uint64, eps []Endpoint, x *Extras) ([]byte, error) {
	order, textLen, err := arrange(eps)
	if err != nil {
		return dst, err
	}
	if err := x.check(eps, order); err != nil {
		return dst, err
	}
	f := frame{header: headerLen, stride: recordLen, count: len(eps)}
	if x != nil {
		f = x.frame(f)
	}
	total := uint64(f.header) + uint64(f.count)*uint64(f.stride) + textLen + uint64(f.facts)
	if total > math.MaxUint32 {
		return dst, ErrTooLarge
	}
	f.text = int(textLen)

	start := len(dst)
	out := slices.Grow(dst, int(total))[:start+int(total)]
	b := out[start:]
	fixed := f.record(f.count)
	clear(b[:fixed])
	putHeader(b, version, f)
	text := 0
	for i, at := range order {
		e, r := &eps[at], b[f.record(i):f.record(i+1)]
		putRecord(r, e, text)
		if x != nil {
			x.put(r, at, f)
		}
		text += copy(b[fixed+text:], e.Address)
		text += copy(b[fixed+text:], e.Name)
	}
	if f.facts > 0 {
		copy(b[fixed+text:], x.Sheet.section)
	}
	binary.LittleEndian.PutUint64(b[offChecksum:], xxhash.Sum64(b[offTotal:]))
	return out, nil
}

// arrange checks eps and returns their indices in ascending order of ID, and the size of the text section.
func arrange(eps []Endpoint) (order []int, textLen uint64, err error) {
	order = make([]int, len(eps))
	for i := range eps {
		e := &eps[i]
		if err := e.check(); err != nil {
			return nil, 0, &endpointError{i, err}
		}
		order[i] = i
		textLen += uint64(len(e.Address) + len(e.Name))
	}
	slices.SortFunc(order, func(a, b int) int {
		if eps[a].ID < eps[b].ID {
			return -1
		}
		return 1
	})
	for i := 1; i < len(order); i++ {
		if eps[order[i]].ID == eps[order[i-1]].ID {
			return nil, 0, &endpointError{max(order[i], order[i-1]), ErrID}
		}
	}
	return order, textLen, nil
}

func putHeader(b []byte, version uint64, f frame) {
	copy(b, Magic)
	le := binary.LittleEndian
	le.PutUint32(b[offFormat:], FormatVersion)
	le.PutUint32(b[offTotal:], uint32(len(b)))
	le.PutUint16(b[offHeaderLen:], uint16(f.header))
	le.PutUint16(b[offRecordLen:], uint16(f.stride))
	le.PutUint32(b[offCount:], uint32(f.count))
	le.PutUint32(b[offTextLen:], uint32(f.text))
	le.PutUint64(b[offVersion:], version)
	if f.header >= factsHeader {
		le.PutUint32(b[offFactsLen:], uint32(f.facts))
		le.PutUint16(b[offPlaces:], uint16(f.places))
		le.PutUint16(b[offAttributes:], uint16(f.attributes))
	}
}

// putRecord writes e to the start of b; its address, followed by its name, stands at offset text of the text section.
func putRecord(b []byte, e *Endpoint, text int) {
	le := binary.LittleEndian
	le.PutUint64(b[recID:], e.ID)
	le.PutUint32(b[recAddrOff:], uint32(text))
	le.PutUint32(b[recNameOff:], uint32(text+len(e.Address)))
	le.PutUint16(b[recAddrLen:], uint16(len(e.Address)))
	le.PutUint16(b[recNameLen:], uint16(len(e.Name)))
	le.PutUint16(b[recFlags:], e.Flags)
	le.PutUint32(b[recAgeMs:], e.ScrapeAgeMs)
	le.PutUint32(b[recSeq:], e.ScrapeSeq)
	le.PutUint32(b[recWaiting:], e.Waiting)
	le.PutUint32(b[recRunning:], e.Running)
	le.PutUint32(b[recKVUsage:], math.Float32bits(e.KVUsage))
	le.PutUint32(b[recBlockSize:], e.BlockSize)
	le.PutUint32(b[recNumBlocks:], e.NumBlocks)
}
