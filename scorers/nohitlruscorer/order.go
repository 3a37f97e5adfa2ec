package nohitlruscorer

// none ends the list.
const none = -1

// order is the list of slots in the order of their last use, oldest first. It is linked through arrays by slot, so that it
// costs the same memory at any length and holds no pointer. The zero value is empty and has no slots; see grow.
type order struct {
	prev, next     []int32  // by slot
	in             []bool   // by slot: it is in the list
	at             []uint64 // by slot: time of its last use
	gen            []uint32 // by slot: its generation then
	oldest, newest int32    // valid if the list is not empty
	len            int
	limit          int // most slots in the list
}

// grow makes room for slots.
func (o *order) grow(slots int) {
	for len(o.in) < slots {
		o.prev, o.next, o.in = append(o.prev, none), append(o.next, none), append(o.in, false)
		o.at, o.gen = append(o.at, 0), append(o.gen, 0)
	}
}

// touch says that slot was used at a time, which moves it behind those that were used before. If the list is longer than its
// limit then, the oldest drops out. The use of one worker may become known after later ones of others.
func (o *order) touch(slot int32, gen uint32, at uint64) {
	if int(slot) >= len(o.in) || o.in[slot] && at < o.at[slot] {
		return
	}
	o.remove(slot)
	o.at[slot], o.gen[slot] = at, gen
	before, after := int32(none), int32(none)
	if o.len > 0 {
		before = o.newest
	}
	for before != none && o.at[before] > at {
		before, after = o.prev[before], before
	}
	o.insert(slot, before, after)
	if o.len > o.limit {
		o.remove(o.oldest)
	}
}

// insert puts slot between two that are neighbours; none stands for an end of the list.
func (o *order) insert(slot, before, after int32) {
	o.prev[slot], o.next[slot], o.in[slot] = before, after, true
	if before == none {
		o.oldest = slot
	} else {
		o.next[before] = slot
	}
	if after == none {
		o.newest = slot
	} else {
		o.prev[after] = slot
	}
	o.len++
}

// remove takes slot out of the list if it is there. It is not copied into its callers, for the size of the module.
//
//go:noinline
func (o *order) remove(slot int32) {
	if int(slot) >= len(o.in) || !o.in[slot] {
		return
	}
	prev, next := o.prev[slot], o.next[slot]
	if prev == none {
		o.oldest = next
	} else {
		o.next[prev] = next
	}
	if next == none {
		o.newest = prev
	} else {
		o.prev[next] = prev
	}
	o.in[slot] = false
	o.len--
}

// positions writes into at, by slot, how many are older than each slot in the list.
func (o *order) positions(at []int32) {
	slot := o.oldest
	for i := range o.len {
		at[slot] = int32(i)
		slot = o.next[slot]
	}
}

// adopt takes over the newest of another list.
func (o *order) adopt(old *order) {
	o.grow(len(old.in))
	slot := old.oldest
	for range old.len {
		o.touch(slot, old.gen[slot], old.at[slot])
		slot = old.next[slot]
	}
}
