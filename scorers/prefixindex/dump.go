package prefixindex

// AppendRuns appends to blocks the chain hashes of the blocks that slot holds, from most to least recently used, without the
// first skip of them and at most limit, or one run if that has more, and to lengths how many of them are one run each. last is the
// first block of the last run of those that are skipped, which had lastLen, so that they need not be counted again; if slot does not
// hold it any more, they are.
//
// A dump that is read in parts, while requests go on, misses only what was used between two parts, and if the last run of a
// part was used, what comes behind it.
func (x *Index) AppendRuns(blocks []uint64, lengths []byte, slot int32, skip int, last uint64, lastLen, limit int) ([]uint64, []byte) {
	if int(slot) >= len(x.lists) || skip >= int(x.lists[slot].size) {
		return blocks, lengths
	}
	r := x.lists[slot].head
	if skip > 0 {
		if e := x.find(last); e != 0 && x.held(e, uint32(slot)) {
			r, skip = x.findRecord(e, uint32(slot)), lastLen // it may have been split since
		}
	}
	first := len(lengths)
	for ; r != 0; r = x.recs[r].next {
		n := int(x.recs[r].len())
		if skip > 0 {
			skip -= n
			continue
		}
		if limit -= n; limit < 0 && len(lengths) > first {
			break
		}
		for at := 0; at < n; {
			part := x.blocks(x.recs[r].run, uint32(at), uint32(n))
			blocks, at = append(blocks, part...), at+len(part)
		}
		lengths = append(lengths, byte(n))
	}
	return blocks, lengths
}

// Restore adds the blocks of one run that slot is believed to hold, as less recently used than all that it is known to hold. Those
// that are known stay where they are. Nothing is evicted: what is beyond the slot's capacity is left out. It returns how many
// were added. The blocks are read during the call only.
//
// Where a dump has a gap, blocks come without those before them. A prompt that has both is then recorded as if they were new, and
// until they are evicted they count twice for the capacity.
func (x *Index) Restore(slot int32, blocks []uint64) int {
	if int(slot) >= len(x.lists) {
		return 0
	}
	l := &x.lists[slot]
	before := l.size
	for len(blocks) > 0 && l.size < l.cap {
		n := min(len(blocks), MaxRun, int(l.cap-l.size))
		e, r := x.find(blocks[0]), uint32(0)
		if e == 0 {
			e = x.newRun(blocks[:n])
		} else {
			n = min(n, x.common(e, blocks))
			if x.held(e, uint32(slot)) {
				r = x.findRecord(e, uint32(slot))
				n = min(x.common(e, blocks), int(x.recs[r].len()))
			}
			if n < int(x.runs[e].len()) {
				x.split(e, uint32(n))
			}
		}
		if r == 0 {
			if !l.forked {
				l.forked = true
				x.forkAll(l) // any of them may be the one before a block that is added
			}
			r = x.add(l, e, uint32(slot), l.tail)
			x.recs[r].what |= parent | fork
		}
		blocks = blocks[n:]
	}
	return int(l.size - before)
}
