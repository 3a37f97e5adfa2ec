// Package blockhash computes the prefix chain of a prompt exactly as llm-d's EPP does (approximate prefix cache): XXH64
// over fixed-size blocks of 4-byte tokens, chained from a seed that depends on model and cache salt. It is deterministic
// across processes and architectures.
//
//	seed = XXH64(model ‖ salt)
//	id_i = XXH64(block i, tokens as little-endian uint32, last token zero-padded)
//	h_i  = XXH64(LE64(id_i) ‖ LE64(h_{i-1})),  h_{-1} = seed
package blockhash

import (
	"encoding/binary"

	"github.com/cespare/xxhash/v2"
)

// BytesPerToken is the estimate of prompt bytes in one token, everywhere in the project.
const BytesPerToken = 4

// MinBlockTokens is the smallest block that takes effect, whatever is configured or reported.
const MinBlockTokens = 64

// ID returns the id of one block. The length of b is a multiple of BytesPerToken.
func ID(b []byte) uint64 { return xxhash.Sum64(b) }

// Seed returns the start of the chain of every prompt of a request: the hash of the model name followed by the cache
// salt, without separator.
func Seed(model, salt []byte) uint64 {
	var d xxhash.Digest
	d.Reset()
	_, _ = d.Write(model) // never fails
	_, _ = d.Write(salt)
	return d.Sum64()
}

// Chain returns the chain hash that follows prev when a block with this id is added.
func Chain(prev, id uint64) uint64 {
	var b [16]byte
	binary.LittleEndian.PutUint64(b[:8], id)
	binary.LittleEndian.PutUint64(b[8:], prev)
	return xxhash.Sum64(b[:])
}
