package prefixindex

// AppendHashes appends to dst the chain hashes of the blocks that slot holds, from most to least recently used, without the
// first skip of them and at most limit. It costs a step for each block that is skipped.
//
// A dump that is read in parts, while requests go on, misses only what was used between two parts: a block that moves to the
// front pushes the others back, so that the next part begins with some that were there before.
func (x *Index) AppendHashes(dst []uint64, slot int32, skip, limit int) []uint64 {
	if int(slot) >= len(x.lists) || skip >= int(x.lists[slot].size) {
		return dst
	}
	r := x.lists[slot].head
	for ; skip > 0 && r != 0; skip-- {
		r = x.recs[r].next
	}
	for ; limit > 0 && r != 0; limit-- {
		dst = append(dst, x.entries[x.recs[r].entry].key)
		r = x.recs[r].next
	}
	return dst
}

// Restore adds blocks that slot is believed to hold, most recently used first, as less recently used than all that it is known
// to hold. Those that are known stay where they are. Nothing is evicted: what is beyond the slot's capacity is left out. It
// returns how many were added. The hashes are read during the call only.
func (x *Index) Restore(slot int32, hashes []uint64) int {
	if int(slot) >= len(x.lists) {
		return 0
	}
	l := &x.lists[slot]
	added := 0
	for _, key := range hashes {
		if l.size >= l.cap {
			break
		}
		e := x.find(key)
		if e == 0 {
			e = x.newEntry(key)
		} else if x.held(e, uint32(slot)) {
			continue
		}
		if added == 0 {
			x.forkAll(l) // any of them may be the one before a block that is added
		}
		r := x.newRecord(e, uint32(slot))
		x.recs[r].slot |= parent | fork
		x.link(l, r, r, l.tail)
		l.size++
		added++
	}
	return added
}
