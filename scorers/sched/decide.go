package sched

import (
	"math"

	"github.com/cespare/xxhash/v2"

	"github.com/zerohop/zerohop/scorers"
	"github.com/zerohop/zerohop/shared/blockhash"
	"github.com/zerohop/zerohop/shared/plan"
)

// Decide ranks the endpoints for p into d and records nothing. It overwrites p.IDs with chain hashes.
func (s *Scheduler) Decide(now uint64, p *Prompt, d *Decision) Reason {
	if !p.Dry {
		return s.decide(now, p, d)
	}
	random, stats := s.rand, s.stats
	s.decide(now, p, d)
	s.rand, s.stats = random, stats
	return d.Reason
}

func (s *Scheduler) decide(now uint64, p *Prompt, d *Decision) Reason {
	s.decided++
	*d = Decision{
		Cur: -1, Tokens: int32(min(p.Tokens, math.MaxInt32)), MaxTokens: int32(min(p.MaxTokens, math.MaxInt32)),
		BlockTokens: int32(s.blockTokens), Decided: s.decided, Streams: p.Streams,
	}
	if s.explain != nil {
		s.explain.reset(s.set)
	}
	s.fleet.Refresh(now)
	s.request(now, p)
	req := &s.cycle.Request
	d.Reason = Scored
	if !s.known(p) {
		d.Reason = LoadOnly
		clear(req.Match)
	} else {
		req.TotalBlocks, d.Universal = s.lookUp(p)
		d.Total, req.Universal = int32(req.TotalBlocks), d.Universal
	}
	cand, degraded := s.fleet.Candidates(now, s.cand[:0])
	if s.explain != nil {
		s.explain.held(s, now)
	}
	outcome := NoEndpoint
	if len(cand) > 0 {
		if s.fleet.LabelsUnknown() {
			s.stats.LabelsUnknown++
		}
		outcome = s.rank(cand, d)
	}
	switch {
	case outcome != Scored:
		d.Reason = outcome
	case degraded:
		d.Reason = AllCooling
	}
	if outcome == Scored || outcome == AllCooling {
		d.Neutral = s.cycle.Neutral
		s.stats.Neutral += uint64(d.Neutral)
		d.Matched = d.Match[0]
		s.estimate(d)
	}
	if s.explain != nil {
		s.explain.Reason, s.explain.Priority = d.Reason, req.Priority
		s.explain.session(s, d)
	}
	return d.Reason
}

// request begins a cycle for p.
func (s *Scheduler) request(now uint64, p *Prompt) {
	c := &s.cycle
	c.Now, c.Neutral, c.Dry = now, 0, p.Dry
	r := &c.Request
	r.PromptTokens, r.MaxTokens, r.BlockTokens = p.Tokens, p.MaxTokens, s.blockTokens
	r.TotalBlocks, r.Universal, r.Match = 0, 0, s.match[:s.fleet.Slots()]
	r.HasBody = p.HasBody
	if s.set.reads {
		s.wanted(p, &s.set.wants)
	}
}

// wanted fills in what only some plugins ask for.
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

// known reports whether the prompt has blocks that can be looked up. A prompt that was cut before the block size changed
// cannot.
func (s *Scheduler) known(p *Prompt) bool {
	return len(p.IDs) > 0 && p.BlockTokens == s.blockTokens && len(p.Starts) > 0
}

// lookUp chains the blocks of p and finds by slot how many informative ones are held. It returns the number of informative
// blocks, and of universal ones left out.
func (s *Scheduler) lookUp(p *Prompt) (total int, universalBlocks int32) {
	if len(p.IDs) > s.maxBlocks {
		p.IDs = p.IDs[:s.maxBlocks]
	}
	match := s.match[:s.fleet.Slots()]
	clear(match)
	for i := range p.Starts {
		chain := p.chain(i)
		h := p.Seed
		for b, id := range chain {
			h = blockhash.Chain(h, id)
			chain[b] = h
		}
		skip := int32(0)
		if s.plan.Parity != plan.ParityEPP {
			skip = int32(s.universal.Len(chain))
		}
		total += len(chain) - int(skip)
		universalBlocks += skip
		if len(p.Starts) == 1 {
			s.index.Match(chain, match)
			for s.share.log != nil && s.fetch(chain) {
				clear(match)
				s.index.Match(chain, match)
			}
			discount(match, match, skip)
			break
		}
		one := s.prompt[:len(match)]
		clear(one)
		s.index.Match(chain, one)
		for s.share.log != nil && s.fetch(chain) {
			clear(one)
			s.index.Match(chain, one)
		}
		discount(match, one, skip)
	}
	if universalBlocks > 0 {
		s.stats.UniversalHits++
	}
	return total, universalBlocks
}

// discount adds what is above skip in from to to; the same slice in both is reduced by skip.
func discount(to, from []int32, skip int32) {
	if len(to) == 0 {
		return // there is no endpoint
	}
	if &to[0] == &from[0] {
		if skip > 0 {
			for i, m := range to {
				to[i] = max(0, m-skip)
			}
		}
		return
	}
	for i, m := range from {
		to[i] += max(0, m-skip)
	}
}

// chain returns the blocks of prompt i.
func (p *Prompt) chain(i int) []uint64 {
	n := int32(len(p.IDs))
	end := n
	if i+1 < len(p.Starts) {
		end = min(p.Starts[i+1], n)
	}
	return p.IDs[min(p.Starts[i], end):end]
}

// rank runs admitters, profile handler and profile over cand and fills the ranked list of d. The outcome is Scored if there
// is one, or AllCooling if only endpoints are left that should get no request.
func (s *Scheduler) rank(cand []int32, d *Decision) Reason {
	c := &s.cycle
	d.Candidates, d.Left = uint16(min(len(cand), math.MaxUint16)), 0
	if s.explain != nil {
		s.explain.candidates(s, cand)
	}
	for i := range s.set.admitters {
		if a := &s.set.admitters[i]; !a.Admit(c, cand) {
			s.stats.Denied++
			if s.explain != nil {
				s.explain.denied(a, c, cand)
			}
			return Denied
		}
	}
	i := s.set.handler.Profile(c)
	if i < 0 || i >= len(s.set.list) {
		return NoProfile
	}
	pr := &s.set.list[i]
	c.Profile, d.Profile = i, uint8(i)
	if s.explain != nil {
		s.explain.Profile = pr.name
	}
	outcome := Scored
	cand = s.filter(pr, cand, d)
	if len(cand) == 0 && len(pr.rules) > 0 && int(d.Candidates) < len(s.fleet.Live()) {
		outcome = AllCooling
		cand = s.again(pr, d)
	}
	if len(cand) == 0 {
		return FilteredOut
	}
	d.Left = uint16(min(len(cand), math.MaxUint16))
	total := s.total[:len(cand)]
	s.sum(pr, cand, total)
	if s.explain != nil {
		s.explain.summed(cand, total)
	}
	picked := len(pr.picker.Pick(c, cand, total, MaxRanked))
	if picked == 0 {
		return FilteredOut
	}
	d.Picked = uint8(picked)
	for _, slot := range cand[:follow(cand, total, picked)] {
		d.rank(slot, s.fleet.Gen(slot), c.Request.Match[slot])
	}
	d.Kept = d.N
	if s.explain != nil {
		s.explain.ranked(d)
	}
	s.spare(pr, d)
	return outcome
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

// sum writes the weighted total of each candidate's scores. Scores that break the contract are clamped and counted. A total
// can be infinite, where weights are huge, and is never NaN: each term is finite.
func (s *Scheduler) sum(pr *profile, cand []int32, total []float64) {
	clear(total)
	score := s.score[:len(cand)]
	for k := range pr.scorers {
		w := &pr.scorers[k]
		w.Score(&s.cycle, cand, score)
		if s.explain != nil {
			s.explain.scored(w, score)
		}
		for i, v := range score {
			if !(v >= 0 && v <= 1) {
				v = clamp(v)
				s.stats.Clamped++
			}
			total[i] += w.weight * v
		}
	}
}

// clamp returns v limited to [0,1], and 0 for NaN.
func clamp(v float64) float64 {
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
