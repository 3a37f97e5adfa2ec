package blockhash

import (
	"slices"
	"unsafe"

	"github.com/zerohop/zerohop/shared/word"
)

// roomBytes is the least space that Room offers. It is small enough to stay in the first-level cache between being
// filled and being hashed.
const roomBytes = 4096

// Builder cuts the decoded bytes of one or more prompts into blocks and collects the block ids. Bytes come in any split:
// the ids depend on their order only. The zero value needs a Reset; buffers are kept from one use to the next, so that a
// reused Builder allocates nothing once it has seen the largest request.
type Builder struct {
	ids        []uint64
	starts     []int32
	buf        []byte // pending bytes of the open block in front, room behind
	blockBytes int
	maxBlocks  int
	asked      int // block size in tokens as configured
	progress
}

// progress is how far a Builder is.
type progress struct {
	_ [0]func() // not comparable, for the size of the module

	fill   int // pending bytes, below blockBytes between calls
	first  int // index into ids at which the open prompt starts
	bytes  int // bytes of the open prompt, blocks beyond maxBlocks included
	tokens int // tokens of the closed prompts
	capped bool
}

// Reset prepares for a new request: blocks of blockTokens tokens (at least 1), at most maxBlocks blocks over all prompts;
// maxBlocks 0 or below means no limit.
func (b *Builder) Reset(blockTokens, maxBlocks int) {
	b.Configure(blockTokens, maxBlocks)
	b.Clear()
}

// Configure is Reset for a Builder that is cleared next. Both are small enough to become part of their caller.
func (b *Builder) Configure(blockTokens, maxBlocks int) {
	b.maxBlocks = maxBlocks
	if b.blockBytes == 0 || blockTokens != b.asked {
		b.resize(blockTokens)
	}
}

// Clear drops everything that was written since Reset and keeps the settings.
func (b *Builder) Clear() {
	b.ids = b.ids[:0]
	b.starts = b.starts[:0]
	b.progress = progress{}
}

// Write appends bytes to the open prompt. Whole blocks are hashed where they lie; p is not kept.
func (b *Builder) Write(p []byte) {
	b.bytes += len(p)
	if !b.capped {
		b.take(p, b.blockBytes)
	}
}

// WriteToken appends one token id to the open prompt. A prompt consists either of tokens or of bytes.
func (b *Builder) WriteToken(id uint32) {
	b.bytes += BytesPerToken
	if b.capped {
		return
	}
	t := b.buf[b.fill : b.fill+BytesPerToken]
	t[0], t[1], t[2], t[3] = byte(id), byte(id>>8), byte(id>>16), byte(id>>24)
	b.fill += BytesPerToken
	if b.fill == b.blockBytes {
		b.take(b.buf[:0], b.blockBytes)
	}
}

// Room returns space of at least 4096 bytes behind the pending bytes, for a caller that produces prompt bytes itself and
// saves a copy by doing so in place. It is valid until the next call; Advance takes what was put there.
func (b *Builder) Room() []byte { return b.buf[b.fill:] }

// Advance appends the first n bytes of Room to the open prompt.
func (b *Builder) Advance(n int) {
	b.bytes += n
	if b.capped {
		return
	}
	end := b.fill + n
	b.fill = 0
	b.take(b.buf[:end], b.blockBytes)
}

// EndPrompt closes the open prompt: its last token is padded with zeros, its last block may be short. A prompt without
// bytes leaves no trace.
func (b *Builder) EndPrompt() {
	if b.bytes == 0 {
		return
	}
	b.tokens += tokens(b.bytes)
	b.bytes = 0
	if b.fill > 0 && !b.capped {
		n := tokens(b.fill) * BytesPerToken
		*(*[BytesPerToken]byte)(unsafe.Add(unsafe.Pointer(unsafe.SliceData(b.buf)), b.fill)) = [BytesPerToken]byte{}
		b.fill = n // with zeros, for which there is room
		b.take(b.buf[:0], n)
	}
	b.fill = 0
	if len(b.ids) > b.first {
		k := len(b.starts)
		if k == cap(b.starts) {
			b.grow(0)
		}
		b.starts = b.starts[:k+1]
		b.starts[k] = int32(b.first)
		b.first = len(b.ids)
	}
}

// IDs returns the block ids of all closed prompts, one after the other. The slice is valid until Reset or Clear; the
// caller may overwrite its elements.
func (b *Builder) IDs() []uint64 { return b.ids[:b.first] }

// Starts returns the index into IDs at which each closed prompt begins. The slice is valid until Reset or Clear.
func (b *Builder) Starts() []int32 { return b.starts }

// Tokens returns the number of tokens in all prompts, those beyond maxBlocks and those of the open prompt included.
func (b *Builder) Tokens() int { return b.tokens + tokens(b.bytes) }

// Capped reports that blocks were left out because of maxBlocks.
func (b *Builder) Capped() bool { return b.capped }

// take appends the ids of the whole blocks of size bytes that the pending bytes and p make up, as far as there is place for
// them, and keeps the rest pending. p may lie in buf if nothing is pending. Every request comes through here, hence without
// the checks of slices: buf holds more than size bytes, and i never exceeds len(p).
func (b *Builder) take(p []byte, size int) {
	buf, from, i := unsafe.Pointer(unsafe.SliceData(b.buf)), unsafe.Pointer(unsafe.SliceData(p)), 0
	for b.fill+len(p)-i >= size {
		at, k := buf, 1
		if n := size - b.fill; n < size {
			word.Copy(unsafe.Add(buf, b.fill), from, n)
			b.fill, i = 0, n
		} else {
			at, k = unsafe.Add(from, i), (len(p)-i)/size
			i += k * size
		}
		n := len(b.ids)
		if b.maxBlocks > 0 && n+k > b.maxBlocks {
			b.capped = true
			k = b.maxBlocks - n
		}
		if k > 0 {
			if n+k > cap(b.ids) {
				b.grow(k)
			}
			b.ids = b.ids[:n+k]
			sums(unsafe.Add(unsafe.Pointer(unsafe.SliceData(b.ids)), 8*n), k, at, size)
		}
	}
	if n := len(p) - i; n > 0 {
		word.Copy(unsafe.Add(buf, b.fill), unsafe.Add(from, i), n)
		b.fill += n
	}
}

// grow makes room for n more ids and one more start.
//
//go:noinline
func (b *Builder) grow(n int) {
	b.ids = slices.Grow(b.ids, n)
	b.starts = slices.Grow(b.starts, 1)
}

// resize makes blocks of blockTokens tokens, and room for one and what comes behind it.
//
//go:noinline
func (b *Builder) resize(blockTokens int) {
	b.asked = blockTokens
	b.blockBytes = max(blockTokens, 1) * BytesPerToken
	if need := b.blockBytes + roomBytes; len(b.buf) < need {
		b.buf = make([]byte, need)
	}
}

// tokens returns the number of tokens that n bytes make up.
func tokens(n int) int { return int(uint(n+BytesPerToken-1) / BytesPerToken) }
