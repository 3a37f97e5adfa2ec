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
	x.locate(chain, uint32(slot), false)
	x.memo = x.memo[:0] // it may be of another chain, whose runs go
	l := &x.lists[slot]
	for i := len(x.path) - 1; i >= 0; i-- {
		p := &x.path[i]
		if p.rec == 0 {
			continue
		}
		r := &x.recs[p.rec]
		n, keep := r.len(), uint32(max(from-int(p.at), 0))
		if r.what&children != 0 || n > p.n || keep >= n {
			return
		}
		l.size -= n - keep
		if keep > 0 {
			x.trim(p.rec, keep)
			return
		}
		x.cut(l, p.rec, p.rec)
		x.freeRecord(p.rec)
		if i == 0 {
			return
		}
		x.recs[x.path[i-1].rec].what &^= parent // this was the only one behind it, or fork says otherwise
	}
}

// forkAll notes that it is not known what the slot of l has behind its blocks.
func (x *Index) forkAll(l *lru) {
	for r := l.head; r != 0; r = x.recs[r].next {
		x.recs[r].what |= parent | fork
	}
}
