package prefixindex

import "math/bits"

// newPart returns a run that is not used.
func (x *Index) newPart() uint32 {
	e := x.freeRun
	if e != 0 {
		x.freeRun = x.runs[e].next
	} else {
		if x.usedRun >= len(x.runs) {
			x.grow(x.more(len(x.runs)), x.words)
		}
		e = uint32(x.usedRun)
		x.usedRun++
	}
	r := &x.runs[e]
	r.keys[0], r.bits, r.next, r.holders, r.shape, r.rec = 0, [1]uint64{}, 0, 0, 0, 0 // the other keys do not count
	return e
}

// partsOf returns how many parts a run of n blocks has, itself included.
func partsOf(n uint32) uint32 { return (n + partKeys - 1) / partKeys }

// part returns part i of run e, which is part 0.
//
//go:noinline
func (x *Index) part(e, i uint32) uint32 {
	for ; i > 0; i-- {
		e = x.runs[e].next
	}
	return e
}

// lengthen appends blocks to run e, as many as there is room for, and returns how many these are.
//
//go:noinline
func (x *Index) lengthen(e uint32, blocks []uint64) int {
	n := x.runs[e].len()
	blocks = blocks[:min(len(blocks), MaxRun-int(n))]
	x.runs[e].setLen(n + uint32(len(blocks)))
	p := x.part(e, max(partsOf(n), 1)-1)
	for rest := blocks; len(rest) > 0; {
		at := n % partKeys
		if at == 0 && n > 0 {
			next := x.newPart()
			x.runs[p].next = next
			p = next
		}
		keys := &x.runs[p].keys
		for len(rest) > 0 && at < partKeys { // copy would be a call, which is more than a few words
			keys[at] = rest[0]
			at++
			n++
			rest = rest[1:]
		}
	}
	return len(blocks)
}

// shorten makes run e one of n blocks, of as many as it has at most, and frees the parts that it needs no more; without blocks
// itself, too.
//
//go:noinline
func (x *Index) shorten(e, n uint32) {
	had, keep := partsOf(x.runs[e].len()), partsOf(n)
	x.runs[e].setLen(n)
	if keep == had {
		return
	}
	first, last := e, x.part(e, had-1)
	if keep > 0 {
		first = x.runs[x.part(e, keep-1)].next
	}
	x.runs[last].next, x.freeRun = x.freeRun, first
}

// blocks returns blocks of run e from index at on and before index end, as many as stand together.
//
//go:noinline
func (x *Index) blocks(e, at, end uint32) []uint64 {
	p := &x.runs[x.part(e, at/partKeys)]
	return p.keys[at%partKeys : min(at%partKeys+end-at, partKeys)]
}

// newRun adds a run without holders to the table.
func (x *Index) newRun(blocks []uint64) uint32 {
	e := x.newPart()
	x.lengthen(e, blocks)
	if x.table.full() {
		x.table.grow(x.more(x.table.n))
	}
	x.table.put(mix(blocks[0]), e)
	return e
}

// newRecord adds a record of the first n blocks of e, which is in no list, and sets the bit of the holder.
func (x *Index) newRecord(e, slot, n uint32) uint32 {
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
	x.recs[r] = record{run: e, what: slot | n<<lenShift}
	*x.word(e, slot) |= 1 << (slot % wordBits)
	en := &x.runs[e]
	en.holders++
	if n < en.len() {
		en.shape++
	}
	if en.rec == 0 {
		en.rec = r
	} else {
		if x.shared.full() {
			x.shared.grow(x.more(x.shared.n))
		}
		x.shared.put(mix(pairKey(e, slot)), r)
	}
	x.records += int(n)
	return r
}

// freeRecord frees a record that is in no list, and its run with the last holder.
func (x *Index) freeRecord(r uint32) {
	e, slot, n := x.recs[r].run, x.recs[r].slot(), x.recs[r].len()
	x.recs[r] = record{next: x.freeRec}
	x.freeRec = r
	x.records -= int(n)
	*x.word(e, slot) &^= 1 << (slot % wordBits)
	en := &x.runs[e]
	if en.rec == r {
		en.rec = 0
	} else {
		x.shared.remove(mix(pairKey(e, slot)), r)
	}
	if n < en.len() {
		en.shape--
	}
	switch en.holders--; en.holders {
	case 0:
		x.table.remove(mix(en.keys[0]), e)
		x.shorten(e, 0)
	case en.partial():
		x.fit(e)
	}
}

// trim makes record r one of n blocks, which are fewer than it has.
func (x *Index) trim(r, n uint32) {
	p := &x.recs[r]
	en := &x.runs[p.run]
	if p.len() == en.len() {
		en.shape++
	}
	x.records -= int(p.len() - n)
	p.setLen(n)
	switch {
	case en.holders == 1:
		en.shape = en.len() << lenShift
		x.shorten(p.run, n)
	case en.holders == en.partial():
		x.fit(p.run)
	}
}

// fit makes run e as long as the holder with the most blocks needs it, and counts those that have fewer.
//
//go:noinline
func (x *Index) fit(e uint32) {
	most, all := uint32(0), uint32(0)
	for w, b := range x.bitset(e) {
		for ; b != 0; b &= b - 1 {
			n := x.recs[x.findRecord(e, uint32(w*wordBits+bits.TrailingZeros64(b)))].len()
			if n > most {
				most, all = n, 0
			}
			if n == most {
				all++
			}
		}
	}
	x.shorten(e, most)
	x.runs[e].shape = most<<lenShift + x.runs[e].holders - all
}

// split makes the blocks of run e from index at on a run of their own. Where a record has some of these, it gets a second one,
// which stands behind it.
//
//go:noinline
func (x *Index) split(e, at uint32) {
	n := x.runs[e].len()
	f := x.newRun(x.blocks(e, at, n))
	for from := at + x.runs[f].len(); from < n; {
		from += uint32(x.lengthen(f, x.blocks(e, from, n)))
	}
	for w := range x.words {
		for b := x.bitset(e)[w]; b != 0; b &= b - 1 {
			slot := uint32(w*wordBits + bits.TrailingZeros64(b))
			r := x.findRecord(e, slot)
			p := &x.recs[r]
			n, was := p.len(), p.what&children
			if n <= at {
				continue
			}
			p.setLen(at)
			p.what |= parent | was&fork // of a block in the middle it is not known either, if it is not of the last one
			x.records -= int(n - at)
			behind := x.newRecord(f, slot, n-at)
			x.recs[behind].what |= was
			x.link(&x.lists[slot], behind, behind, r)
		}
	}
	x.fit(e)
}

//go:noinline
func (x *Index) growRecords() {
	recs := make([]record, x.more(len(x.recs)))
	copy(recs, x.recs)
	x.recs = recs
}

// grow makes room for n runs with bitsets of so many words.
//
//go:noinline
func (x *Index) grow(n, words int) {
	runs := make([]run, n)
	copy(runs, x.runs)
	if words > 1 {
		bits := make([]uint64, n*words)
		for e := 1; e < x.usedRun; e++ {
			copy(bits[e*words:], x.bitset(uint32(e)))
		}
		x.bits = bits
	}
	x.runs, x.words = runs, words
}

// growScratch makes room in the scratch for a chain of n blocks, each of which may be a run.
//
//go:noinline
func (x *Index) growScratch(n int) {
	x.memo = append(make([]uint32, 0, n), x.memo...)
	x.path = make([]place, 0, n)
}

// more returns how many elements to make room for where n are in use and the next one finds none. It doubles them, but once the index
// is half full, how many a full one needs is known well enough to grow for the last time. Element 0 comes on top of what the bound
// allows, and a bound that was lowered takes nothing away.
func (x *Index) more(n int) int {
	want := 2 * n
	if 2*x.records >= x.max {
		want = n + n/4
		if x.records < x.max {
			want = int(uint64(want) * uint64(x.max) / uint64(x.records))
		}
	}
	return max(min(max(want, firstSize), x.max+1), n)
}
