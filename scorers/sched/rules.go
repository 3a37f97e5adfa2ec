package sched

import (
	"math"

	"github.com/zerohop/zerohop/scorers"
)

// rules are the filters of a profile that bind every attempt.
func rules(filters []filter) []scorers.Filter {
	var out []scorers.Filter
	for i := range filters {
		if r, ok := filters[i].Filter.(scorers.Rule); ok && r.Binding() {
			out = append(out, filters[i].Filter)
		}
	}
	return out
}

// obey runs the rules of a profile over cand.
func (s *Scheduler) obey(pr *profile, cand []int32) []int32 {
	for _, f := range pr.rules {
		if len(cand) == 0 {
			break
		}
		cand = f.Filter(&s.cycle, cand)
	}
	return cand
}

// again runs the filters of a profile that left nothing over the least bad of the endpoints that its rules allow, for when
// those are all cooled down or drain while others, which the rules forbid, do not.
func (s *Scheduler) again(pr *profile, d *Decision) []int32 {
	cand := s.obey(pr, append(s.cand[:0], s.fleet.Live()...))
	cand = s.fleet.LeastBad(s.cycle.Now, cand)
	if len(cand) == 0 {
		return nil
	}
	if s.explain != nil {
		s.explain.before = append(s.explain.before[:0], cand...)
	}
	return s.filter(pr, cand, d)
}

// spare fills what is left of the ranked list, for a profile that has rules, with further endpoints that they allow: those that filters
// dropped for their load, or for the sake of others, by work, and then those that are cooled down or drain. The request is gone
// when a retry needs them.
func (s *Scheduler) spare(pr *profile, d *Decision) {
	d.Bound = true
	live := s.fleet.Live()
	all := len(pr.rules) == len(pr.filters) && int(d.Candidates) == len(live)
	if all || d.N == MaxRanked || int(d.Left) == len(live) {
		return
	}
	cand, n := s.obey(pr, append(s.cand[:0], live...)), 0
	for _, slot := range cand {
		if d.ranks(slot) {
			continue
		}
		cand[n], s.total[n] = slot, -float64(s.work(d, slot, s.cycle.Request.Match[slot]))
		if !s.fleet.Usable(s.cycle.Now, slot) {
			s.total[n] -= math.MaxInt64
		}
		n++
	}
	if n == 0 {
		return
	}
	for _, slot := range cand[:min(follow(cand[:n], s.total[:n], 0), MaxRanked-int(d.N))] {
		d.rank(slot, s.fleet.Gen(slot), s.cycle.Request.Match[slot])
	}
}

// rank adds an endpoint to the ranked list, which has room.
func (d *Decision) rank(slot int32, gen uint32, match int32) {
	d.Slots[d.N], d.Gen[d.N], d.Match[d.N] = slot, gen, match
	d.N++
}

// ranks reports whether slot is in the ranked list.
func (d *Decision) ranks(slot int32) bool {
	for i := range int(d.N) {
		if d.Slots[i] == slot {
			return true
		}
	}
	return false
}
