package loads

import "encoding/binary"

// DigestLen is the length of a Digest.
const DigestLen = 8 + filterLen

const (
	filterLen  = 256 // bytes; a power of two
	filterBits = 8 * filterLen
)

// Digest says what the newest records of the writer's pick log are about, so that a reader need not take over each at once: a
// reader that asks for a prefix block can tell from it that none of them names the block. It is as it stands in the vector. The
// zero Digest is about all records, and names nothing.
type Digest [DigestLen]byte

// First returns the number of the first record that the digest is about. Those before it are to be taken over at once.
func (d *Digest) First() uint64 { return binary.LittleEndian.Uint64(d[:]) }

// Reset makes the digest one of no records, of which first is to be the first.
func (d *Digest) Reset(first uint64) {
	clear(d[:])
	binary.LittleEndian.PutUint64(d[:], first)
}

// Add adds a chain hash. Its bits are spread evenly, so that parts of it serve as the hashes of a Bloom filter.
func (d *Digest) Add(hash uint64) {
	a, b := hash%filterBits, hash/filterBits%filterBits
	d[8+a/8] |= 1 << (a % 8)
	d[8+b/8] |= 1 << (b % 8)
}

// MayName reports whether one of the records may name the block with this chain hash. It is never wrong to say no of a hash that
// was added.
func (d *Digest) MayName(hash uint64) bool {
	a, b := hash%filterBits, hash/filterBits%filterBits
	return d[8+a/8]&(1<<(a%8)) != 0 && d[8+b/8]&(1<<(b%8)) != 0
}
