package sched

import "github.com/zerohop/zerohop/shared/blockhash"

// tune derives block size, longest prefix and capacities from the plan and from what the engines report.
func (s *Scheduler) tune() {
	if bt := s.effectiveBlock(); bt != s.blockTokens {
		s.blockTokens = bt
		s.index.Flush() // chain hashes of another block size mean nothing
		s.maxBlocks = 0 // nor do universal prefixes of them
	}
	if n := s.longestPrefix(); n != s.maxBlocks {
		s.maxBlocks = n
		s.universal.Reset(n)
	}
	clear(s.caps)
	for _, slot := range s.fleet.Live() {
		s.caps[slot] = s.capacity(slot)
	}
	s.index.SetCapacities(s.caps)
}

// longestPrefix returns how many blocks of a request are looked at.
func (s *Scheduler) longestPrefix() int {
	p := &s.plan.Prefix
	if p.MaxPrefixTokens > 0 {
		return max(p.MaxPrefixTokens/s.blockTokens, 1)
	}
	return max(p.MaxPrefixBlocks, 1)
}

// effectiveBlock returns the block size in tokens. With autoTune it is what the first endpoint that reports one says. The
// current size stays as long as any endpoint reports it, or a mixed fleet would flush the index whenever the order changes.
func (s *Scheduler) effectiveBlock() int {
	first := 0
	if s.plan.Prefix.AutoTune {
		for _, slot := range s.fleet.Live() {
			reported := s.fleet.BlockSize(slot)
			if reported <= 0 {
				continue
			}
			if first == 0 {
				first = reported
			}
			if max(reported, blockhash.MinBlockTokens) == s.blockTokens {
				return s.blockTokens
			}
		}
	}
	if first == 0 {
		first = s.plan.Prefix.BlockSizeTokens
	}
	return max(first, blockhash.MinBlockTokens)
}

// capacity returns how many index blocks the cache of slot can hold.
func (s *Scheduler) capacity(slot int32) int {
	if s.plan.Prefix.AutoTune {
		if tokens := s.fleet.NumBlocks(slot) * s.fleet.BlockSize(slot); tokens > 0 {
			return tokens / s.blockTokens
		}
	}
	return s.plan.Prefix.LRUCapacityPerServer
}
