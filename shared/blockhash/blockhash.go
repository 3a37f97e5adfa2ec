// Package blockhash computes the prefix chain of a prompt exactly as llm-d's EPP does (approximate prefix cache): XXH64
// over fixed-size blocks of 4-byte tokens, chained from a seed that depends on model and cache salt. It is deterministic
// across processes and architectures.
//
//	seed = XXH64(model ‖ salt)
//	id_i = XXH64(block i, tokens as little-endian uint32, last token zero-padded)
//	h_i  = XXH64(LE64(id_i) ‖ LE64(h_{i-1})),  h_{-1} = seed
package blockhash

import (
	"math/bits"

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

// Chain returns the chain hash that follows prev when a block with this id is added. It is XXH64 of 16 bytes written out:
// without the buffer and the branches of the general function a link costs about half in V8 (BenchmarkChain).
func Chain(prev, id uint64) uint64 {
	h := uint64(prime5 + 16)
	h = bits.RotateLeft64(h^lane(id), 27)*prime1 + prime4
	h = bits.RotateLeft64(h^lane(prev), 27)*prime1 + prime4
	h = (h ^ h>>33) * prime2
	h = (h ^ h>>29) * prime3
	return h ^ h>>32
}

// lane is XXH64's round from a zero accumulator.
func lane(v uint64) uint64 { return bits.RotateLeft64(v*prime2, 31) * prime1 }

// The primes of XXH64.
const (
	prime1 = 11400714785074694791
	prime2 = 14029467366897019727
	prime3 = 1609587929392839161
	prime4 = 9650029242287828579
	prime5 = 2870177450012600261
)
