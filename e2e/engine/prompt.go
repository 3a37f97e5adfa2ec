package engine

import (
	"encoding/binary"
	"slices"

	"github.com/cespare/xxhash/v2"

	"github.com/zerohop/zerohop/shared/blockhash"
)

// Prompt is a prompt as the engine needs it: its length and the hash chain over its full blocks. Making one reads the text
// once and keeps no reference to it, so that a caller can do this outside the goroutine that owns the engine. A Prompt is
// immutable and may be submitted several times.
type Prompt struct {
	tokens      int
	blockTokens int
	seed        uint64
	hashes      []uint64 // chain hash of each full block
	tail        []byte   // packed tokens after the last full block
}

// NewPrompt makes a prompt of text, blockhash.BytesPerToken bytes a token, the last token zero-padded. Prompts share cached
// blocks only if their salts are equal; the salt stands for model, adapter and cache_salt.
func NewPrompt(text []byte, salt string, blockTokens int) Prompt {
	size := blockTokens * blockhash.BytesPerToken
	p := Prompt{
		tokens:      (len(text) + blockhash.BytesPerToken - 1) / blockhash.BytesPerToken,
		blockTokens: blockTokens,
		seed:        xxhash.Sum64String(salt),
		hashes:      make([]uint64, 0, len(text)/size),
	}
	h := p.seed
	for ; len(text) >= size; text = text[size:] {
		h = chain(h, text[:size])
		p.hashes = append(p.hashes, h)
	}
	p.tail = append(p.tail, text...)
	for len(p.tail)%blockhash.BytesPerToken != 0 {
		p.tail = append(p.tail, 0)
	}
	if len(p.tail) == size { // padding completed the block
		p.hashes, p.tail = append(p.hashes, chain(h, p.tail)), nil
	}
	return p
}

// NewTokenPrompt makes a prompt of token ids. A text and its packed little-endian token ids give the same prompt.
func NewTokenPrompt(ids []uint32, salt string, blockTokens int) Prompt {
	b := make([]byte, 0, len(ids)*blockhash.BytesPerToken)
	for _, id := range ids {
		b = binary.LittleEndian.AppendUint32(b, id)
	}
	return NewPrompt(b, salt, blockTokens)
}

// Tokens returns the number of tokens.
func (p Prompt) Tokens() int { return p.tokens }

// OutputSeed returns a seed for the generated tokens that depends on the prompt alone, so that the same prompt is always
// answered alike, as a model does at temperature 0.
func (p Prompt) OutputSeed() uint64 {
	h := p.seed
	if n := len(p.hashes); n > 0 {
		h = p.hashes[n-1]
	}
	return chain(h, p.tail)
}

// OutputToken returns generated token i for a seed: a space and three lower-case letters, packed little-endian. A client
// that appends these bytes to a prompt of whole tokens finds them in the cache, as with a real engine.
func OutputToken(seed uint64, i int) uint32 {
	// The finaliser of splitmix64: neighbouring i give unrelated tokens.
	z := seed + uint64(i+1)*0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	z ^= z >> 31
	token := uint32(' ')
	for shift := 8; shift <= 24; shift += 8 {
		token |= ('a' + uint32(z%26)) << shift
		z /= 26
	}
	return token
}

// AppendOutput appends the text of generated tokens [from,to) to dst and returns it.
func AppendOutput(dst []byte, seed uint64, from, to int) []byte {
	dst = slices.Grow(dst, (to-from)*blockhash.BytesPerToken)
	for i := from; i < to; i++ {
		dst = binary.LittleEndian.AppendUint32(dst, OutputToken(seed, i))
	}
	return dst
}

// chain returns the hash of a block that follows prev. Zero is kept free: it marks a block without hash.
func chain(prev uint64, block []byte) uint64 {
	return max(1, blockhash.Chain(prev, xxhash.Sum64(block)))
}
