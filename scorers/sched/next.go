package sched

import (
	"bytes"
	"slices"
)

// Next returns the slot for the attempt after the current one, or -1 if no other endpoint is left. Of the ranked endpoints
// that were not tried and may get a request it takes the first that the profile's picker chose, in the picker's order; else
// the one with the least prompt work before the request's first token, of those that the filters left if there is one; if there
// is none, any other that the rules of the profile allow. It accounts nothing.
func (s *Scheduler) Next(now uint64, d *Decision) int32 { return s.next(now, d, nil) }

// Following appends to list the slots of the attempts after the current one, as Next would give them one after the other if
// each failed, until list has reached its capacity or no other endpoint is left. It accounts nothing.
func (s *Scheduler) Following(now uint64, d *Decision, list []int32) []int32 {
	for len(list) < cap(list) {
		slot := s.next(now, d, list)
		if slot < 0 {
			break
		}
		list = append(list, slot)
	}
	return list
}

// next is Next for when the endpoints of skip are to be tried before.
func (s *Scheduler) next(now uint64, d *Decision, skip []int32) int32 {
	best, least := int32(-1), int64(0)
	bad, leastBad := int32(-1), int64(0)
	for i := range int(d.N) {
		if i == int(d.Kept) && best >= 0 {
			break
		}
		slot := d.Slots[i]
		if d.Tried>>i&1 != 0 || slices.Contains(skip, slot) || !s.fleet.Valid(slot, d.Gen[i]) {
			continue
		}
		usable := s.fleet.Usable(now, slot)
		if usable && i < int(d.Picked) {
			return slot
		}
		w := s.work(d, slot, d.Match[i])
		switch {
		case usable && (best < 0 || w < least):
			best, least = slot, w
		case !usable && (bad < 0 || w < leastBad):
			bad, leastBad = slot, w
		}
	}
	switch {
	case best >= 0:
		return best
	case d.Bound:
		return bad
	}
	return s.nextUnranked(now, d, skip)
}

// nextUnranked returns the endpoint outside the ranked list with the least work, or else the least bad one not tried.
func (s *Scheduler) nextUnranked(now uint64, d *Decision, skip []int32) int32 {
	best, least := int32(-1), int64(0)
	bad, leastBad := int32(-1), int64(0)
	for _, slot := range s.fleet.Live() {
		if s.tried(d, slot) || slices.Contains(skip, slot) {
			continue
		}
		w := s.work(d, slot, 0)
		if s.fleet.Usable(now, slot) {
			if best < 0 || w < least {
				best, least = slot, w
			}
		} else if bad < 0 || w < leastBad {
			bad, leastBad = slot, w
		}
	}
	if best >= 0 {
		return best
	}
	return bad
}

// tried reports whether an attempt at slot was made.
func (s *Scheduler) tried(d *Decision, slot int32) bool {
	for i := range int(d.N) {
		if d.Slots[i] == slot && d.Tried>>i&1 != 0 && d.Gen[i] == s.fleet.Gen(slot) {
			return true
		}
	}
	return false
}

// work estimates the tokens that slot computes before the first token of d's request: those that our own requests are booked
// with, those of waiting requests, taken to be as long as this one, and the uncached ones of its prompt.
func (s *Scheduler) work(d *Decision, slot, match int32) int64 {
	return s.fleet.View().InFlightTokens[slot] + int64(s.fleet.Queue(slot)*float64(d.Tokens)) + int64(d.uncached(match))
}

// Find returns the slot with the address ip:port, or -1 if there is none. Endpoints that d ranks are looked at first.
func (s *Scheduler) Find(d *Decision, address []byte) int32 {
	for i := range int(d.N) {
		if s.fleet.Valid(d.Slots[i], d.Gen[i]) && bytes.Equal(s.fleet.Address(d.Slots[i]), address) {
			return d.Slots[i]
		}
	}
	for _, slot := range s.fleet.Live() {
		if bytes.Equal(s.fleet.Address(slot), address) {
			return slot
		}
	}
	return -1
}
