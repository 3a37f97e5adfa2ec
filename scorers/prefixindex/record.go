package prefixindex

// place is where the index has blocks of the chain being recorded.
type place struct {
	run uint32
	rec uint32 // 0 if the slot does not hold them
	at  uint32 // index in the chain of the first one
	n   uint32 // how many of the chain stand in the run
}

// Record says that the prompt with this chain was sent to slot. The blocks become the most recently used of the slot, head
// first; of a chain that is longer than the slot's capacity only the head is kept. It returns how many of them the slot held
// before, which lead the chain. The chain is read during the call only.
func (x *Index) Record(chain []uint64, slot int32) int {
	if int(slot) >= len(x.lists) {
		return 0
	}
	l := &x.lists[slot]
	if len(chain) > int(l.cap) {
		chain = chain[:l.cap]
	}
	if len(chain) == 0 {
		return 0
	}
	held, chain := x.locate(chain, uint32(slot), true)
	p := x.path
	// What is held moves to the front of the list, in order. Neighbours that are in order already move together.
	after := uint32(0)
	for i := 0; i < len(p); i++ {
		first := p[i].rec
		if first == 0 {
			continue
		}
		for i+1 < len(p) && p[i+1].rec != 0 && x.recs[p[i].rec].next == p[i+1].rec {
			i++
		}
		last := p[i].rec
		if x.recs[first].prev != after {
			x.cut(l, first, last)
			x.link(l, first, last, after)
		}
		after = last
	}
	// The held blocks of the chain are in front, so that this evicts none of them: chain <= capacity.
	if missing := uint32(len(chain) - held); l.size+missing > l.cap {
		x.shrink(slot, l.cap-missing)
	}
	if held < len(chain) {
		l.forked = false
		x.insert(l, chain, uint32(slot))
	}
	return held
}

// locate fills path with the runs of chain that the index has, and returns how many blocks of chain slot holds already. To be
// recorded, a chain has runs split so that each is a part of it that slot holds as a whole or not at all. The chain that it
// returns ends early at a run that stands in it for the second time (hashes can be forged), as a record has one place in the list.
//
// The record of a run is usually the one behind that of the run before, since they were last used together; then nothing
// has to be looked up. Whoever holds a block holds the one before it, because that was used at the same time or later; so after
// a block that nobody holds the search is over.
func (x *Index) locate(chain []uint64, slot uint32, record bool) (held int, _ []uint64) {
	if len(chain) > cap(x.memo) {
		x.growScratch(len(chain))
	}
	x.path = x.path[:0]
	last, memo := uint32(0), x.memo
	for i := 0; i < len(chain); {
		r := x.recs[last].next
		e := x.recs[r].run
		if last == 0 || r == 0 || x.runs[e].keys[0] != chain[i] {
			if e = x.known(memo, len(x.path), chain[i]); e == 0 {
				break
			}
			r = 0
			if x.held(e, slot) {
				r = x.findRecord(e, slot)
			}
		}
		m := x.common(e, chain[i:])
		if r != 0 {
			if x.recs[r].what&onPath != 0 {
				chain = chain[:i]
				break
			}
			x.recs[r].what |= onPath
			if record {
				m = min(m, int(x.recs[r].len()))
			}
			held += min(m, int(x.recs[r].len()))
		}
		if record && m < int(x.runs[e].len()) {
			x.split(e, uint32(m))
		}
		x.path = x.path[:len(x.path)+1]
		x.path[len(x.path)-1] = place{e, r, uint32(i), uint32(m)}
		last = r
		i += m
	}
	for _, p := range x.path {
		x.recs[p.rec].what &^= onPath
	}
	return held, chain
}

// known returns the run that begins with this hash, or 0. It is cheap where Match found it as run i of its chain.
func (x *Index) known(memo []uint32, i int, key uint64) uint32 {
	if i < len(memo) {
		if e := memo[i]; x.runs[e].keys[0] == key && x.runs[e].holders != 0 {
			return e
		}
	}
	return x.find(key) // the memo is of another chain, or the run was split or evicted
}

// cut takes the records first…last out of the list.
func (x *Index) cut(l *lru, first, last uint32) {
	prev, next := x.recs[first].prev, x.recs[last].next
	if prev != 0 {
		x.recs[prev].next = next
	} else {
		l.head = next
	}
	if next != 0 {
		x.recs[next].prev = prev
	} else {
		l.tail = prev
	}
}

// link puts the records first…last behind after, or in front if after is 0.
func (x *Index) link(l *lru, first, last, after uint32) {
	next := l.head
	if after != 0 {
		next = x.recs[after].next
		x.recs[after].next = first
	} else {
		l.head = first
	}
	x.recs[first].prev, x.recs[last].next = after, next
	if next != 0 {
		x.recs[next].prev = last
	} else {
		l.tail = last
	}
}

// insert adds the blocks of chain that path says are missing, each behind the block before it.
func (x *Index) insert(l *lru, chain []uint64, slot uint32) {
	after := uint32(0)
	for _, p := range x.path {
		chain = chain[p.n:]
		r := p.rec
		if r == 0 {
			// It has other holders, so that the evictions since have not freed it.
			if x.held(p.run, slot) {
				continue // the chain repeats a hash
			}
			r = x.add(l, p.run, slot, after)
		}
		after = r
	}
	if len(chain) > 0 && after != 0 {
		chain = chain[x.extend(l, after, chain):]
	}
	for len(chain) > 0 && x.find(chain[0]) == 0 { // or the chain is forged, or what was restored had a gap
		n := min(len(chain), MaxRun)
		after = x.add(l, x.newRun(chain[:n]), slot, after)
		chain = chain[n:]
	}
}

// add makes slot a holder of run e, behind what it has in record after.
func (x *Index) add(l *lru, e, slot, after uint32) uint32 {
	n := x.runs[e].len()
	r := x.newRecord(e, slot, n)
	x.link(l, r, r, after)
	l.size += n
	if after != 0 { // that has a block behind it now, or a second one
		p := &x.recs[after]
		p.what |= parent | p.what&parent>>1
	}
	return r
}

// extend puts the first blocks behind those of record r, if its run has room, and nobody else has it or anything behind it. It
// returns how many these are.
func (x *Index) extend(l *lru, r uint32, blocks []uint64) int {
	p := &x.recs[r]
	if x.runs[p.run].holders != 1 || p.what&children != 0 {
		return 0
	}
	n := x.lengthen(p.run, blocks)
	p.setLen(p.len() + uint32(n))
	l.size += uint32(n)
	x.records += n
	return n
}

// shrink evicts the least recently used blocks of slot until at most size are left.
func (x *Index) shrink(slot int32, size uint32) {
	l := &x.lists[slot]
	for l.size > size {
		r := l.tail
		n, over := x.recs[r].len(), l.size-size
		if n > over {
			x.trim(r, n-over)
			x.recs[r].what |= parent // it was given what is evicted
			l.size -= over
			x.evicted += uint64(over)
			return
		}
		x.cut(l, r, r)
		x.freeRecord(r)
		l.size -= n
		x.evicted += uint64(n)
	}
}
