package prefixindex

// AppendHashes appends to dst the chain hashes of the blocks that slot holds, from most to least recently used, without the
// first skip of them and at most limit. last is the last of those that are skipped, so that they need not be counted again; if
// slot does not hold it any more, they are.
//
// A dump that is read in parts, while requests go on, misses only what was used between two parts, and if the last block of a
// part was used, what comes behind it.
func (x *Index) AppendHashes(dst []uint64, slot int32, skip int, last uint64, limit int) []uint64 {
	if int(slot) >= len(x.lists) || skip >= int(x.lists[slot].size) {
		return dst
	}
	r := x.lists[slot].head
	if skip > 0 {
		if e := x.find(last); e != 0 && x.held(e, uint32(slot)) {
			r, skip = x.recs[x.findRecord(e, uint32(slot))].next, 0
		}
	}
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
