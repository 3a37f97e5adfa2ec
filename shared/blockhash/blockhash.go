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
	"unsafe"

	"github.com/cespare/xxhash/v2"

	"github.com/zerohop/zerohop/shared/word"
)

// BytesPerToken is the estimate of prompt bytes in one token, everywhere in the project.
const BytesPerToken = 4

// MinBlockTokens is the smallest block that takes effect, whatever is configured or reported.
const MinBlockTokens = 64

// ID returns the id of one block. The length of b is a multiple of BytesPerToken.
func ID(b []byte) uint64 {
	var h uint64
	sums(unsafe.Pointer(&h), 1, unsafe.Pointer(unsafe.SliceData(b)), len(b))
	return h
}

// Seed returns the start of the chain of every prompt of a request: the hash of the model name followed by the cache
// salt, without separator.
func Seed(model, salt []byte) uint64 {
	if len(salt) > 0 {
		return saltedSeed(model, salt)
	}
	var h uint64
	sums(unsafe.Pointer(&h), 1, unsafe.Pointer(unsafe.SliceData(model)), len(model))
	return h
}

// saltedSeed is Seed with a salt.
//
//go:noinline
func saltedSeed(model, salt []byte) uint64 {
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

// sums stores the XXH64 of each of n times size bytes at p, in order, as uint64 at ids. It is written out like Chain: a call of the
// general function per block, which checks the bounds of every word, is more code to run through (BenchmarkSums).
func sums(ids unsafe.Pointer, n int, p unsafe.Pointer, size int) {
	i, end := 0, 0 // loads end at i+32, i+8 and i+4 <= end <= n*size
	for k := range n {
		end += size
		h := uint64(prime5)
		if size >= 32 {
			v1, v2, v3, v4 := uint64(start1), uint64(prime2), uint64(0), uint64(start4)
			for ; i+32 <= end; i += 32 {
				v1 = bits.RotateLeft64(v1+word.Load(p, i)*prime2, 31) * prime1
				v2 = bits.RotateLeft64(v2+word.Load(p, i+8)*prime2, 31) * prime1
				v3 = bits.RotateLeft64(v3+word.Load(p, i+16)*prime2, 31) * prime1
				v4 = bits.RotateLeft64(v4+word.Load(p, i+24)*prime2, 31) * prime1
			}
			h = bits.RotateLeft64(v1, 1) + bits.RotateLeft64(v2, 7) + bits.RotateLeft64(v3, 12) + bits.RotateLeft64(v4, 18)
			h = (h^lane(v1))*prime1 + prime4
			h = (h^lane(v2))*prime1 + prime4
			h = (h^lane(v3))*prime1 + prime4
			h = (h^lane(v4))*prime1 + prime4
		}
		h += uint64(size)
		for ; i+8 <= end; i += 8 {
			h = bits.RotateLeft64(h^lane(word.Load(p, i)), 27)*prime1 + prime4
		}
		if i+4 <= end {
			h = bits.RotateLeft64(h^uint64(word.Load4(p, i))*prime1, 23)*prime2 + prime3
			i += 4
		}
		for ; i < end; i++ {
			h = bits.RotateLeft64(h^uint64(*(*byte)(unsafe.Add(p, i)))*prime5, 11) * prime1
		}
		h = (h ^ h>>33) * prime2
		h = (h ^ h>>29) * prime3
		*(*uint64)(unsafe.Add(ids, 8*k)) = h ^ h>>32
	}
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

	start1 = (prime1 + prime2) & (1<<64 - 1)
	start4 = 1<<64 - prime1
)
