package sched

import (
	"bytes"
	"math"
	"slices"

	"github.com/zerohop/zerohop/shared/plan"
)

// Accounting state of the current attempt, in Decision.State.
const (
	holdsPrefill uint8 = 1 << iota // no first byte: tokens and a pending request are booked
	holdsRequest                   // not finished: a request in flight is booked
	answered                       // the endpoint has answered
	isProbe                        // the attempt is the probe of an endpoint that had failed
	owesByte                       // the answer is streamed and has no first byte
	refused                        // the endpoint has answered that it cannot or will not
)

// Commit records the first attempt: in-flight counts, picks since the scrape, and the prompt's chain in the prefix index
// of the chosen endpoint. p is the prompt given to Decide, unchanged since.
func (s *Scheduler) Commit(now uint64, p *Prompt, d *Decision) {
	if d.N == 0 || d.Cur >= 0 || p.Dry {
		return
	}
	s.begin(now, d, 0)
	s.kept.held, s.kept.events = s.kept.held[:0], s.kept.events[:0]
	s.told(now, d)
	if d.Reason != LoadOnly && s.known(p) && s.fleet.Valid(d.Cur, d.CurGen) {
		s.keepChains(p, d)
		s.universal.Observe(p.chain(0))
		s.logPick(now, p, d.Cur, 0)
	}
	if s.plan.Parity != plan.ParityEPP { // there the pick counts, whatever becomes of it
		d.Chain = s.kept.put(p.Starts, p.IDs)
	}
}

// begin books an attempt at entry i of the ranked list.
func (s *Scheduler) begin(now uint64, d *Decision, i int) {
	d.Cur, d.CurGen, d.StartedAt = d.Slots[i], d.Gen[i], now
	d.Tried |= 1 << i
	d.Attempt++
	d.State = 0
	d.Uncached = d.uncached(d.Match[i])
	d.Charged = int32(min(max(0, int64(d.Uncached)+int64(d.Estimate)), math.MaxInt32))
	if !s.fleet.Valid(d.Cur, d.CurGen) {
		return
	}
	d.State = holdsPrefill | holdsRequest
	if s.fleet.Probe(now, d.Cur) {
		d.State |= isProbe
	}
	d.Serial = s.fleet.Begin(now, d.Cur, d.Charged)
	if d.Streams {
		s.fleet.Owe(now, d.Cur)
		d.State |= owesByte
	}
	s.tellHealth(now)
}

// estimate asks the load estimator, if there is one, what d costs at its first choice. What that is above the uncached tokens
// goes along to other endpoints, since the cycle has ended by the time of another attempt.
func (s *Scheduler) estimate(d *Decision) {
	if s.set.estimator == nil {
		return
	}
	tokens, untilEnd := s.set.estimator.Estimate(&s.cycle, d.Slots[0])
	d.Estimate, d.HoldTokens = tokens-d.uncached(d.Match[0]), untilEnd
}

// uncached estimates the tokens of the prompt that an endpoint with this many matched blocks has to compute. An endpoint
// that holds informative blocks holds the universal ones before them.
func (d *Decision) uncached(match int32) int32 {
	if match > 0 {
		match += d.Universal
	}
	return int32(max(0, int64(d.Tokens)-int64(match)*int64(d.BlockTokens)))
}

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

// Retry says that the current attempt failed without a response byte and that an attempt at slot began: the load moves
// with the attempt, what the pick recorded too, and the failed endpoint is cooled down. The slot is the one that Next returned, or Cur for another
// attempt at the same endpoint, and gen is what Gen said of it when its address was given away. If the slot has been given
// to another endpoint since, the attempt goes to one that is gone: nothing is booked for it, and Cur is -1.
func (s *Scheduler) Retry(now uint64, d *Decision, slot int32, gen uint32) {
	s.finish(now, d, true)
	was, wasGen := d.Cur, d.CurGen
	if was != slot || wasGen != gen {
		s.withdraw(now, d, was, wasGen)
	}
	if !s.fleet.Valid(slot, gen) {
		d.Cur, d.CurGen, d.State = -1, 0, 0
		d.Attempt++
		return
	}
	s.begin(now, d, s.entry(d, slot, gen))
	if was != slot || wasGen != gen {
		s.transfer(now, d)
	}
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

// Redirect says that the current attempt goes to slot, which may not be what it was booked for, and reports whether the load
// moved; the endpoint that it was booked for is not at fault. A slot of -1 stands for an address that is not known: nothing
// is booked for it, and Cur is -1, unless the endpoint that the attempt was booked for is gone and may well have been it.
func (s *Scheduler) Redirect(now uint64, d *Decision, slot int32) bool {
	valid := s.fleet.Valid(d.Cur, d.CurGen)
	if slot < 0 && !valid || slot == d.Cur && valid {
		return false
	}
	s.finish(now, d, false)
	s.withdraw(now, d, d.Cur, d.CurGen)
	if slot < 0 {
		d.Cur, d.CurGen, d.State = -1, 0, 0
		return true
	}
	d.Attempt--
	s.begin(now, d, s.entry(d, slot, s.fleet.Gen(slot)))
	s.transfer(now, d)
	return true
}

// entry returns the index of slot at generation gen in the ranked list. If it is not there it gets a place: at the end, or
// if the list is full that of the last entry, which is the least wanted.
func (s *Scheduler) entry(d *Decision, slot int32, gen uint32) int {
	for i := range int(d.N) {
		if d.Slots[i] == slot && d.Gen[i] == gen {
			return i
		}
	}
	i := int(d.N)
	if i < MaxRanked {
		d.N++
	} else {
		i = MaxRanked - 1
	}
	d.Slots[i], d.Gen[i], d.Match[i] = slot, gen, 0
	return i
}

// Status reports the response status of the current attempt (first response header). It is idempotent.
func (s *Scheduler) Status(now uint64, d *Decision, code int) {
	if d.Cur < 0 || d.State&answered != 0 {
		return
	}
	d.State |= answered
	if code >= 500 {
		s.stats.Failures++
	}
	if code >= 500 || code == 429 {
		d.State |= refused
	} else if d.State&owesByte != 0 {
		return // its headers come before any work: the first byte tells
	}
	if s.fleet.Valid(d.Cur, d.CurGen) {
		s.fleet.Answer(now, d.Cur, d.StartedAt, code)
		s.tellHealth(now)
	}
}

// Began reports the first body byte of the response, or its end if it has none: FirstByte, and what that says of the endpoint.
// It is idempotent.
func (s *Scheduler) Began(now uint64, d *Decision) {
	s.FirstByte(d)
	if d.Cur < 0 || d.State&owesByte == 0 {
		return
	}
	d.State &^= owesByte
	if s.fleet.Valid(d.Cur, d.CurGen) {
		s.fleet.Began(now, d.Cur, d.StartedAt, d.State&refused == 0)
		s.tellHealth(now)
	}
}

// FirstByte reports the first body byte of the response: the request waits no longer, and its tokens are released unless they
// stay booked until the end. It is idempotent.
func (s *Scheduler) FirstByte(d *Decision) {
	if d.Cur < 0 || d.State&holdsPrefill == 0 {
		return
	}
	d.State &^= holdsPrefill
	s.fleet.FirstByte(d.Cur, d.CurGen, d.Charged-d.held(), d.Serial)
}

// held returns the tokens that stay booked after the first byte.
func (d *Decision) held() int32 {
	if d.HoldTokens {
		return d.Charged
	}
	return 0
}

// Done releases everything that d still holds, exactly once, however the stream ended. failed says that the current
// attempt ended without a response from the endpoint.
func (s *Scheduler) Done(now uint64, d *Decision, failed bool) {
	if d.Cur < 0 {
		return
	}
	bad := d.State&refused != 0 || failed && d.State&answered == 0
	s.finish(now, d, failed)
	if bad {
		s.withdraw(max(now, d.StartedAt), d, d.Cur, d.CurGen)
	}
	d.Cur = -1
}

// finish ends the current attempt.
func (s *Scheduler) finish(now uint64, d *Decision, failed bool) {
	if d.State&holdsRequest == 0 {
		return
	}
	s.FirstByte(d)
	s.fleet.End(d.Cur, d.CurGen, d.held())
	if failed && d.State&answered == 0 {
		s.stats.Failures++
	}
	if s.fleet.Valid(d.Cur, d.CurGen) {
		silent := d.State&answered == 0
		switch {
		case silent && failed:
			s.fleet.Fail(now, d.Cur, d.StartedAt)
		case (silent || d.State&(owesByte|refused) == owesByte) && d.State&isProbe != 0:
			s.fleet.Unprobe(now, d.Cur, d.StartedAt)
		}
		if d.State&owesByte != 0 {
			s.fleet.Paid(d.Cur)
		}
		s.tellHealth(now)
	}
	d.State = 0
}
