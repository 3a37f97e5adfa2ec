package prefixindex

// Withdraw takes back what Record said: slot did not get the blocks of chain from index from on, of which it held the others
// before. Blocks that it was given others behind stay, with those before them: the prompts that brought these have them, too.
// So whoever holds a block still holds the one before it. The chain is read during the call only.
func (x *Index) Withdraw(chain []uint64, slot int32, from int) {
	if int(slot) >= len(x.lists) || from < 0 {
		return
	}
	if limit := int(x.lists[slot].cap); len(chain) > limit {
		chain = chain[:limit]
	}
	if from >= len(chain) {
		return
	}
	x.memo = x.memo[:0] // it may be of another chain, whose entries go
	x.locate(chain, uint32(slot))
	l := &x.lists[slot]
	for i := len(x.path) - 1; i >= from; i-- {
		r := x.path[i].rec
		if r == 0 {
			continue
		}
		if x.recs[r].slot&(parent|fork) != 0 {
			return
		}
		x.cut(l, r, r)
		x.freeRecord(r)
		l.size--
		if i == 0 {
			return
		}
		if before := &x.recs[x.path[i-1].rec]; before.slot&fork == 0 {
			before.slot &^= parent // this was the only one behind it
		}
	}
}

// forkAll notes that it is not known what the slot of l has behind its blocks.
func (x *Index) forkAll(l *lru) {
	for r := l.head; r != 0; r = x.recs[r].next {
		x.recs[r].slot |= parent | fork
	}
}
