package sched

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/zerohop/zerohop/scorers"
	"github.com/zerohop/zerohop/scorers/registry"
)

// drawCycle draws a fleet and a request.
func drawCycle(t *rapid.T) (*scorers.Cycle, []int32) {
	n := rapid.IntRange(1, 12).Draw(t, "endpoints")
	e := &scorers.Endpoints{}
	c := &scorers.Cycle{Endpoints: e}
	c.Request.TotalBlocks = rapid.IntRange(0, 40).Draw(t, "total")
	c.Request.BlockTokens, c.Request.Peer = 64, -1
	rand := scorers.NewRand(rapid.Uint64().Draw(t, "seed"))
	c.Rand = &rand
	cand := make([]int32, n)
	for i := range n {
		cand[i] = int32(i)
		e.ID = append(e.ID, uint64(i+1))
		e.Waiting = append(e.Waiting, float64(rapid.IntRange(0, 40).Draw(t, "waiting"))/4)
		e.Running = append(e.Running, float64(rapid.IntRange(0, 40).Draw(t, "running")))
		e.KVUsage = append(e.KVUsage, float64(rapid.IntRange(0, 110).Draw(t, "kv"))/100)
		e.Fresh = append(e.Fresh, rapid.Bool().Draw(t, "fresh"))
		e.Queue = append(e.Queue, math.Floor(e.Waiting[i]))
		e.Scraped = append(e.Scraped, true)
		e.InFlight = append(e.InFlight, int32(rapid.IntRange(0, 9).Draw(t, "in flight")))
		e.InFlightTokens = append(e.InFlightTokens, int64(rapid.IntRange(0, 9999).Draw(t, "tokens")))
		c.Request.Match = append(c.Request.Match, int32(rapid.IntRange(0, c.Request.TotalBlocks).Draw(t, "match")))
	}
	return c, cand
}

// eachScorer calls f with every registered scorer, with its defaults, except those that cannot do without parameters or
// labels: package registry tests them.
func eachScorer(t *testing.T, f func(t *testing.T, s scorers.Scorer)) {
	for _, spec := range registry.Specs() {
		if spec.Kinds&scorers.KindScorer == 0 {
			continue
		}
		params, err := spec.Complete(nil)
		if err != nil {
			continue
		}
		plugin, err := scorers.Alone(&spec, params)
		if err != nil {
			t.Fatal(err)
		}
		if _, follows := plugin.(scorers.SlotWatcher); follows {
			continue
		}
		t.Run(spec.Type, func(t *testing.T) { f(t, plugin.(scorers.Scorer)) })
	}
}

func TestScoresAreInRange(t *testing.T) {
	eachScorer(t, func(t *testing.T, s scorers.Scorer) {
		rapid.Check(t, func(t *rapid.T) {
			c, cand := drawCycle(t)
			out := make([]float64, len(cand))
			s.Score(c, cand, out)
			for i, v := range out {
				if !(v >= 0 && v <= 1) {
					t.Fatalf("score %v of candidate %d", v, i)
				}
			}
		})
	})
}

func TestScoresDoNotDependOnOrder(t *testing.T) {
	eachScorer(t, func(t *testing.T, s scorers.Scorer) {
		rapid.Check(t, func(t *rapid.T) {
			c, cand := drawCycle(t)
			out := make([]float64, len(cand))
			s.Score(c, cand, out)
			other := rapid.Permutation(cand).Draw(t, "order")
			got := make([]float64, len(cand))
			s.Score(c, other, got)
			for i, slot := range other {
				if got[i] != out[slot] {
					t.Fatalf("endpoint %d scores %v in order %v, and %v in order", slot, got[i], other, out[slot])
				}
			}
		})
	})
}

// TestMoreLoadNeverScoresHigher raises the load of one endpoint and looks at its score among the same others.
func TestMoreLoadNeverScoresHigher(t *testing.T) {
	eachScorer(t, func(t *testing.T, s scorers.Scorer) {
		rapid.Check(t, func(t *rapid.T) {
			c, cand := drawCycle(t)
			out := make([]float64, len(cand))
			s.Score(c, cand, out)
			i := rapid.IntRange(0, len(cand)-1).Draw(t, "endpoint")
			before := out[i]
			e := c.Endpoints
			e.Waiting[i] += float64(rapid.IntRange(0, 20).Draw(t, "more waiting")) / 4
			e.Queue[i] += float64(rapid.IntRange(0, 9).Draw(t, "more in the queue"))
			e.Running[i] += float64(rapid.IntRange(0, 20).Draw(t, "more running"))
			e.KVUsage[i] = min(1.1, e.KVUsage[i]+float64(rapid.IntRange(0, 50).Draw(t, "more kv"))/100)
			e.InFlight[i] += int32(rapid.IntRange(0, 9).Draw(t, "more in flight"))
			e.InFlightTokens[i] += int64(rapid.IntRange(0, 9999).Draw(t, "more tokens"))
			s.Score(c, cand, out)
			if out[i] > before+1e-12 {
				t.Fatalf("score rose from %v to %v with the load", before, out[i])
			}
		})
	})
}

// hostile is a scorer that breaks the contract.
type hostile []float64

func (h hostile) Score(_ *scorers.Cycle, _ []int32, out []float64) { copy(out, h) }

// witness is a picker that keeps the totals that it is given.
type witness struct{ total []float64 }

func (w *witness) Pick(_ *scorers.Cycle, cand []int32, score []float64, _ int) []int32 {
	w.total = slices.Clone(score)
	return cand[:1]
}

// totals returns what the scorers of pr make of the first n slots.
func totals(s *Scheduler, pr *profile, n int32) []float64 {
	var cand []int32
	for slot := range n {
		cand = append(cand, slot)
	}
	w := &witness{}
	s.request(1, &Prompt{})
	s.order(&profile{scorers: pr.scorers, picker: w}, cand, &Decision{})
	return w.total
}

func TestBrokenScoresAreClamped(t *testing.T) {
	s := newScheduler(t, testPlan(4))
	pr := &profile{scorers: []weighted{
		{Scorer: hostile{math.NaN(), 1.5, -0.5, 0.5}, weight: 2}, {Scorer: hostile{1, 0, math.Inf(1), 0}, weight: 1},
	}}
	total := totals(s, pr, 4)
	if want := []float64{1, 2, 1, 1}; !slices.Equal(total, want) {
		t.Errorf("totals %v, want %v", total, want)
	}
	if got := s.Stats(1).Clamped; got != 4 {
		t.Errorf("clamped %d, want 4", got)
	}
}

// TestTotalsMatchRanking checks that the ranked list is ordered by total whatever the picker left.
func TestTotalsMatchRanking(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		total := rapid.SliceOfN(rapid.Float64Range(-5, 5), 1, 30).Draw(t, "totals")
		cand := make([]int32, len(total))
		for i := range cand {
			cand[i] = int32(i)
		}
		before := slices.Clone(total)
		n := follow(cand, total, 0)
		sorted := slices.Clone(before)
		slices.SortFunc(sorted, func(a, b float64) int {
			if a > b {
				return -1
			}
			return 1
		})
		for i := range n {
			if before[cand[i]] != sorted[i] || total[i] != sorted[i] {
				t.Fatalf("place %d has %v, want %v", i, total[i], sorted[i])
			}
		}
	})
}
