package loads

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"
)

// FormatVersion is the format version that this package reads and writes.
const FormatVersion = 1

// MaxEntries is the most entries of a vector.
const MaxEntries = 1 << 16

// maxHead is the most records that a log can have had: readers count on from there.
const maxHead = 1 << 62

// Lengths of what this package writes.
const (
	HeaderLen = 64
	EntryLen  = 24
)

const magic = "ZHLV"

// Flags of a vector.
const (
	flagDigest  = 1 << 0 // a digest stands behind the entries
	flagServing = 1 << 1
)

// Offsets of the fields of the header.
const (
	offFormat    = 4
	offHeaderLen = 6
	offEpoch     = 8
	offAt        = 16
	offHead      = 24
	offLayout    = 32
	offSnapshot  = 40
	offCount     = 48
	offEntryLen  = 52
	offFlags     = 54
)

// Offsets in an entry: what it says is read and written as words of 8 bytes.
const (
	entID      = 0
	entTokens  = 8
	entPending = 16
)

// Why a vector is refused; compare with errors.Is.
var (
	ErrTruncated = errors.New("truncated")
	ErrMagic     = errors.New("wrong magic")
	ErrVersion   = errors.New("unknown format version")
	ErrLength    = errors.New("lengths contradict each other")
	ErrTooLarge  = errors.New("too large for the format")
	ErrEpoch     = errors.New("epoch is zero")
)

// Header is what a worker says beside its counts.
type Header struct {
	Epoch    uint64 // identifies the VM, non-zero; a rebuilt VM has another one
	At       uint64 // monotonic nanoseconds at which the vector was written
	Head     uint64 // sequence number of the newest record in its pick log, 0 if there is none
	Layout   uint64 // another number whenever an entry stands for another endpoint
	Snapshot uint64 // version of the snapshot in use, 0 if none
	Serving  bool   // the VM has had a request
}

// Entry is what a worker has at one endpoint.
type Entry struct {
	ID       uint64 // snapshot.EndpointID; 0 for a free slot
	Tokens   uint32 // booked tokens
	InFlight uint32 // requests
	Pending  uint32 // those of them without a first byte
	Since    uint32 // those of these that the newest scrape has not seen
}

// Resize makes b a vector of count entries and returns it. Entries that stand in it stay as they are, others are of free
// slots; the header and what follows the entries are for Seal to write. count is at most MaxEntries.
func Resize(b []byte, count int) []byte {
	old := min(len(b), HeaderLen+count*EntryLen)
	b = slices.Grow(b[:old], HeaderLen+count*EntryLen-old+DigestLen)[:HeaderLen+count*EntryLen]
	clear(b[old:])
	return b
}

// Seal writes the header of a vector that Resize made, and the digest behind its entries unless it is nil. The vector that it
// returns shares the memory of b.
func Seal(b []byte, h *Header, d *Digest) []byte {
	const first = uint64('Z') | 'H'<<8 | 'L'<<16 | 'V'<<24 | FormatVersion<<32 | HeaderLen<<48
	le, x := binary.LittleEndian, b[:HeaderLen]
	last := uint64((len(b)-HeaderLen)/EntryLen) | EntryLen<<32
	if h.Serving {
		last |= flagServing << 48
	}
	if d != nil {
		last |= flagDigest << 48
		b = append(b, d[:]...)
	}
	le.PutUint64(x, first)
	le.PutUint64(x[offEpoch:], h.Epoch)
	le.PutUint64(x[offAt:], h.At)
	le.PutUint64(x[offHead:], h.Head)
	le.PutUint64(x[offLayout:], h.Layout)
	le.PutUint64(x[offSnapshot:], h.Snapshot)
	le.PutUint64(x[offCount:], last)
	le.PutUint64(x[offCount+8:], 0)
	return b
}

// SetEntry writes entry i of a vector that Resize made.
func SetEntry(b []byte, i int, e *Entry) {
	le, x := binary.LittleEndian, b[HeaderLen+i*EntryLen:][:EntryLen]
	le.PutUint64(x[entID:], e.ID)
	le.PutUint64(x[entTokens:], uint64(e.Tokens)|uint64(e.InFlight)<<32)
	le.PutUint64(x[entPending:], uint64(e.Pending)|uint64(e.Since)<<32)
}

// Count returns n as an entry has it: at least 0 and at most 2³²-1.
func Count(n int64) uint32 { return uint32(min(max(n, 0), math.MaxUint32)) }

// View reads a vector in place; see Open. The zero View has no entry.
type View struct {
	Header
	entries []byte
	digest  []byte // nil if there is none
	stride  int    // entry length
	count   int
}

// Open validates the lengths of b, so that reading the View cannot fail, and returns a View that reads b in place: b must not
// change for as long as the View is used.
func Open(b []byte) (View, error) {
	if len(b) < HeaderLen {
		if n := min(len(b), len(magic)); string(b[:n]) != magic[:n] {
			return View{}, ErrMagic
		}
		return View{}, ErrTruncated
	}
	le := binary.LittleEndian
	switch {
	case string(b[:len(magic)]) != magic:
		return View{}, ErrMagic
	case le.Uint16(b[offFormat:]) != FormatVersion:
		return View{}, ErrVersion
	}
	header, stride, count := int(le.Uint16(b[offHeaderLen:])), int(le.Uint16(b[offEntryLen:])), le.Uint32(b[offCount:])
	end := header + int(min(count, MaxEntries))*stride
	switch {
	case count > MaxEntries:
		return View{}, ErrTooLarge
	case header < HeaderLen || stride < EntryLen || len(b) < end:
		return View{}, ErrLength
	}
	flags := le.Uint16(b[offFlags:])
	v := View{entries: b[header:end:end], stride: stride, count: int(count), Header: Header{
		Epoch: le.Uint64(b[offEpoch:]), At: le.Uint64(b[offAt:]), Head: le.Uint64(b[offHead:]),
		Layout: le.Uint64(b[offLayout:]), Snapshot: le.Uint64(b[offSnapshot:]), Serving: flags&flagServing != 0,
	}}
	if flags&flagDigest != 0 {
		if len(b)-end < DigestLen {
			return View{}, ErrLength
		}
		v.digest = b[end:][:DigestLen]
	}
	switch {
	case v.Epoch == 0:
		return View{}, ErrEpoch
	case v.Head > maxHead:
		return View{}, ErrTooLarge
	}
	return v, nil
}

// Digest copies the digest into d. A vector without one says that all records are to be taken over at once.
func (v *View) Digest(d *Digest) {
	if v.digest == nil {
		d.Reset(v.Head + 1)
		return
	}
	copy(d[:], v.digest)
}

// Len returns the number of entries.
func (v *View) Len() int { return v.count }

// ID returns the id of the endpoint of entry i, 0 for a free slot.
func (v *View) ID(i int) uint64 {
	return binary.LittleEndian.Uint64(v.entries[i*v.stride+entID:])
}

// Entry fills e with entry i.
func (v *View) Entry(i int, e *Entry) { Decode(v.entries[i*v.stride:], e) }

// Stride returns the length of an entry in bytes.
func (v *View) Stride() int { return v.stride }

// Bytes returns n entries from entry i on as they were written, Stride bytes each. It is valid as long as the View.
func (v *View) Bytes(i, n int) []byte { return v.entries[i*v.stride : (i+n)*v.stride] }

// Decode fills e with the entry that b begins with.
func Decode(b []byte, e *Entry) {
	le, x := binary.LittleEndian, b[:EntryLen]
	load, pending := le.Uint64(x[entTokens:]), le.Uint64(x[entPending:])
	*e = Entry{le.Uint64(x[entID:]), uint32(load), uint32(load >> 32), uint32(pending), uint32(pending >> 32)}
}
