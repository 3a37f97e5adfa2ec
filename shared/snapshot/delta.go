package snapshot

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"

	"github.com/cespare/xxhash/v2"
)

// ErrBase says that a delta was made from another snapshot than the one at hand.
var ErrBase = errors.New("delta was made from another snapshot")

// minSaving is what a delta must save to pay, in bytes. Below that the whole travels in about as few packets, and its reader
// is spared to fetch its base, to copy it and to hash it (BenchmarkDelta: 11 µs for 1,000 endpoints). Sixteen endpoints,
// 1.4 KB, thus always travel whole; of 100 endpoints, 9 KB, a delta pays up to their last change, at 36 bytes a change.
const minSaving = 2048

// AppendDelta appends to dst the delta that turns base into next, both encoded snapshots, and returns the extended slice.
// ok is false, and dst is returned unchanged, if next must travel whole: the endpoints are not the same, or a delta does
// not pay.
func AppendDelta(dst, base, next []byte) (out []byte, ok bool) {
	f, ok := sameFrame(base, next)
	limit := len(next) - minSaving
	if !ok || limit < delHeader {
		return dst, false
	}
	shift := ageShift(base, next, f)
	start, count, end := len(dst), 0, f.patchEnd()
	out = slices.Grow(dst, delHeader)[:start+delHeader]
	for i := range f.count {
		at := f.record(i)
		old, young := base[at:at+f.stride], next[at:at+f.stride]
		if !bytes.Equal(old[:patchOff], young[:patchOff]) || !bytes.Equal(old[end:], young[end:]) {
			return dst, false
		}
		if agedOnly(old[:end], young[:end], shift) {
			continue
		}
		if len(out)-start+indexLen+end-patchOff > limit {
			return dst, false
		}
		count++
		out = binary.LittleEndian.AppendUint32(out, uint32(i))
		out = append(out, young[patchOff:end]...)
	}
	putDelta(out[start:], base, next, count, end-patchOff, shift)
	return out, true
}

// patchEnd returns where in a record the part ends that a delta changes. Adapters and attributes change with every scrape.
func (f frame) patchEnd() int {
	if f.places+f.attributes > 0 {
		return f.stride
	}
	return patchOff + patchLen
}

// sameFrame returns the frame of two snapshots, and whether they differ at most in the version, the checksum and records.
func sameFrame(base, next []byte) (frame, bool) {
	if len(base) != len(next) || len(base) < headerLen || string(base[:len(Magic)]) != Magic {
		return frame{}, false
	}
	f, ok := frameOf(base)
	if !ok {
		return frame{}, false
	}
	text := f.record(f.count)
	return f, bytes.Equal(base[:offChecksum], next[:offChecksum]) && bytes.Equal(base[offTotal:offVersion], next[offTotal:offVersion]) &&
		bytes.Equal(base[offVersion+8:f.header], next[offVersion+8:f.header]) && bytes.Equal(base[text:], next[text:])
}

// ageShift returns by how much most records have aged, by majority vote: with any other shift the delta is only longer.
func ageShift(base, next []byte, f frame) uint32 {
	var shift uint32
	votes := 0
	for i := range f.count {
		at := f.record(i) + recAgeMs
		old, young := binary.LittleEndian.Uint32(base[at:]), binary.LittleEndian.Uint32(next[at:])
		switch {
		case old == NeverScraped || young == NeverScraped || young < old:
		case votes == 0:
			shift, votes = young-old, 1
		case young-old == shift:
			votes++
		default:
			votes--
		}
	}
	return shift
}

// aged returns the age after shift.
func aged(ageMs, shift uint32) uint32 {
	if ageMs == NeverScraped {
		return NeverScraped
	}
	return uint32(min(uint64(ageMs)+uint64(shift), uint64(NeverScraped)-1))
}

// agedOnly reports whether nothing but shift tells young from old, two records up to the end of what a delta changes.
func agedOnly(old, young []byte, shift uint32) bool {
	le := binary.LittleEndian
	return le.Uint32(young[recAgeMs:]) == aged(le.Uint32(old[recAgeMs:]), shift) &&
		bytes.Equal(old[patchOff:recAgeMs], young[patchOff:recAgeMs]) &&
		bytes.Equal(old[recAgeMs+4:], young[recAgeMs+4:])
}

func putDelta(b, base, next []byte, count, length int, shift uint32) {
	le := binary.LittleEndian
	clear(b[:delHeader])
	copy(b, MagicDelta)
	le.PutUint32(b[offFormat:], FormatVersion)
	le.PutUint32(b[offTotal:], uint32(len(b)))
	le.PutUint16(b[offHeaderLen:], delHeader)
	le.PutUint16(b[delPatchOff:], patchOff)
	le.PutUint32(b[delCount:], uint32(count))
	le.PutUint16(b[delPatchLen:], uint16(length))
	copy(b[delBase:], base[offVersion:offVersion+8])
	copy(b[delBaseSum:], base[offChecksum:offChecksum+8])
	copy(b[delVersion:], next[offVersion:offVersion+8])
	copy(b[delSum:], next[offChecksum:offChecksum+8])
	le.PutUint32(b[delShift:], shift)
	le.PutUint64(b[offChecksum:], xxhash.Sum64(b[offTotal:]))
}

// IsDelta reports whether b begins like a delta.
func IsDelta(b []byte) bool {
	return len(b) >= len(MagicDelta) && string(b[:len(MagicDelta)]) == MagicDelta
}

// DeltaBase returns the version of the snapshot that delta was made from.
func DeltaBase(delta []byte) (version uint64, err error) {
	if err := unseal(delta, MagicDelta, delHeader); err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint64(delta[delBase:]), nil
}

// ApplyDelta appends to dst the snapshot that delta turns base into, byte for byte, and returns the extended slice. It
// allocates nothing but what dst grows by; dst must not overlap base or delta. On error, ErrBase if the delta was made from
// another snapshot, dst is returned unchanged. The result is what the agent encoded or an error; as any snapshot it has to
// be opened before it is read.
func ApplyDelta(dst, base, delta []byte) ([]byte, error) {
	if err := unseal(delta, MagicDelta, delHeader); err != nil {
		return dst, err
	}
	if len(base) < headerLen {
		return dst, ErrBase
	}
	f, ok := frameOf(base)
	h, d, le := base[:headerLen], delta[:delHeader], binary.LittleEndian
	if !ok || le.Uint64(h[offVersion:]) != le.Uint64(d[delBase:]) || le.Uint64(h[offChecksum:]) != le.Uint64(d[delBaseSum:]) ||
		string(h[:len(Magic)]) != Magic || le.Uint32(h[offFormat:]) != FormatVersion {
		return dst, ErrBase // the last two are what the checksum does not cover
	}
	start := len(dst)
	out := append(dst, base...)
	b := out[start:]
	if shift := le.Uint32(d[delShift:]); shift != 0 {
		for i := range f.count {
			at := f.record(i) + recAgeMs
			le.PutUint32(b[at:], aged(le.Uint32(b[at:]), shift))
		}
	}
	if err := patch(b, f, delta); err != nil {
		return dst, err
	}
	h = b[:headerLen]
	le.PutUint64(h[offVersion:], le.Uint64(d[delVersion:]))
	le.PutUint64(h[offChecksum:], le.Uint64(d[delSum:]))
	if le.Uint64(h[offChecksum:]) != xxhash.Sum64(b[offTotal:]) {
		return dst, ErrChecksum
	}
	return out, nil
}

// patch copies the changes of delta into b, a snapshot.
func patch(b []byte, f frame, delta []byte) error {
	h, le := delta[:delHeader], binary.LittleEndian
	header, count := uint64(le.Uint16(h[offHeaderLen:])), uint64(le.Uint32(h[delCount:]))
	off, n := int(le.Uint16(h[delPatchOff:])), int(le.Uint16(h[delPatchLen:]))
	if off < patchOff || off+n > f.stride || header < delHeader || header+count*uint64(indexLen+n) > uint64(len(delta)) {
		return ErrLength
	}
	last := -1
	for changes := delta[header:]; count > 0; count-- {
		i := le.Uint32(changes)
		if uint64(i) >= uint64(f.count) || int(i) <= last {
			return ErrLength
		}
		last = int(i)
		copy(b[f.record(last)+off:], changes[indexLen:indexLen+n])
		changes = changes[indexLen+n:]
	}
	return nil
}
