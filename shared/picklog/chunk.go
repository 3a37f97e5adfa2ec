package picklog

import "encoding/binary"

// Section says what a section of a chunk holds.
type Section uint16

// The kinds of sections.
const (
	SectionBlocks Section = 1 // blocks that an endpoint holds
	SectionEvents Section = 2 // events that make up the state of a plugin
	SectionHealth Section = 3 // endpoints that have failed
)

// Lengths that a writer has to know to keep a chunk below a limit.
const (
	ChunkHeaderLen   = 24
	SectionHeaderLen = 24
	BlockLen         = 8
	EventLen         = 24
	HealthLen        = 40
)

const magicChunk = 'D'

// Offsets in a chunk and in a section.
const (
	chunkTokens = 4
	chunkEpoch  = 8
	chunkAt     = 16

	secLen     = 0
	secKind    = 4
	secID      = 8
	secSkipped = 16
	secCount   = 20
)

// ChunkHeader is what a chunk says of itself.
type ChunkHeader struct {
	BlockTokens uint32 // tokens per prefix block
	Epoch       uint64 // identifies the VM that wrote it, non-zero
	At          uint64 // monotonic nanoseconds at which it was written
}

// StateEvent is one event of a plugin's state.
type StateEvent struct {
	ID  uint64 // of the endpoint
	Key uint64
	At  uint64 // monotonic nanoseconds
}

// StateHealth is what is known of one endpoint that has failed.
type StateHealth struct {
	ID uint64
	At uint64 // monotonic nanoseconds from which that is known
	Health
}

// AppendChunk appends a chunk without sections to dst and returns the extended slice.
func AppendChunk(dst []byte, h *ChunkHeader) []byte {
	return words(dst, magicChunk|FormatVersion<<8|uint64(h.BlockTokens)<<32, h.Epoch, h.At)
}

// AppendSection appends the header of a section to dst. What follows it is for AppendBlocks, AppendStateEvent or
// AppendStateHealth, and CloseSection ends it. id is of an endpoint, of an instance or 0, as the kind says; skipped is the number
// of blocks of the endpoint that earlier sections have.
func AppendSection(dst []byte, kind Section, id uint64, skipped uint32) []byte {
	return words(dst, SectionHeaderLen|uint64(kind)<<32, id, uint64(skipped))
}

// AppendBlocks appends blocks to a section of kind SectionBlocks, which has none yet. Of these, each of the runs are so many that
// follow each other in a prompt; the runs have all blocks.
func AppendBlocks(dst []byte, hashes []uint64, runs []byte) []byte {
	return append(words(dst, hashes...), runs...)
}

// AppendStateEvent appends an event to a section of kind SectionEvents.
func AppendStateEvent(dst []byte, e StateEvent) []byte { return words(dst, e.ID, e.Key, e.At) }

// AppendStateHealth appends an endpoint to a section of kind SectionHealth.
func AppendStateHealth(dst []byte, x *StateHealth) []byte {
	return words(dst, x.ID, x.At, x.FailedAt, x.Until, uint64(x.Level))
}

// CloseSection ends the section that begins at start, reaches to the end of b and has count blocks, events or endpoints.
func CloseSection(b []byte, start, count int) {
	le, x := binary.LittleEndian, b[start:]
	le.PutUint32(x[secLen:], uint32(len(x)))
	le.PutUint32(x[secCount:], uint32(count))
}

// unit returns the length of one element of a section; 0 for a kind that is not known.
func unit(kind Section) int {
	switch kind {
	case SectionBlocks:
		return BlockLen
	case SectionEvents:
		return EventLen
	case SectionHealth:
		return HealthLen
	}
	return 0
}

// Chunk reads a chunk in place, one section after the other; see OpenChunk.
type Chunk struct {
	ChunkHeader

	// Of the section that Next moved to:
	Kind    Section
	ID      uint64 // of the endpoint or instance
	Skipped uint32 // blocks of the endpoint that stand in earlier sections
	count   int
	body    []byte
	runs    []byte // of a section of kind SectionBlocks
	rest    []byte
}

// OpenChunk validates b completely, so that reading the Chunk cannot fail, and returns a Chunk that reads b in place: b must
// not change for as long as the Chunk is used.
func OpenChunk(b []byte) (Chunk, error) {
	if err := check(b, magicChunk, ChunkHeaderLen); err != nil {
		return Chunk{}, err
	}
	h, le := b[:ChunkHeaderLen], binary.LittleEndian
	c := Chunk{rest: b[ChunkHeaderLen:], ChunkHeader: ChunkHeader{
		BlockTokens: le.Uint32(h[chunkTokens:]), Epoch: le.Uint64(h[chunkEpoch:]), At: le.Uint64(h[chunkAt:]),
	}}
	if c.Epoch == 0 {
		return Chunk{}, ErrID
	}
	for rest := c.rest; len(rest) > 0; {
		if len(rest) < SectionHeaderLen {
			return Chunk{}, ErrTruncated
		}
		h = rest[:SectionHeaderLen]
		n, count := uint64(le.Uint32(h[secLen:])), uint64(le.Uint32(h[secCount:]))
		if known := count * uint64(unit(Section(le.Uint16(h[secKind:])))); n < SectionHeaderLen+known || n > uint64(len(rest)) {
			return Chunk{}, ErrLength
		}
		rest = rest[n:]
	}
	return c, nil
}

// Next moves to the next section of a kind that is known and reports whether there is one.
func (c *Chunk) Next() bool {
	le := binary.LittleEndian
	for len(c.rest) > 0 {
		h := c.rest[:SectionHeaderLen]
		n := le.Uint32(h[secLen:])
		c.Kind, c.ID, c.Skipped = Section(le.Uint16(h[secKind:])), le.Uint64(h[secID:]), le.Uint32(h[secSkipped:])
		c.count, c.body, c.rest = int(le.Uint32(h[secCount:])), c.rest[SectionHeaderLen:n], c.rest[n:]
		if n := unit(c.Kind); n > 0 {
			c.runs = c.body[n*c.count:]
			return true
		}
	}
	return false
}

// Len returns the number of blocks, events or endpoints of the section, without the blocks that AppendRun has returned.
func (c *Chunk) Len() int { return c.count }

// AppendRun appends the next run of a section of kind SectionBlocks to dst, which is one block at least; nothing after the last one.
func (c *Chunk) AppendRun(dst []uint64) []uint64 {
	n := 1
	if len(c.runs) > 0 {
		n = max(int(c.runs[0]), 1)
		c.runs = c.runs[1:]
	}
	for ; n > 0 && c.count > 0; n-- {
		dst = append(dst, binary.LittleEndian.Uint64(c.body))
		c.body = c.body[BlockLen:]
		c.count--
	}
	return dst
}

// Event returns event i of a section of kind SectionEvents.
func (c *Chunk) Event(i int) StateEvent {
	le, b := binary.LittleEndian, c.body[EventLen*i:][:EventLen]
	return StateEvent{le.Uint64(b), le.Uint64(b[8:]), le.Uint64(b[16:])}
}

// Health fills x with endpoint i of a section of kind SectionHealth.
func (c *Chunk) Health(i int, x *StateHealth) {
	le, b := binary.LittleEndian, c.body[HealthLen*i:][:HealthLen]
	*x = StateHealth{le.Uint64(b), le.Uint64(b[8:]), Health{le.Uint64(b[16:]), le.Uint64(b[24:]), le.Uint32(b[32:])}}
}
