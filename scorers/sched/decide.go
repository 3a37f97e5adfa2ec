package sched

import (
	"math"

	"github.com/zerohop/zerohop/scorers"
	"github.com/zerohop/zerohop/shared/blockhash"
)

// Decide ranks the endpoints for p into d and records nothing. It overwrites p.IDs with chain hashes.
func (s *Scheduler) Decide(now uint64, p *Prompt, d *Decision) Reason {
	*d = Decision{
		Cur: -1, Tokens: int32(min(p.Tokens, math.MaxInt32)), MaxTokens: int32(min(p.MaxTokens, math.MaxInt32)),
		BlockTokens: int32(s.blockTokens),
	}
	s.fleet.Refresh(now)
	slots := s.fleet.Slots()
	req := scorers.Request{
		PromptTokens: p.Tokens, MaxTokens: p.MaxTokens, BlockTokens: s.blockTokens, Match: s.match[:slots],
	}
	d.Reason = Scored
	if !s.known(p) {
		d.Reason = LoadOnly
		clear(req.Match)
	} else {
		req.TotalBlocks, d.Universal = s.lookUp(p)
		d.Total = int32(req.TotalBlocks)
	}
	cand, degraded := s.fleet.Candidates(now, s.cand[:0])
	if len(cand) == 0 {
		d.Reason = NoEndpoint
		return d.Reason
	}
	s.cycle = scorers.Cycle{Now: now, Endpoints: s.fleet.View(), Request: req, Rand: &s.rand}
	if !s.rank(cand, d) {
		d.Reason = FilteredOut
		return d.Reason
	}
	if degraded {
		d.Reason = AllCooling
	}
	d.Neutral = s.cycle.Neutral
	s.stats.Neutral += uint64(d.Neutral)
	d.Matched = d.Match[0]
	return d.Reason
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
		skip := int32(s.universal.Len(chain))
		total += len(chain) - int(skip)
		universalBlocks += skip
		if len(p.Starts) == 1 {
			s.index.Match(chain, match)
			discount(match, match, skip)
			break
		}
		one := s.prompt[:len(match)]
		clear(one)
		s.index.Match(chain, one)
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

// rank runs the profile over cand and fills the ranked list of d. It reports false if nothing is left to rank.
func (s *Scheduler) rank(cand []int32, d *Decision) bool {
	c := &s.cycle
	i := s.set.handler.Profile(c)
	if i < 0 || i >= len(s.set.list) {
		return false
	}
	pr := &s.set.list[i]
	for _, f := range pr.filters {
		if cand = f.Filter(c, cand); len(cand) == 0 {
			return false
		}
	}
	total := s.total[:len(cand)]
	s.sum(pr, cand, total)
	picked := len(pr.picker.Pick(c, cand, total, MaxRanked))
	if picked == 0 {
		return false
	}
	d.Picked = uint8(picked)
	d.N = uint8(follow(cand, total, picked))
	for i := range int(d.N) {
		slot := cand[i]
		d.Slots[i], d.Gen[i], d.Match[i] = slot, s.fleet.Gen(slot), c.Request.Match[slot]
	}
	return true
}

// sum writes the weighted total of each candidate's scores. Scores that break the contract are clamped and counted.
func (s *Scheduler) sum(pr *profile, cand []int32, total []float64) {
	clear(total)
	score := s.score[:len(cand)]
	for _, w := range pr.scorers {
		w.Score(&s.cycle, cand, score)
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
