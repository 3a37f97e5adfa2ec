package sched

import "math"

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
	k := &s.kept
	k.held, k.events = k.held[:0], k.events[:0]
	if len(s.set.picked) > 0 {
		s.told(now, d)
	}
	if d.Reason != LoadOnly && d.State != 0 && s.known(p) {
		for i := range p.Starts {
			chain := p.chain(i)
			if s.share.log != nil {
				s.describe(chain)
			}
			k.held = append(k.held, uint32(s.index.Record(chain, d.Cur)))
		}
		s.observe(p.chain(0), s.share.seq+1)
		s.logPick(now, p, d.Cur, 0)
	}
	if !s.parity { // there the pick counts, whatever becomes of it
		d.Chain = k.put(p.Starts, p.IDs)
	}
}

// begin books an attempt at entry i of the ranked list. If the endpoint is gone State is 0.
func (s *Scheduler) begin(now uint64, d *Decision, i int) {
	d.Cur, d.CurGen, d.StartedAt = d.Slots[i], d.Gen[i], now
	d.Tried |= 1 << i
	d.Attempt++
	d.State = 0
	d.Uncached = d.uncached(d.Match[i])
	d.Charged = int32(min(max(0, int64(d.Uncached)+int64(d.Estimate)), math.MaxInt32))
	d.Held = 0
	if d.HoldTokens {
		d.Held = d.Charged
	}
	if !s.fleet.Valid(d.Cur, d.CurGen) {
		return
	}
	d.State = holdsPrefill | holdsRequest
	if s.fleet.Probe(now, d.Cur) {
		d.State |= isProbe
		s.tellHealth(now)
	}
	d.Serial = s.fleet.Begin(now, d.Cur, d.Charged)
	if d.Streams {
		s.fleet.Owe(now, d.Cur)
		d.State |= owesByte
	}
}

// estimate asks the load estimator what d costs at its first choice. What that is above the uncached tokens
// goes along to other endpoints, since the cycle has ended by the time of another attempt.
func (s *Scheduler) estimate(d *Decision) {
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
	if !s.fleet.Valid(d.Cur, d.CurGen) {
		return
	}
	if d.State&refused == 0 && !s.fleet.Failed(d.Cur) {
		s.fleet.Praise(d.Cur)
		return
	}
	s.fleet.Answer(now, d.Cur, d.StartedAt, code)
	s.tellHealth(now)
}

// Began reports the first body byte of the response, or its end if it has none: FirstByte, and what that says of the endpoint.
// It is idempotent.
func (s *Scheduler) Began(now uint64, d *Decision) {
	if d.Cur < 0 {
		return
	}
	if d.State&holdsPrefill != 0 {
		s.release(d)
	}
	if d.State&owesByte == 0 {
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
	if d.Cur >= 0 && d.State&holdsPrefill != 0 {
		s.release(d)
	}
}

// release books that the current attempt, which has waited for its first byte, does so no longer.
func (s *Scheduler) release(d *Decision) {
	d.State &^= holdsPrefill
	s.fleet.FirstByte(d.Cur, d.CurGen, d.Charged-d.Held, d.Serial)
}

// Done releases everything that d still holds, exactly once, however the stream ended. failed says that the current
// attempt ended without a response from the endpoint.
func (s *Scheduler) Done(now uint64, d *Decision, failed bool) {
	if d.Cur < 0 {
		return
	}
	if d.State == holdsRequest|answered { // most end like that
		s.fleet.End(d.Cur, d.CurGen, d.Held)
		d.State, d.Cur = 0, -1
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
	if d.State&holdsPrefill != 0 {
		s.release(d)
	}
	s.fleet.End(d.Cur, d.CurGen, d.Held)
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
