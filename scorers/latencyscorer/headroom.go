package latencyscorer

import (
	"math"

	"github.com/zerohop/zerohop/scorers"
)

// The buckets of endpoints, best first. Only those in the best bucket that is not empty score more than 0.
const (
	met      = iota // predicted to meet both objectives, or nothing is predicted
	idle            // predicted to miss one, but nothing else is sent there
	tpotMiss        // predicted to miss only the time per further token
	ttftMiss        // predicted to miss only the time to the first token
	bothMiss
	buckets
)

// minRange is the least range of headrooms, in milliseconds, in which they are told apart.
const minRange = 1e-9

// headroom scores by predictions.
func (s *scorer) headroom(p *scorers.Prediction, cand []int32, out []float64) {
	best := buckets
	for _, slot := range cand {
		best = min(best, bucket(p, slot))
	}
	ttft, tpot := span{math.Inf(1), math.Inf(-1)}, span{math.Inf(1), math.Inf(-1)}
	for _, slot := range cand {
		if bucket(p, slot) == best {
			ttft.add(distance(p, p.TTFTHeadroom, slot))
			tpot.add(distance(p, p.TPOTHeadroom, slot))
		}
	}
	alpha, beta := s.ttft, s.tpot
	switch {
	case !ttft.wide() && tpot.wide():
		alpha, beta = 0, 1
	case ttft.wide() && !tpot.wide():
		alpha, beta = 1, 0
	}
	for i, slot := range cand {
		if bucket(p, slot) != best {
			out[i] = 0
			continue
		}
		far := alpha*ttft.share(distance(p, p.TTFTHeadroom, slot)) + beta*tpot.share(distance(p, p.TPOTHeadroom, slot))
		if best != met || !s.most { // of what misses its objectives the nearest is always the best
			far = 1 - far
		}
		// The EPP's weights are whole numbers from 1 to 101.
		out[i] = limit(float64(int(100*limit(far))+1) / 100)
	}
}

// bucket returns where the endpoint in slot belongs. One without a prediction has no headroom that could be missed.
func bucket(p *scorers.Prediction, slot int32) int {
	if !p.Has[slot] {
		return met
	}
	ttft, tpot := p.TTFTHeadroom[slot] < 0, p.TPOTHeadroom[slot] < 0
	switch {
	case !ttft && !tpot:
		return met
	case p.Dispatched[slot] == 0:
		return idle
	case !ttft:
		return tpotMiss
	case !tpot:
		return ttftMiss
	}
	return bothMiss
}

// distance returns how far the endpoint in slot is from its objective: 0 without a prediction.
func distance(p *scorers.Prediction, headroom []float64, slot int32) float64 {
	if h := math.Abs(headroom[slot]); p.Has[slot] && h <= math.MaxFloat64 {
		return h
	}
	return 0
}

// span is a range of distances.
type span struct{ lo, hi float64 }

func (s *span) add(v float64) { s.lo, s.hi = min(s.lo, v), max(s.hi, v) }

// wide says whether the range tells endpoints apart.
func (s *span) wide() bool { return s.hi-s.lo > minRange }

// share returns how far v is on the way through the range.
func (s *span) share(v float64) float64 {
	if !s.wide() {
		return 0.5
	}
	return (v - s.lo) / (s.hi - s.lo)
}
