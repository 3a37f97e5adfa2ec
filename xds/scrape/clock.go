package scrape

import (
	"math/rand/v2"
	"time"
)

const (
	// maxPhase bounds the delay of the first try.
	maxPhase = time.Second
	// jitterShare is the part of the interval by which a slot may be late.
	jitterShare = 40
	// slotLength is about how long a slot is. The tries of a slot begin together, so that the agent wakes up 100 times a second
	// and not once for each try: with 1,000 endpoints it needs 0.28 cores, and 0.33 with slots of 1 ms (e2e/benchagent).
	slotLength = 10 * time.Millisecond
)

// clock divides time into slots, the same for all endpoints. An endpoint has every n-th of them, which is a little more often
// than the interval says, because each slot begins a little late, by its own random time: so two tries are never further apart
// than the interval. Nothing drifts: endpoints that share a slot go on doing so, and their results go out in one version.
type clock struct {
	epoch  time.Time
	slot   time.Duration
	slots  int64 // of an endpoint's period
	slack  time.Duration
	random func(slot int64) float64 // in [0,1)
}

// newClock returns a clock that begins at now. Its lateness follows from the seed.
func newClock(now time.Time, interval time.Duration, seed uint64) *clock {
	c := &clock{epoch: now, slack: interval / jitterShare}
	period := interval - c.slack
	c.slots = max(1, int64(period/slotLength))
	c.slot = period / time.Duration(c.slots)
	c.random = func(slot int64) float64 {
		var g rand.PCG
		g.Seed(seed, uint64(slot))
		return float64(g.Uint64()>>11) / (1 << 53)
	}
	return c
}

// due returns when a slot begins.
func (c *clock) due(slot int64) time.Time {
	return c.epoch.Add(time.Duration(slot)*c.slot + time.Duration(c.random(slot)*float64(c.slack)))
}

// first returns an endpoint's first slot, at a phase in [0,1) of its period.
func (c *clock) first(now time.Time, phase float64) int64 {
	slots := min(c.slots, max(1, int64(maxPhase/c.slot)))
	return c.notBefore(now) + int64(phase*float64(slots))
}

// next returns the slot of an endpoint's next try after the one in slot: the first of its slots that is not before earliest.
func (c *clock) next(slot int64, earliest time.Time) int64 {
	missing := c.notBefore(earliest) - slot
	return slot + max(1, (missing+c.slots-1)/c.slots)*c.slots
}

// notBefore returns the first slot that is not before t, lateness aside.
func (c *clock) notBefore(t time.Time) int64 {
	return int64((t.Sub(c.epoch) + c.slot - 1) / c.slot)
}
