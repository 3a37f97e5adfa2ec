package prefixindex

import "math/bits"

// Match adds to match, by slot, how many leading blocks of chain each endpoint holds without a gap. match has one element
// per slot and belongs to the caller. Match remembers where it found the blocks, so that a Record of the same chain soon
// after is cheaper.
func (x *Index) Match(chain []uint64, match []int32) {
	if cap(x.memo) < len(chain) {
		x.memo = make([]uint32, 2*len(chain))
	}
	if x.words > 1 {
		x.matchWide(chain, match)
		return
	}
	memo, n, alive := x.memo[:len(chain)], 0, ^uint64(0)
	for i, key := range chain {
		e := x.find(key)
		if e == 0 {
			break
		}
		memo[i] = e
		n++
		b := x.bits[e]
		if gone := alive &^ b; gone != 0 && i > 0 {
			addBits(gone, 0, int32(i), match)
		}
		if alive &= b; alive == 0 {
			break
		}
	}
	x.memo = memo[:n]
	if n > 0 {
		addBits(alive, 0, int32(n), match)
	}
}

// matchWide is Match for more than 64 slots.
//
//go:noinline
func (x *Index) matchWide(chain []uint64, match []int32) {
	x.memo = x.memo[:0]
	n := x.firstHolders(chain)
	for i := 1; n > 0; i++ {
		e := uint32(0)
		if i < len(chain) {
			e = x.find(chain[i])
		}
		if e == 0 {
			x.finish(n, int32(i), match)
			return
		}
		x.memo = append(x.memo, e)
		n = x.narrow(n, e, int32(i), match)
	}
}

// firstHolders sets alive to the holders of the first block and live to its words that are not zero, and returns their
// number.
func (x *Index) firstHolders(chain []uint64) int {
	if len(chain) == 0 {
		return 0
	}
	e := x.find(chain[0])
	if e == 0 {
		return 0
	}
	x.memo = append(x.memo, e)
	n := 0
	for w, b := range x.bits[int(e)*x.words : int(e+1)*x.words] {
		x.alive[w] = b
		if b != 0 {
			x.live[n] = int32(w)
			n++
		}
	}
	return n
}

// narrow intersects alive with the holders of e, which is block i, and returns the number of words left in live.
func (x *Index) narrow(n int, e uint32, i int32, match []int32) int {
	b := x.bits[int(e)*x.words : int(e+1)*x.words]
	alive := x.alive[:len(b)]
	live := x.live[:n]
	if n*2 > len(b) && covers(alive, b) {
		return n
	}
	kept := 0
	for _, w := range live {
		was := alive[w]
		is := was & b[w]
		if is != was {
			addBits(was&^is, w, i, match)
			alive[w] = is
		}
		if is != 0 {
			live[kept] = w
			kept++
		}
	}
	return kept
}

// covers reports whether every bit of a stands in b, which is as long. It is the common case, since most endpoints that
// hold one block of a prompt hold the next.
func covers(a, b []uint64) bool {
	for len(a) >= 4 && len(b) >= 4 {
		if a[0]&^b[0]|a[1]&^b[1]|a[2]&^b[2]|a[3]&^b[3] != 0 {
			return false
		}
		a, b = a[4:], b[4:]
	}
	for i := 0; i < len(a) && i < len(b); i++ {
		if a[i]&^b[i] != 0 {
			return false
		}
	}
	return true
}

// finish adds i for every endpoint that is left.
func (x *Index) finish(n int, i int32, match []int32) {
	for _, w := range x.live[:n] {
		addBits(x.alive[w], w, i, match)
	}
}

// addBits adds i for every bit of word w.
func addBits(b uint64, w, i int32, match []int32) {
	for ; b != 0; b &= b - 1 {
		if s := int(w)*wordBits + bits.TrailingZeros64(b); s < len(match) {
			match[s] += i
		}
	}
}

// Known returns how many leading blocks of chain are known, to be at one endpoint or another. It is cheap for the chain that was
// matched last.
func (x *Index) Known(chain []uint64) int {
	n := len(x.memo)
	if n > 0 && (n > len(chain) || x.entries[x.memo[n-1]].key != chain[n-1] || x.entries[x.memo[n-1]].holders == 0) {
		n = 0 // that was another chain, or blocks of it have been evicted, the last one first
	}
	for n < len(chain) && x.find(chain[n]) != 0 {
		n++
	}
	return n
}
