package fleet

// How an endpoint that fails is treated: it gets no request for a cool-down, which doubles with each failure in a row, then
// one request as a probe. Any answer below 500 to a request sent after the failure ends it.
const (
	coolDownMin  = 500_000_000    // ns, after the first failure
	coolDownMax  = 10_000_000_000 // ns
	maxLevel     = 6              // failures in a row after which the cool-down grows no more
	serverErrors = 3              // answers of 500 and above in a row that count as a failure
)

// health is what is known about an endpoint's answers.
type health struct {
	until    uint64 // while level > 0: no request before this time
	failedAt uint64 // time of the last failure
	level    uint8  // failures in a row; 0 for a healthy endpoint
	errors   uint8  // answers of 500 and above in a row
}

// Fail says that a request sent to slot at startedAt failed without an answer. Of several requests that were on their way
// when an endpoint died, one counts.
func (t *Table) Fail(now uint64, slot int32, startedAt uint64) {
	t.tally[slot].Failures++
	t.fail(now, slot, startedAt)
}

func (t *Table) fail(now uint64, slot int32, startedAt uint64) {
	h := &t.health[slot]
	if h.level > 0 && startedAt < h.failedAt {
		return
	}
	was := t.impairedSlot(slot)
	h.level = min(h.level+1, maxLevel)
	h.errors = 0
	h.failedAt = now
	h.until = now + min(uint64(coolDownMin)<<(h.level-1), coolDownMax)
	t.coolDowns++
	t.transit(now, slot)
	if !was {
		t.impaired++
	}
}

// Answer says that slot answered a request sent at startedAt with this HTTP status.
func (t *Table) Answer(now uint64, slot int32, startedAt uint64, status int) {
	if status >= 500 {
		t.tally[slot].Failures++
	}
	h := &t.health[slot]
	if h.level > 0 && startedAt < h.failedAt {
		return // says nothing about the time since
	}
	if status >= 500 {
		h.errors++
		if h.errors >= serverErrors || h.level > 0 {
			t.fail(now, slot, startedAt)
		}
		return
	}
	h.errors = 0
	if h.level > 0 {
		h.level, h.until = 0, 0
		t.transit(now, slot)
		if !t.impairedSlot(slot) {
			t.impaired--
		}
	}
}

// Probe says that a request is about to be sent to slot. If that is the probe of an endpoint after its cool-down, Probe
// reports true and keeps others away until the answer, for at most the longest cool-down.
func (t *Table) Probe(now uint64, slot int32) bool {
	h := &t.health[slot]
	if h.level == 0 || now < h.until {
		return false
	}
	h.until = now + coolDownMax
	t.transit(now, slot)
	return true
}

// Unprobe says that a probe sent at startedAt ended without telling anything, as when the client left: the next request is a
// probe again.
func (t *Table) Unprobe(now uint64, slot int32, startedAt uint64) {
	if h := &t.health[slot]; h.level > 0 && h.failedAt < startedAt {
		h.until = now
		t.transit(now, slot)
	}
}

// impairedSlot reports whether the slot drains or has failed.
func (t *Table) impairedSlot(s int32) bool { return t.draining[s] || t.health[s].level > 0 }

// cooling reports whether slot is to get no request now.
func (t *Table) cooling(now uint64, s int32) bool {
	return t.health[s].level > 0 && now < t.health[s].until
}

// Usable reports whether slot may get a new request at now: it exists, does not drain and is not cooled down.
func (t *Table) Usable(now uint64, slot int32) bool {
	return t.view.ID[slot] != 0 && !t.draining[slot] && !t.cooling(now, slot)
}

// Candidates appends the slots that may get a new request to out. If there is none it appends the least bad ones, and
// reports true: those that drain but answer, else those that failed least often in a row.
func (t *Table) Candidates(now uint64, out []int32) ([]int32, bool) {
	if t.impaired == 0 {
		return append(out, t.live...), false
	}
	start := len(out)
	best := 2 * (maxLevel + 1)
	for _, s := range t.live {
		badness := t.badness(now, s)
		if badness < best {
			best = badness
			out = out[:start]
		}
		if badness == best {
			out = append(out, s)
		}
	}
	return out, best > 0 && len(out) > start
}

// LeastBad compacts cand to those that should get a request the most.
func (t *Table) LeastBad(now uint64, cand []int32) []int32 {
	best, n := 2*(maxLevel+1), 0
	for _, s := range cand {
		badness := t.badness(now, s)
		if badness < best {
			best, n = badness, 0
		}
		if badness == best {
			cand[n] = s
			n++
		}
	}
	return cand[:n]
}

// badness orders slots by how little they should get a request: 0 is usable, then those that drain, then those that are
// cooled down, by failures in a row.
func (t *Table) badness(now uint64, s int32) int {
	b := 0
	if t.cooling(now, s) {
		b = 2 * int(t.health[s].level)
	}
	if t.draining[s] {
		b++
	}
	return b
}
