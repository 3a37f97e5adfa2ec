package nohitlruscorer

// none ends the list.
const none = -1

// order is the list of slots in the order of their last use, oldest first. It is linked through arrays by slot, so that it
// costs the same memory at any length and holds no pointer. The zero value is empty and has no slots; see grow.
type order struct {
	prev, next     []int32 // by slot
	in             []bool  // by slot: it is in the list
	oldest, newest int32   // valid if the list is not empty
	len            int
	limit          int // most slots in the list
}

// grow makes room for slots.
func (o *order) grow(slots int) {
	for len(o.in) < slots {
		o.prev, o.next, o.in = append(o.prev, none), append(o.next, none), append(o.in, false)
	}
}

// touch makes slot the newest. If the list is longer than its limit then, the oldest drops out.
func (o *order) touch(slot int32) {
	o.remove(slot)
	o.prev[slot], o.next[slot], o.in[slot] = none, none, true
	if o.len == 0 {
		o.oldest = slot
	} else {
		o.prev[slot], o.next[o.newest] = o.newest, slot
	}
	o.newest = slot
	o.len++
	if o.len > o.limit {
		o.remove(o.oldest)
	}
}

// remove takes slot out of the list if it is there.
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
		o.touch(slot)
		slot = old.next[slot]
	}
}
