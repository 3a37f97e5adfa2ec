package fleet

import "math"

// How an endpoint that fails is treated: it gets no request for a cool-down, then one request as a probe. Good news of a
// request sent after the failure ends it. The cool-down doubles with each failure in a row, and also with one that follows
// soon after a recovery, so that an endpoint that fails now and then is not away for half a second each time.
const (
	coolDownMin = 500_000_000    // ns, after the first failure
	coolDownMax = 10_000_000_000 // ns
	maxLevel    = 6              // failures in a row after which the cool-down grows no more
	softLevel   = 1              // the same of an endpoint that is busy or slow: it needs less work, not none
	fadeNs      = 5_000_000_000  // time in which a failure in a row before the recovery is forgotten

	// tooBad is the number of bad answers that is a failure. It is a little less than three, the number of such answers in a
	// row, since they fade. Good answers take a share away, so that bad ones among them come to it if they are 40 % or more.
	tooBad     = 2.6
	goodTakes  = 0.25
	halfLifeNs = 30_000_000_000
	busyCounts = 0.5 // what 429 counts, which may be meant for the client rather than say something of the endpoint

	// DefaultSlow is the time after which the first byte of a streaming answer counts as bad.
	DefaultSlow = 30_000_000_000
)

// health is what is known about an endpoint's answers.
type health struct {
	_ [0]func() // not comparable, for the size of the module

	until    uint64  // while level > 0: no request before this time
	failedAt uint64  // time of the last failure
	badAt    uint64  // time for which bad is
	heardAt  uint64  // when the endpoint last sent a first byte of a streaming answer, or has begun to owe one
	bad      float32 // bad answers, faded
	owed     int32   // streaming requests of this worker without a first byte
	level    uint8   // failures in a row; 0 for a healthy endpoint
	before   uint8   // level at the last recovery
}

// Slow sets the time after which the first byte of a streaming answer counts as bad, and an endpoint that has sent none for so
// long, while it owes some, as failed.
func (t *Table) Slow(ns uint64) { t.slow = ns }

// Fail says that a request sent to slot at startedAt failed without an answer. Of several requests that were on their way
// when an endpoint died, one counts.
func (t *Table) Fail(now uint64, slot int32, startedAt uint64) {
	t.tally[slot].Failures++
	t.fail(now, slot, startedAt, maxLevel)
}

// fail begins a cool-down. most is what it may raise the level to.
func (t *Table) fail(now uint64, slot int32, startedAt uint64, most uint8) {
	h := &t.places[slot].health
	if h.level > 0 && startedAt < h.failedAt {
		return
	}
	was := t.impairedSlot(slot)
	if h.level == 0 {
		h.level = h.before - uint8(min(uint64(h.before), (now-min(now, h.failedAt))/fadeNs))
	}
	h.level = max(h.level, min(h.level+1, most))
	h.failedAt, h.before = now, 0
	h.until = now + min(uint64(coolDownMin)<<(h.level-1), coolDownMax)
	t.coolDowns++
	t.transit(now, slot)
	if !was {
		t.impaired++
	}
}

// Failed reports whether slot has failed and not answered since.
func (t *Table) Failed(slot int32) bool { return t.places[slot].health.level > 0 }

// Praise is Answer with a good status, of a slot that has not Failed.
func (t *Table) Praise(slot int32) { t.places[slot].health.bad *= 1 - goodTakes }

// Answer says that slot answered a request sent at startedAt with this HTTP status.
func (t *Table) Answer(now uint64, slot int32, startedAt uint64, status int) {
	switch {
	case status >= 500:
		t.tally[slot].Failures++
		t.answerBad(now, slot, startedAt, 1, maxLevel)
	case status == 429:
		t.answerBad(now, slot, startedAt, busyCounts, softLevel)
	case t.Failed(slot):
		t.heal(now, slot, startedAt)
	default:
		t.Praise(slot)
	}
}

func (t *Table) answerBad(now uint64, slot int32, startedAt uint64, counts float32, most uint8) {
	h := &t.places[slot].health
	if h.level > 0 && startedAt < h.failedAt {
		return // says nothing about the time since
	}
	h.fade(now)
	h.bad = min(h.bad+counts, tooBad)
	if h.bad >= tooBad || h.level > 0 {
		t.fail(now, slot, startedAt, most)
	}
}

// heal is for a good answer of a slot that has failed: that ends it, unless the request sent at startedAt was on its way before that.
//
//go:noinline
func (t *Table) heal(now uint64, slot int32, startedAt uint64) {
	h := &t.places[slot].health
	if startedAt < h.failedAt {
		return
	}
	h.bad *= 1 - goodTakes
	h.before, h.level, h.until = h.level, 0, 0
	t.transit(now, slot)
	if !t.impairedSlot(slot) {
		t.impaired--
	}
}

// fade lets time take its part of the bad answers.
func (h *health) fade(now uint64) {
	if h.bad > 0 && now > h.badAt {
		h.bad *= float32(math.Exp2(-float64(now-h.badAt) / halfLifeNs))
	}
	h.badAt = now
}

// Owe says that a streaming request was sent to slot.
func (t *Table) Owe(now uint64, slot int32) {
	h := &t.places[slot].health
	if h.owed == 0 {
		h.heardAt = now
	}
	h.owed++
}

// Owed returns the number of streaming requests of this worker at slot that have no first byte.
func (t *Table) Owed(slot int32) int32 { return t.places[slot].health.owed }

// Paid says that such a request is over without a first byte.
func (t *Table) Paid(slot int32) { t.places[slot].health.owed-- }

// Began says that the first byte came of the answer to such a request, sent at startedAt. That is good news unless it took
// too long, or the answer was bad.
func (t *Table) Began(now uint64, slot int32, startedAt uint64, good bool) {
	h := &t.places[slot].health
	h.owed--
	h.heardAt = now
	switch {
	case !good:
	case now-min(startedAt, now) >= t.slow:
		t.answerBad(now, slot, startedAt, 1, softLevel)
	case t.Failed(slot):
		t.heal(now, slot, startedAt)
	default:
		t.Praise(slot)
	}
}

// Overdue cools down endpoints that owe first bytes and have sent none for too long, though they may have sent headers.
func (t *Table) Overdue(now uint64) {
	for _, s := range t.live {
		if h := &t.places[s].health; h.owed > 0 && now-min(h.heardAt, now) >= t.slow {
			h.heardAt = now
			t.fail(now, s, now, softLevel)
		}
	}
}

// Probe says that a request is about to be sent to slot. If that is the probe of an endpoint after its cool-down, Probe
// reports true and keeps others away until the answer, for at most the longest cool-down.
func (t *Table) Probe(now uint64, slot int32) bool {
	return t.places[slot].health.level > 0 && t.probe(now, slot)
}

//go:noinline
func (t *Table) probe(now uint64, slot int32) bool {
	h := &t.places[slot].health
	if now < h.until {
		return false
	}
	h.until = now + coolDownMax
	t.transit(now, slot)
	return true
}

// Unprobe says that a probe sent at startedAt ended without telling anything, as when the client left: the next request is a
// probe again.
//
//go:noinline
func (t *Table) Unprobe(now uint64, slot int32, startedAt uint64) {
	if h := &t.places[slot].health; h.level > 0 && h.failedAt < startedAt {
		h.until = now
		t.transit(now, slot)
	}
}

// impairedSlot reports whether the slot drains or has failed.
func (t *Table) impairedSlot(s int32) bool {
	return t.places[s].draining || t.places[s].health.level > 0
}

// cooling reports whether slot is to get no request now.
func (t *Table) cooling(now uint64, s int32) bool {
	return t.places[s].health.level > 0 && now < t.places[s].health.until
}

// Usable reports whether slot may get a new request at now: it exists, does not drain and is not cooled down.
func (t *Table) Usable(now uint64, slot int32) bool {
	return t.places[slot].id != 0 && !t.places[slot].draining && !t.cooling(now, slot)
}

// Impaired reports whether any slot drains or has failed. If not, the candidates are Live.
func (t *Table) Impaired() bool { return t.impaired != 0 }

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
		b = 2 * int(t.places[s].health.level)
	}
	if t.places[s].draining {
		b++
	}
	return b
}
