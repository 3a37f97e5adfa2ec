package nohitlruscorer

// none ends the list.
const none = -1

// node is the place of one slot in the list.
type node struct {
	_ [0]func() // not comparable, for the size of the module

	at         uint64 // time of its last use
	gen        uint32 // its generation then
	prev, next int32
	in         bool // it is in the list
}

// order is the list of slots in the order of their last use, oldest first. It is linked through an array by slot, so that it
// costs the same memory at any length and holds no pointer. The zero value is empty and has no slots; see grow.
type order struct {
	nodes          []node // by slot
	oldest, newest int32  // valid if the list is not empty
	len            int
	limit          int // most slots in the list
}

// grow makes room for slots.
func (o *order) grow(slots int) {
	for len(o.nodes) < slots {
		o.nodes = append(o.nodes, node{})
	}
}

// touch says that slot was used at a time, which moves it behind those that were used before. If the list is longer than its
// limit then, the oldest drops out. The use of one worker may become known after later ones of others.
func (o *order) touch(slot int32, gen uint32, at uint64) {
	if int(slot) >= len(o.nodes) || o.nodes[slot].in && at < o.nodes[slot].at {
		return
	}
	o.remove(slot)
	o.nodes[slot] = node{at: at, gen: gen}
	before, after := int32(none), int32(none)
	if o.len > 0 {
		before = o.newest
	}
	for before != none && o.nodes[before].at > at {
		before, after = o.nodes[before].prev, before
	}
	o.insert(slot, before, after)
	if o.len > o.limit {
		o.remove(o.oldest)
	}
}

// insert puts slot between two that are neighbours; none stands for an end of the list.
func (o *order) insert(slot, before, after int32) {
	n := &o.nodes[slot]
	n.prev, n.next, n.in = before, after, true
	if before == none {
		o.oldest = slot
	} else {
		o.nodes[before].next = slot
	}
	if after == none {
		o.newest = slot
	} else {
		o.nodes[after].prev = slot
	}
	o.len++
}

// remove takes slot out of the list if it is there. It is not copied into its callers, for the size of the module.
//
//go:noinline
func (o *order) remove(slot int32) {
	if int(slot) >= len(o.nodes) || !o.nodes[slot].in {
		return
	}
	prev, next := o.nodes[slot].prev, o.nodes[slot].next
	if prev == none {
		o.oldest = next
	} else {
		o.nodes[prev].next = next
	}
	if next == none {
		o.newest = prev
	} else {
		o.nodes[next].prev = prev
	}
	o.nodes[slot].in = false
	o.len--
}

// positions writes into at, by slot, how many are older than each slot in the list.
func (o *order) positions(at []int32) {
	slot := o.oldest
	for i := range o.len {
		at[slot] = int32(i)
		slot = o.nodes[slot].next
	}
}

// adopt takes over the newest of another list.
func (o *order) adopt(old *order) {
	o.grow(len(old.nodes))
	slot := old.oldest
	for range old.len {
		o.touch(slot, old.nodes[slot].gen, old.nodes[slot].at)
		slot = old.nodes[slot].next
	}
}
