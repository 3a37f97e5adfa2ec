package picklog

import (
	"encoding/binary"
	"errors"
	"slices"
)

// FormatVersion is the format version of records and chunks that this package reads and writes.
const FormatVersion = 1

// MaxChains is the most chains of a pick.
const MaxChains = 1 << 12

// Kind says what a record tells.
type Kind uint8

// The kinds of records.
const (
	KindPick   Kind = 1 // prompts were sent to an endpoint
	KindEvent  Kind = 2 // a pick changed the state of a plugin
	KindHealth Kind = 3 // an endpoint failed, recovered or is being probed

	KindWithdrawal Kind = 4 // the prompts of a pick did not get to the endpoint
)

// Flags of a pick.
const (
	// Again marks a pick whose chains were logged before, for an endpoint that did not serve them.
	Again uint8 = 1 << 0
)

const magicRecord = 'P'

// Offsets in a record.
const (
	recVersion = 1
	recKind    = 2
	recFlags   = 3
	recTokens  = 4
	recEpoch   = 8
	recSeq     = 16
	recAt      = 24
	recID      = 32
	recLen     = 40 // of the header

	pickLens = 44

	eventInstance = 40
	eventKey      = 48
	eventLen      = 56

	healthFailedAt = 40
	healthUntil    = 48
	healthLevel    = 56
	healthLen      = 60
)

// Why a record or a chunk is refused; compare with errors.Is.
var (
	ErrTruncated = errors.New("truncated")
	ErrMagic     = errors.New("wrong magic")
	ErrVersion   = errors.New("unknown format version")
	ErrLength    = errors.New("lengths contradict each other")
	ErrTooLarge  = errors.New("too large for the format")
	ErrID        = errors.New("id, epoch or sequence number is zero")
)

// Header is what all records have.
type Header struct {
	Kind        Kind
	Flags       uint8  // as the kind says
	BlockTokens uint32 // tokens per prefix block
	Epoch       uint64 // identifies the VM that wrote it, non-zero
	Seq         uint64 // from 1 on, without a gap
	At          uint64 // monotonic nanoseconds of what happened
	ID          uint64 // snapshot.EndpointID
}

// Event is what changed in a plugin.
type Event struct {
	Instance uint64 // XXH64 of the type of the plugin, a zero byte and its name
	Key      uint64 // what the event is about
}

// Health is what is known of an endpoint that has failed.
type Health struct {
	FailedAt uint64 // monotonic nanoseconds of the last failure
	Until    uint64 // monotonic nanoseconds before which no request is to be sent
	Level    uint32 // failures in a row; 0 for an endpoint that has recovered
}

// AppendPick appends a record of kind KindPick to dst and returns the extended slice. Chain i ends before hash ends[i], where
// ends do not fall and those beyond the last hash stand for it; the last chain, which has no end in ends, is what is left of
// hashes. More than MaxChains chains cannot be read.
func AppendPick(dst []byte, h *Header, ends []int32, hashes []uint64) []byte {
	le, at := binary.LittleEndian, len(dst)
	dst = room(dst, pickLens+4*(len(ends)+1)+8*len(hashes))
	b := dst[at:]
	for _, x := range h.words(KindPick) {
		le.PutUint64(b, x)
		b = b[8:]
	}
	le.PutUint32(b, uint32(len(ends)+1))
	b = b[4:]
	start, all := int32(0), int32(len(hashes))
	for i := 0; i <= len(ends); i++ {
		end := all
		if i < len(ends) {
			end = max(min(ends[i], all), start)
		}
		le.PutUint32(b, uint32(end-start))
		b, start = b[4:], end
	}
	for _, x := range hashes {
		le.PutUint64(b, x)
		b = b[8:]
	}
	return dst
}

// AppendEvent appends a record of kind KindEvent to dst and returns the extended slice.
func AppendEvent(dst []byte, h *Header, e Event) []byte {
	return words(appendHeader(dst, h, KindEvent), e.Instance, e.Key)
}

// AppendHealth appends a record of kind KindHealth to dst and returns the extended slice.
func AppendHealth(dst []byte, h *Header, x Health) []byte {
	dst = words(appendHeader(dst, h, KindHealth), x.FailedAt, x.Until, uint64(x.Level))
	return dst[:len(dst)-4] // a level has 4 bytes
}

func appendHeader(dst []byte, h *Header, kind Kind) []byte {
	w := h.words(kind)
	return words(dst, w[:]...)
}

// words returns the header of a record as it stands there.
func (h *Header) words(kind Kind) [recLen / 8]uint64 {
	first := uint64(magicRecord) | FormatVersion<<8 | uint64(kind)<<16 | uint64(h.Flags)<<24 | uint64(h.BlockTokens)<<32
	return [...]uint64{first, h.Epoch, h.Seq, h.At, h.ID}
}

// room makes b n bytes longer.
func room(b []byte, n int) []byte {
	if cap(b)-len(b) < n {
		b = grow(b, n)
	}
	return b[:len(b)+n]
}

//go:noinline
func grow(b []byte, n int) []byte { return slices.Grow(b, n) }

// words appends numbers of 8 bytes. It is not copied into its callers, for the size of the module.
//
//go:noinline
func words(dst []byte, w ...uint64) []byte {
	at := len(dst)
	dst = room(dst, 8*len(w))
	b := dst[at:]
	for _, x := range w {
		binary.LittleEndian.PutUint64(b, x)
		b = b[8:]
	}
	return dst
}

// Record reads a record in place; see Open.
type Record struct {
	Header
	body []byte // what follows the header
	from int    // of a pick: where its hashes begin
	held int    // of a withdrawal: where the numbers of held blocks begin
}

// Open validates b, so that reading the Record cannot fail, and returns a Record that reads b in place: b must not change for
// as long as the Record is used. A record of an unknown kind has nothing but its header.
func Open(b []byte) (Record, error) {
	if err := check(b, magicRecord, recLen); err != nil {
		return Record{}, err
	}
	le := binary.LittleEndian
	r := Record{body: b[recLen:], Header: Header{
		Kind: Kind(b[recKind]), Flags: b[recFlags], BlockTokens: le.Uint32(b[recTokens:]), Epoch: le.Uint64(b[recEpoch:]),
		Seq: le.Uint64(b[recSeq:]), At: le.Uint64(b[recAt:]), ID: le.Uint64(b[recID:]),
	}}
	if r.Epoch == 0 || r.Seq == 0 || r.ID == 0 {
		return Record{}, ErrID
	}
	switch {
	case r.Kind == KindPick:
		return r, r.openPick()
	case r.Kind == KindWithdrawal:
		return r, r.openWithdrawal()
	case r.Kind == KindEvent && len(b) < eventLen, r.Kind == KindHealth && len(b) < healthLen:
		return Record{}, ErrTruncated
	}
	return r, nil
}

// check validates what records and chunks begin with.
func check(b []byte, magic byte, least int) error {
	switch {
	case len(b) > 0 && b[0] != magic:
		return ErrMagic
	case len(b) < least:
		return ErrTruncated
	case b[recVersion] != FormatVersion:
		return ErrVersion
	}
	return nil
}

func (r *Record) openPick() error {
	if len(r.body) < pickLens-recLen {
		return ErrTruncated
	}
	le := binary.LittleEndian
	chains := le.Uint32(r.body)
	if chains > MaxChains {
		return ErrTooLarge
	}
	r.from = pickLens - recLen + 4*int(chains)
	if len(r.body) < r.from {
		return ErrLength
	}
	blocks := uint64(0)
	for i := range int(chains) {
		blocks += uint64(r.chainLen(i))
	}
	if uint64(len(r.body)-r.from) < 8*blocks {
		return ErrLength
	}
	return nil
}

func (r *Record) chainLen(i int) int {
	return int(binary.LittleEndian.Uint32(r.body[pickLens-recLen+4*i:]))
}

// Chains returns the number of chains of a pick.
func (r *Record) Chains() int { return max(r.from-(pickLens-recLen), 0) / 4 }

// AppendChain appends the hashes of chain i of a pick to dst, at most limit of them. Chains are to be read in their order:
// from is 0 for the first one, and then what the call before returned.
func (r *Record) AppendChain(dst []uint64, i, from, limit int) (out []uint64, next int) {
	n := r.chainLen(i)
	b, at := r.body[r.from+8*from:], len(dst)
	dst = hashRoom(dst, max(min(n, limit), 0))
	for k := range dst[at:] {
		dst[at+k] = binary.LittleEndian.Uint64(b)
		b = b[8:]
	}
	return dst, from + n
}

// hashRoom makes b n hashes longer.
func hashRoom(b []uint64, n int) []uint64 {
	if cap(b)-len(b) < n {
		b = slices.Grow(b, n)
	}
	return b[:len(b)+n]
}

// Event returns what a record of kind KindEvent tells.
func (r *Record) Event() Event {
	le := binary.LittleEndian
	return Event{le.Uint64(r.body[eventInstance-recLen:]), le.Uint64(r.body[eventKey-recLen:])}
}

// Health returns what a record of kind KindHealth tells.
func (r *Record) Health() Health {
	le := binary.LittleEndian
	return Health{
		le.Uint64(r.body[healthFailedAt-recLen:]), le.Uint64(r.body[healthUntil-recLen:]), le.Uint32(r.body[healthLevel-recLen:]),
	}
}
