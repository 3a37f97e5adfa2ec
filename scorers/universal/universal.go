// Package universal finds the leading prompt blocks that stand in at least half of the recent requests, such as a system
// prompt that everyone sends. Such blocks say nothing about where a request should go: whichever endpoint saw them first
// would attract all cold traffic.
//
// A chain hash stands for the whole prefix before it, so the common prefix of two chains is found by binary search, and the
// universal prefix relative to a reference chain is the upper median of its common lengths with the last window requests.
// A few references run side by side, and a recent request takes the place of the weakest from time to time: a request
// contains the universal prefix with probability one half or more, so a good reference is found soon and bad ones go. Memory
// is bounded by references × blocks, a request costs a few binary searches, and the window forgets by itself.
package universal

import (
	"math"
)

const (
	// MinSample is how many requests a reference must have been compared with before it counts.
	MinSample = 16
	// Window is how many of the last requests count.
	Window = 64

	references = 4
	challenge  = 16 // requests after which a recent request replaces the weakest reference
)

// Finder finds the universal prefix of a stream of requests. The zero value is not usable; see New.
type Finder struct {
	refs      [references]reference
	used      int
	best      int // index of the reference that counts, -1 if none does
	since     int // requests since the last challenge
	maxBlocks int
}

// New returns a Finder of universal prefixes of at most maxBlocks blocks, and at most 65 535.
func New(maxBlocks int) *Finder {
	f := &Finder{}
	f.Reset(maxBlocks)
	return f
}

// Len returns how many leading blocks of chain are universal.
func (f *Finder) Len(chain []uint64) int {
	if f.best < 0 {
		return 0
	}
	return f.length(chain)
}

func (f *Finder) length(chain []uint64) int {
	r := &f.refs[f.best]
	return common(chain, r.chain[:min(r.universal, len(r.chain))])
}

// Observe counts one request. The chain is read during the call only; it may be empty.
func (f *Finder) Observe(chain []uint64) {
	chain = chain[:min(len(chain), f.maxBlocks)]
	best, longest := -1, 0 // the longest universal prefix counts
	for i := range f.refs[:f.used] {
		r := &f.refs[i]
		length := common(chain, r.chain)
		at := r.next % Window
		if r.n == Window {
			r.count(int(r.lengths[at]), -1)
		} else {
			r.n++
		}
		r.lengths[at] = uint16(length)
		r.next = at + 1
		r.count(length, 1)
		need := (r.n + 1) / 2
		if r.n >= MinSample && (r.n == MinSample || r.atLeast < need || r.longer >= need) {
			r.recount(need)
		}
		if r.universal > longest {
			best, longest = i, r.universal
		}
	}
	f.best = best
	f.since++
	if len(chain) > 0 && (f.used < references || f.since >= challenge) {
		f.enter(chain)
	}
}

// enter makes chain a reference, if there is a place for it. The strongest one stays.
//
//go:noinline
func (f *Finder) enter(chain []uint64) {
	if f.used < references {
		f.refs[f.used].reset(chain)
		f.used++
	} else if w := f.weakest(); w >= 0 {
		f.since = 0
		f.refs[w].reset(chain)
	}
}

// Reset forgets everything and changes the bound, as when the chains change their meaning with the block size. Memory stays.
func (f *Finder) Reset(maxBlocks int) {
	f.used, f.best, f.since, f.maxBlocks = 0, -1, 0, min(maxBlocks, math.MaxUint16)
}

// Bytes returns the bytes of memory that the finder has allocated.
func (f *Finder) Bytes() int {
	n := 0
	for i := range f.refs {
		n += 8*cap(f.refs[i].chain) + 2*Window
	}
	return n
}

// weakest returns the reference to be replaced: of those with a full sample, and the strongest left out, the one with the
// shortest universal prefix. It returns -1 if there is none.
func (f *Finder) weakest() int {
	worst := -1
	for i := range f.refs[:f.used] {
		if r := &f.refs[i]; r.n >= MinSample && i != f.best && (worst < 0 || r.universal < f.refs[worst].universal) {
			worst = i
		}
	}
	return worst
}

// reference is a chain with its common lengths with the requests since it became a reference.
type reference struct {
	chain     []uint64
	n         int            // requests counted, at most Window
	next      uint           // place of the next length in the ring, or behind its end
	universal int            // upper median of lengths; 0 below MinSample
	longer    int            // lengths > universal
	atLeast   int            // lengths >= universal
	lengths   [Window]uint16 // ring
}

// reset makes chain the reference, which counts itself. It is not empty.
func (r *reference) reset(chain []uint64) {
	*r = reference{chain: append(r.chain[:0], chain...), n: 1, next: 1, longer: 1, atLeast: 1}
	r.lengths[0] = uint16(len(chain))
}

func (r *reference) count(length, by int) {
	if length >= r.universal {
		r.atLeast += by
	}
	if length > r.universal {
		r.longer += by
	}
}

// recount finds the greatest length that at least need requests reach.
//
//go:noinline
func (r *reference) recount(need int) {
	sorted := r.lengths
	order(sorted[:r.n])
	r.universal = int(sorted[r.n-need])
	r.atLeast, r.longer = 0, 0
	for _, l := range sorted[:r.n] {
		r.count(int(l), 1)
	}
}

// order sorts the few values of a window by insertion: package slices would bring some 10 KB of code.
func order(v []uint16) {
	for i := 1; i < len(v); i++ {
		x, j := v[i], i
		for ; j > 0 && x < v[j-1]; j-- {
			v[j] = v[j-1]
		}
		v[j] = x
	}
}

// common returns the number of leading blocks that a and b share. Equal chain hashes mean equal prefixes.
func common(a, b []uint64) int {
	lo, hi := 0, min(len(a), len(b)) // the first lo are shared, those from hi on are not
	if hi == 0 || a[0] != b[0] {
		return 0
	}
	for lo < hi {
		mid := (lo + hi) / 2
		if a[mid] == b[mid] {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}
