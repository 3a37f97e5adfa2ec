package sched

import (
	"math"

	"github.com/cespare/xxhash/v2"

	"github.com/zerohop/zerohop/scorers"
)

// Decide ranks the endpoints for p into d and records nothing. It overwrites p.IDs with chain hashes.
//
// A request comes by few functions here: other code runs between two requests, so that fetching a function costs more than
// running it. What most requests do not need stands in functions of its own.
func (s *Scheduler) Decide(now uint64, p *Prompt, d *Decision) Reason {
	if p.Dry {
		s.undo.rand, s.undo.stats = s.rand, s.stats
	}
	s.decided++
	*d = Decision{}
	d.Cur, d.BlockTokens, d.Decided, d.Streams = -1, int32(s.blockTokens), s.decided, p.Streams
	d.Tokens, d.MaxTokens = int32(min(p.Tokens, math.MaxInt32)), int32(min(p.MaxTokens, math.MaxInt32))
	s.fleet.Refresh(now)
	s.request(now, p)
	if s.set.reads {
		s.wanted(p, &s.set.wants)
	}
	reason := LoadOnly
	if s.known(p) {
		reason = Scored
		s.lookUp(p, d)
	} else {
		clear(s.cycle.Request.Match)
	}
	live := s.fleet.Live()
	cand := s.cand[:len(live)]
	copy(cand, live)
	if s.fleet.Impaired() {
		var degraded bool
		if cand, degraded = s.fleet.Candidates(now, cand[:0]); degraded {
			reason = AllCooling
		}
	}
	if s.explain != nil {
		s.explain.begin(s, now)
	}
	if outcome := s.rank(cand, d); outcome != Scored {
		reason = outcome
	}
	d.Reason = reason
	if s.explain != nil {
		s.explain.end(s, d)
	}
	if p.Dry {
		s.rand, s.stats = s.undo.rand, s.undo.stats
	}
	return reason
}

// request begins a cycle for p.
func (s *Scheduler) request(now uint64, p *Prompt) {
	c := &s.cycle
	c.Now, c.Neutral, c.Dry = now, 0, p.Dry
	r := &c.Request
	r.PromptTokens, r.MaxTokens, r.BlockTokens = p.Tokens, p.MaxTokens, s.blockTokens
	r.TotalBlocks, r.Universal, r.Match = 0, 0, s.match[:s.fleet.Slots()]
	r.HasBody = p.HasBody
}

// wanted fills in what only some plugins ask for.
//
//go:noinline
func (s *Scheduler) wanted(p *Prompt, w *scorers.Wants) {
	r := &s.cycle.Request
	r.Model, r.Headers = p.Model, p.Headers
	r.ModelHash, r.Priority, r.TTFTms, r.TPOTms = 0, 0, 0, 0
	if len(r.Model) > 0 && (w.Models || w.LoRA) {
		r.ModelHash = xxhash.Sum64(r.Model)
	}
	if name := w.Priority.Get(&r.Headers); name != nil {
		r.Priority = s.set.objectives[string(name)]
	}
	if b := w.SLO.Get(&r.Headers); b != nil {
		r.TTFTms, _ = scorers.ParseMs(b)
	}
	if b := w.TPOT.Get(&r.Headers); b != nil {
		r.TPOTms, _ = scorers.ParseMs(b)
	}
}

// rank runs admitters, profile handler and profile over cand and fills the ranked list of d. The outcome is Scored if there
// is one, or AllCooling if only endpoints are left that should get no request.
func (s *Scheduler) rank(cand []int32, d *Decision) Reason {
	if len(cand) == 0 {
		return NoEndpoint
	}
	if s.fleet.LabelsUnknown() {
		s.stats.LabelsUnknown++
	}
	d.Candidates = uint16(min(len(cand), math.MaxUint16))
	if s.explain != nil {
		s.explain.candidates(s, cand)
	}
	if len(s.set.admitters) > 0 && !s.admit(cand) {
		return Denied
	}
	c := &s.cycle
	i := s.set.always
	if !s.set.constant {
		i = s.set.handler.Profile(c)
	}
	if i < 0 || i >= len(s.set.list) {
		return NoProfile
	}
	pr := &s.set.list[i]
	c.Profile, d.Profile = i, uint8(i)
	outcome := Scored
	if len(pr.filters) > 0 {
		if cand, outcome = s.narrow(pr, cand, d); len(cand) == 0 {
			return FilteredOut
		}
	}
	if !s.order(pr, cand, d) {
		return FilteredOut
	}
	if len(pr.rules) > 0 {
		s.spare(pr, d)
	}
	d.Neutral, d.Matched = c.Neutral, d.Match[0]
	s.stats.Neutral += uint64(d.Neutral)
	if s.set.estimator != nil {
		s.estimate(d)
	}
	return outcome
}

// admit reports whether all admitters let the request in.
func (s *Scheduler) admit(cand []int32) bool {
	for i := range s.set.admitters {
		if a := &s.set.admitters[i]; !a.Admit(&s.cycle, cand) {
			s.stats.Denied++
			if s.explain != nil {
				s.explain.denied(a, &s.cycle, cand)
			}
			return false
		}
	}
	return true
}

// narrow runs the filters of a profile. The outcome is AllCooling if they left only endpoints that should get no request.
func (s *Scheduler) narrow(pr *profile, cand []int32, d *Decision) ([]int32, Reason) {
	cand = s.filter(pr, cand, d)
	if len(cand) == 0 && len(pr.rules) > 0 && int(d.Candidates) < len(s.fleet.Live()) {
		return s.again(pr, d), AllCooling
	}
	return cand, Scored
}

// filter runs the filters of a profile until nothing is left.
func (s *Scheduler) filter(pr *profile, cand []int32, d *Decision) []int32 {
	for i := range pr.filters {
		f := &pr.filters[i]
		d.Emptied = uint8(min(i, math.MaxUint8))
		cand = f.Filter.Filter(&s.cycle, cand)
		if s.explain != nil {
			s.explain.filtered(f, cand)
		}
		if len(cand) == 0 {
			break
		}
	}
	return cand
}

// order fills the ranked list of d with the best of cand, and reports whether the picker chose any. A total can be infinite,
// where weights are huge, and is never NaN: each term is finite, since scores that break the contract are clamped and counted.
func (s *Scheduler) order(pr *profile, cand []int32, d *Decision) bool {
	d.Left = uint16(min(len(cand), math.MaxUint16))
	total, score := s.total[:len(cand)], s.score[:len(cand)]
	clear(total)
	for k := range pr.scorers {
		w := &pr.scorers[k]
		w.Score(&s.cycle, cand, score)
		if s.explain != nil {
			s.explain.scored(w, score)
		}
		for i, v := range score {
			if !(v >= 0 && v <= 1) {
				v = s.clamp(v)
			}
			total[i] += w.weight * v
		}
	}
	if s.explain != nil {
		s.explain.summed(cand, total)
	}
	picked := len(pr.picker.Pick(&s.cycle, cand, total, MaxRanked))
	if picked == 0 {
		return false
	}
	match := s.cycle.Request.Match
	n := follow(cand, total, picked)
	for i, slot := range cand[:n] {
		d.Slots[i], d.Gen[i], d.Match[i] = slot, s.fleet.Gen(slot), match[slot]
	}
	d.Picked, d.N, d.Kept = uint8(picked), uint8(n), uint8(n)
	if s.explain != nil {
		s.explain.ranked(d)
	}
	return true
}

// clamp returns a score that is outside of [0,1] limited to that, and 0 for NaN, and counts it.
//
//go:noinline
func (s *Scheduler) clamp(v float64) float64 {
	s.stats.Clamped++
	if v > 1 {
		return 1
	}
	return 0
}

// follow moves the best of what the picker left behind its picks, sorted, up to MaxRanked in all, for later attempts. It
// returns the length of the ranked list. Most candidates lose against the last place and cost one comparison.
func follow(cand []int32, total []float64, picked int) int {
	n := min(len(cand), MaxRanked)
	if picked >= n {
		return n
	}
	for i := picked + 1; i < len(cand); i++ {
		end := min(i, n) // places taken
		c, v := cand[i], total[i]
		if end == n {
			if v <= total[n-1] {
				continue
			}
			cand[i], total[i] = cand[n-1], total[n-1]
			end--
		}
		for ; end > picked && total[end-1] < v; end-- {
			cand[end], total[end] = cand[end-1], total[end-1]
		}
		cand[end], total[end] = c, v
	}
	return n
}
