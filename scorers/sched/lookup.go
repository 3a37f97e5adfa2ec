package sched

import "github.com/zerohop/zerohop/shared/blockhash"

// known reports whether the prompt has blocks that can be looked up. A prompt that was cut before the block size changed
// cannot.
func (s *Scheduler) known(p *Prompt) bool {
	return len(p.IDs) > 0 && p.BlockTokens == s.blockTokens && len(p.Starts) > 0
}

// lookUp chains the blocks of p, finds by slot how many informative ones are held, and notes how many of them and of universal
// ones there are.
func (s *Scheduler) lookUp(p *Prompt, d *Decision) {
	if len(p.IDs) > s.maxBlocks {
		p.IDs = p.IDs[:s.maxBlocks]
	}
	r := &s.cycle.Request
	match, n := r.Match, len(p.Starts)
	clear(match)
	for i := range n {
		chain, h := p.chain(i), p.Seed
		for b, id := range chain {
			h = blockhash.Chain(h, id)
			chain[b] = h
		}
		skip := 0
		if !s.parity {
			skip = s.universal.Len(chain)
		}
		r.TotalBlocks += len(chain) - skip
		d.Universal += int32(skip)
		if n > 1 {
			s.addMatch(chain, int32(skip))
			continue
		}
		s.index.Match(chain, match)
		for s.share.log != nil && s.fetch(chain) {
			clear(match)
			s.index.Match(chain, match)
		}
		if skip > 0 {
			discount(match, int32(skip))
		}
	}
	if d.Universal > 0 {
		s.stats.UniversalHits++
	}
	d.Total, r.Universal = int32(r.TotalBlocks), d.Universal
}

// addMatch adds to the request's matches what is held of one of several chains.
//
//go:noinline
func (s *Scheduler) addMatch(chain []uint64, skip int32) {
	match := s.cycle.Request.Match
	one := s.prompt[:len(match)]
	clear(one)
	s.index.Match(chain, one)
	for s.share.log != nil && s.fetch(chain) {
		clear(one)
		s.index.Match(chain, one)
	}
	discount(one, skip)
	for slot, m := range one {
		match[slot] += m
	}
}

// discount takes skip blocks from each match.
func discount(match []int32, skip int32) {
	for slot, m := range match {
		match[slot] = max(0, m-skip)
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
