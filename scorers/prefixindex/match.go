package prefixindex

import "math/bits"

// Match adds to match, by slot, how many leading blocks of chain each endpoint holds without a gap. match has one element
// per slot and belongs to the caller. Match remembers where it found the blocks, so that a Record of the same chain soon
// after is cheaper.
func (x *Index) Match(chain []uint64, match []int32) {
	if len(chain) > cap(x.memo) {
		x.growScratch(len(chain))
	}
	if x.words > 1 {
		x.matchWide(chain, match)
		return
	}
	memo, i, alive := x.memo[:0], 0, ^uint64(0)
	for i < len(chain) && alive != 0 {
		e := x.find(chain[i])
		if e == 0 {
			break
		}
		memo, x.memoAt = memo[:len(memo)+1], i
		memo[len(memo)-1] = e
		b := x.runs[e].bits[0]
		if gone := alive &^ b; gone != 0 && i > 0 {
			addBits(gone, 0, int32(i), match)
		}
		alive &= b
		m := x.common(e, chain[i:])
		if x.runs[e].partial() != 0 {
			alive = x.partly(e, 0, alive, i, m, match)
		}
		i += m
	}
	x.memo = memo
	if i > 0 {
		addBits(alive, 0, int32(i), match)
	}
}

// partly adds, for those endpoints of word w that hold fewer than m blocks of run e, which begins at index i of the chain, how many
// they hold of the chain, and returns the others.
//
//go:noinline
func (x *Index) partly(e uint32, w int32, alive uint64, i, m int, match []int32) uint64 {
	for b := alive; b != 0; b &= b - 1 {
		bit := bits.TrailingZeros64(b)
		if n := int(x.recs[x.findRecord(e, uint32(w)*wordBits+uint32(bit))].len()); n < m {
			alive &^= 1 << bit
			addBits(1<<bit, w, int32(i+n), match)
		}
	}
	return alive
}

// matchWide is Match for more than 64 slots.
//
//go:noinline
func (x *Index) matchWide(chain []uint64, match []int32) {
	x.memo = x.memo[:0]
	n, i := x.words, 0
	for w := range x.alive {
		x.alive[w], x.live[w] = ^uint64(0), int32(w)
	}
	for i < len(chain) && n > 0 {
		e := x.find(chain[i])
		if e == 0 {
			break
		}
		x.memo, x.memoAt = x.memo[:len(x.memo)+1], i
		x.memo[len(x.memo)-1] = e
		n = x.narrow(n, e, int32(i), match)
		m := x.common(e, chain[i:])
		if x.runs[e].partial() != 0 {
			for _, w := range x.live[:n] {
				x.alive[w] = x.partly(e, w, x.alive[w], i, m, match)
			}
		}
		i += m
	}
	if i == 0 {
		return
	}
	for _, w := range x.live[:n] {
		addBits(x.alive[w], w, int32(i), match)
	}
}

// narrow intersects alive with the holders of e, which begins at index i of the chain, and returns the number of words left in live.
func (x *Index) narrow(n int, e uint32, i int32, match []int32) int {
	b := x.bitset(e)
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
			if i > 0 {
				addBits(was&^is, w, i, match)
			}
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
// hold one run of a prompt hold the next.
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
	n := 0
	if k := len(x.memo); k > 0 {
		e, at := x.memo[k-1], x.memoAt
		if at < len(chain) && x.runs[e].keys[0] == chain[at] && x.runs[e].holders != 0 {
			n = at + x.common(e, chain[at:])
		} // or else that was another chain, or blocks of it have been evicted, the last one first
	}
	for n < len(chain) {
		e := x.find(chain[n])
		if e == 0 {
			break
		}
		n += x.common(e, chain[n:])
	}
	return n
}
