package latencyscorer

import (
	"math"

	"github.com/zerohop/zerohop/scorers"
)

// neutral is the free share of a KV cache of which nothing is known.
const neutral = 0.5

// composite scores by what is known without predictions.
func (s *scorer) composite(c *scorers.Cycle, cand []int32, out []float64) {
	e := c.Endpoints
	longest := 0.0
	for _, slot := range cand {
		longest = max(longest, e.Queue[slot])
	}
	for i, slot := range cand {
		free := 1 - e.KVUsage[slot]
		if !e.Fresh[slot] && !s.parity {
			free = neutral
			c.Neutral++
		}
		short := 1.0
		if longest > 0 {
			short = (longest - e.Queue[slot]) / longest
		}
		match := 0.0
		if r := &c.Request; r.TotalBlocks > 0 {
			match = float64(r.Match[slot]) / float64(r.TotalBlocks)
		}
		out[i] = limit(math.Round(100*(s.kv*free+s.queue*short+s.prefix*match)) / 100)
	}
}

// limit returns v limited to [0,1], and 0 for NaN.
func limit(v float64) float64 {
	switch {
	case v > 1:
		return 1
	case !(v > 0):
		return 0
	}
	return v
}
