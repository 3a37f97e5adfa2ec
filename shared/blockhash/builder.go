package blockhash

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
	fill       int    // pending bytes, below blockBytes between calls
	blockBytes int
	maxBlocks  int
	first      int // index into ids at which the open prompt starts
	bytes      int // bytes of the open prompt, blocks beyond maxBlocks included
	tokens     int // tokens of the closed prompts
	capped     bool
}

// Reset prepares for a new request: blocks of blockTokens tokens (at least 1), at most maxBlocks blocks over all prompts;
// maxBlocks 0 or below means no limit.
func (b *Builder) Reset(blockTokens, maxBlocks int) {
	b.blockBytes = max(blockTokens, 1) * BytesPerToken
	b.maxBlocks = maxBlocks
	if need := b.blockBytes + roomBytes; len(b.buf) < need {
		b.buf = make([]byte, need)
	}
	b.Clear()
}

// Clear drops everything that was written since Reset and keeps the settings.
func (b *Builder) Clear() {
	b.ids = b.ids[:0]
	b.starts = b.starts[:0]
	b.fill, b.first, b.bytes, b.tokens = 0, 0, 0, 0
	b.capped = false
}

// Write appends bytes to the open prompt. Whole blocks are hashed where they lie; p is not kept.
func (b *Builder) Write(p []byte) {
	b.bytes += len(p)
	if b.capped {
		return
	}
	if b.fill > 0 {
		n := copy(b.buf[b.fill:b.blockBytes], p)
		b.fill += n
		p = p[n:]
		if b.fill < b.blockBytes {
			return
		}
		b.fill = 0
		b.add(b.buf[:b.blockBytes])
	}
	for len(p) >= b.blockBytes {
		b.add(p[:b.blockBytes])
		p = p[b.blockBytes:]
	}
	b.fill = copy(b.buf, p)
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
		b.fill = 0
		b.add(b.buf[:b.blockBytes])
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
	end, pos := b.fill+n, 0
	for ; end-pos >= b.blockBytes; pos += b.blockBytes {
		b.add(b.buf[pos : pos+b.blockBytes])
	}
	if pos > 0 {
		copy(b.buf, b.buf[pos:end])
	}
	b.fill = end - pos
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
		clear(b.buf[b.fill:n])
		b.add(b.buf[:n])
	}
	b.fill = 0
	if len(b.ids) > b.first {
		b.starts = append(b.starts, int32(b.first))
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

// add appends the id of one block, or notes that there is no place for it.
func (b *Builder) add(block []byte) {
	if b.maxBlocks > 0 && len(b.ids) == b.maxBlocks {
		b.capped = true
		return
	}
	b.ids = append(b.ids, ID(block))
}

// tokens returns the number of tokens that n bytes make up.
func tokens(n int) int { return (n + BytesPerToken - 1) / BytesPerToken }
