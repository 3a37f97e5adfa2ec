package fleet

// Health is what workers tell each other of an endpoint's answers.
type Health struct {
	FailedAt uint64 // time of the last failure
	Until    uint64 // no request before this time
	Level    uint32 // failures in a row; 0 for a healthy endpoint
}

// transit notes that this worker changed the health of slot. It is rare, and not copied into its callers.
//
//go:noinline
func (t *Table) transit(now uint64, slot int32) {
	x := &t.share
	x.heard[slot] = now
	if x.on {
		x.transitions = append(x.transitions, slot)
	}
}

// Transited reports whether TakeTransitions has any to return.
func (t *Table) Transited() bool { return len(t.share.transitions) > 0 }

// TakeTransitions returns the slots whose health this worker has changed since the last call, in their order. The slice is
// valid until the next change.
func (t *Table) TakeTransitions() []int32 {
	x := &t.share
	out := x.transitions
	x.transitions = x.transitions[:0]
	return out
}

// Health returns what is known of the answers of slot.
func (t *Table) Health(slot int32) Health {
	h := &t.places[slot].health
	return Health{h.failedAt, h.until, uint32(h.level)}
}

// SetHealth takes over what a peer learned at the given time, unless something newer is known.
func (t *Table) SetHealth(at uint64, slot int32, x Health) {
	if at <= t.share.heard[slot] {
		return
	}
	t.share.heard[slot] = at
	was := t.impairedSlot(slot)
	h := &t.places[slot].health
	if x.Level == 0 && h.level > 0 {
		h.before = h.level
	}
	h.level = uint8(min(x.Level, maxLevel))
	h.failedAt, h.until = x.FailedAt, min(x.Until, at+coolDownMax)
	switch is := t.impairedSlot(slot); {
	case is && !was:
		t.impaired++
	case was && !is:
		t.impaired--
	}
}
