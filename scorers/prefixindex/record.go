package prefixindex

// place is where the index has a block of the chain being recorded.
type place struct {
	entry uint32 // 0 if nobody holds the block
	rec   uint32 // 0 if the slot does not hold it
}

// Marks of a record, in record.slot.
const (
	onPath = 1 << 31 // it is of the chain being recorded
	parent = 1 << 30 // the slot was given a block behind this one
	fork   = 1 << 29 // the slot was given a second one, or what it has behind this one is not known
	marks  = onPath | parent | fork
)

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
	held := x.locate(chain, uint32(slot))
	p := x.path
	chain = chain[:len(p)]
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
		x.insert(l, chain, held, uint32(slot))
	}
	return held
}

// locate fills path with the place of each block of chain, and returns how many of them slot holds already. It ends early
// at a block that stands in the chain for the second time (hashes can be forged), as a record has one place in the list.
// The record of a block is usually the one behind that of the block before, since they were last used together; then nothing
// has to be looked up. Whoever holds a block holds the one before it, because that was used at the same time or later; so after
// a block that nobody holds the search is over.
func (x *Index) locate(chain []uint64, slot uint32) int {
	if cap(x.path) < len(chain) {
		x.path = make([]place, len(chain), 2*len(chain))
	}
	x.path = x.path[:len(chain)]
	held, last, memo := 0, uint32(0), x.memo
	for i, key := range chain {
		r := x.recs[last].next
		e := x.recs[r].entry
		if r == 0 || last == 0 || x.entries[e].key != key {
			e = 0
			if i < len(memo) {
				if e = memo[i]; x.entries[e].key != key || x.entries[e].holders == 0 {
					e = 0 // that was another chain, or the block has been evicted
				}
			}
			if e == 0 {
				if e = x.find(key); e == 0 {
					clear(x.path[i:])
					break
				}
			}
			r = 0
			if x.held(e, slot) {
				r = x.findRecord(e, slot)
			}
		}
		if r != 0 {
			if x.recs[r].slot&onPath != 0 {
				x.path = x.path[:i]
				break
			}
			x.recs[r].slot |= onPath
			held++
		}
		x.path[i], last = place{e, r}, r
	}
	for i := range x.path {
		x.recs[x.path[i].rec].slot &^= onPath
	}
	return held
}

// cut takes the run first…last out of the list.
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

// link puts the run first…last behind after, or in front if after is 0.
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
func (x *Index) insert(l *lru, chain []uint64, held int, slot uint32) {
	after := uint32(0)
	x.sum = x.table.reach(chain[held:])
	for i, key := range chain {
		r := x.path[i].rec
		if r == 0 {
			// An entry that was found has other holders, so that the evictions since have not freed it.
			e := x.path[i].entry
			if e == 0 {
				e = x.newEntry(key)
			} else if x.held(e, slot) {
				continue // the chain repeats a hash
			}
			r = x.newRecord(e, slot)
			x.link(l, r, r, after)
			l.size++
			if after != 0 {
				x.adopt(after)
			}
		}
		after = r
	}
}

// adopt notes that a block was put behind the one of record r.
func (x *Index) adopt(r uint32) {
	s := x.recs[r].slot
	x.recs[r].slot = s | parent | (s&parent)>>1 // fork, if it was a parent
}

// shrink evicts the least recently used blocks of slot until at most size are left.
func (x *Index) shrink(slot int32, size uint32) {
	l := &x.lists[slot]
	if l.size <= size {
		return
	}
	x.reachTail(l, l.size-size)
	r := l.tail
	for ; l.size > size; l.size-- {
		prev := x.recs[r].prev
		x.freeRecord(r)
		x.evicted++
		r = prev
	}
	l.tail = r
	if r == 0 {
		l.head = 0
	} else {
		x.recs[r].next = 0
	}
}

// reachTail reads where the table has the n blocks that are evicted next, as table.reach does.
func (x *Index) reachTail(l *lru, n uint32) {
	s, sum := x.table.slots, x.sum
	mask := uint32(len(s) - 1)
	for r := l.tail; n > 0; n-- {
		p := &x.recs[r]
		sum += s[mix(x.entries[p.entry].key)&mask]
		r = p.prev
	}
	x.sum = sum
}

// newEntry adds an entry without holders to the table.
func (x *Index) newEntry(key uint64) uint32 {
	e := x.freeEntry
	if e != 0 {
		x.freeEntry = x.entries[e].rec
	} else {
		if x.usedEntry >= len(x.entries) {
			x.growEntries()
		}
		e = uint32(x.usedEntry)
		x.usedEntry++
	}
	x.entries[e] = entry{key: key}
	if x.table.full() {
		x.table.grow()
	}
	x.table.put(mix(key), e)
	return e
}

// newRecord adds a record and sets the bit of the holder.
func (x *Index) newRecord(e, slot uint32) uint32 {
	r := x.freeRec
	if r != 0 {
		x.freeRec = x.recs[r].next
	} else {
		if x.usedRec >= len(x.recs) {
			x.growRecords()
		}
		r = uint32(x.usedRec)
		x.usedRec++
	}
	x.recs[r] = record{entry: e, slot: slot}
	x.bits[int(e)*x.words+int(slot/wordBits)] |= 1 << (slot % wordBits)
	en := &x.entries[e]
	en.holders++
	if en.rec == 0 {
		en.rec = r
	} else {
		if x.shared.full() {
			x.shared.grow()
		}
		x.shared.put(mix(pairKey(e, slot)), r)
	}
	x.records++
	return r
}

// freeRecord frees a record that is in no list, and its entry with the last holder.
func (x *Index) freeRecord(r uint32) {
	e, slot := x.recs[r].entry, x.recs[r].slot&^marks
	x.recs[r] = record{next: x.freeRec}
	x.freeRec = r
	x.records--
	x.bits[int(e)*x.words+int(slot/wordBits)] &^= 1 << (slot % wordBits)
	en := &x.entries[e]
	if en.rec == r {
		en.rec = 0
	} else {
		x.shared.remove(mix(pairKey(e, slot)), r)
	}
	if en.holders--; en.holders == 0 {
		x.table.remove(mix(en.key), e)
		en.rec = x.freeEntry
		x.freeEntry = e
	}
}

//go:noinline
func (x *Index) growRecords() {
	n := doubled(len(x.recs), x.max)
	x.recs = append(make([]record, 0, n), x.recs...)[:n]
}

//go:noinline
func (x *Index) growEntries() {
	n := doubled(len(x.entries), x.max)
	x.entries = append(make([]entry, 0, n), x.entries...)[:n]
	x.bits = append(make([]uint64, 0, n*x.words), x.bits...)[:n*x.words]
}

// doubled returns the next size of an array of n elements of which limit can be in use; element 0 comes on top.
// A limit that was lowered takes nothing away.
func doubled(n, limit int) int { return max(min(max(2*n, firstSize), limit+1), n) }
