package sched

import (
	"math"
	"slices"

	"github.com/zerohop/zerohop/scorers"
)

// The most that an Explanation lists.
const (
	maxExplained = 5
	maxRemoved   = 16
	maxHeld      = 16
)

// Explanation says how a decision came about. It is reused: what it holds is valid until the next Decide that fills it, and
// slots until the next Apply.
type Explanation struct {
	Reason           Reason
	Profile, Handler string // names
	Candidates, Left int    // before and after the filters
	Filters          []FilterStep
	Scorers          []ScorerStep
	Best             []Explained // the first of the ranked list, best first
	Removed          []Removed   // the first of those that filters took away
	Ties             int         // candidates with the greatest total
	Saturation       []Saturation
	Held             []Held  // the first of the endpoints that should get no request, candidates or not
	Denial           Denial  // if Reason is Denied
	Session          Session // whether the request's session decided
	Priority         int32   // of the request

	scores []float64 // by scorer, then by candidate
	totals []float64
	cand   []int32 // as scored
	before []int32 // input of the filter that runs
}

// FilterStep is one filter that ran.
type FilterStep struct {
	_ [0]func() // not comparable, for the size of the module

	Plugin, Type  string
	Before, After int
}

// ScorerStep is one scorer that ran.
type ScorerStep struct {
	_ [0]func() // not comparable, for the size of the module

	Plugin, Type string
	Weight       float64
}

// Explained is one endpoint of the ranked list.
type Explained struct {
	Slot    int32
	Gen     uint32
	Matched int32
	Total   float64
	Scores  []float64 // raw, by scorer
}

// Removed is one endpoint that a filter took away.
type Removed struct {
	_ [0]func() // not comparable, for the size of the module

	Slot int32
	By   int // index in Filters
}

// Saturation is what one detector says of all candidates.
type Saturation struct {
	_ [0]func() // not comparable, for the size of the module

	Plugin string
	Value  float64
}

// Held is an endpoint that should get no request.
type Held struct {
	_ [0]func() // not comparable, for the size of the module

	Slot              int32
	Cooling, Draining bool
	LeftMs            int64 // until a request may try an endpoint that cools
}

// Denial says which admitter refused, and by what. The numbers are NaN if it does not say.
type Denial struct {
	_ [0]func() // not comparable, for the size of the module

	Plugin, Type     string
	Value, Threshold float64
}

// Session says what became of a request's session.
type Session uint8

// The fates of a session.
const (
	SessionUnread    Session = iota // no plugin keeps sessions together
	SessionNone                     // the request names none
	SessionUnbound                  // it has no endpoint yet, or one that has gone
	SessionBound                    // its endpoint is the one that was picked
	SessionElsewhere                // its endpoint is another one
)

var sessionNames = [...]string{"", "none", "unbound", "bound", "elsewhere"}

// String returns the word that explanations have; "" if no plugin keeps sessions together.
func (s Session) String() string { return sessionNames[s] }

// Explain has the decisions from now on explained in e; nil ends that.
func (s *Scheduler) Explain(e *Explanation) { s.explain = e }

// begin empties e for the next decision, and notes the endpoints that should get no request. Like all that the hot path calls
// here it is not copied there.
//
//go:noinline
func (e *Explanation) begin(s *Scheduler, now uint64) {
	*e = Explanation{
		Handler: s.set.handlerRef, Filters: e.Filters[:0], Scorers: e.Scorers[:0], Best: e.Best[:0], Removed: e.Removed[:0],
		Saturation: e.Saturation[:0], Held: e.Held[:0], scores: e.scores[:0], totals: e.totals[:0], cand: e.cand[:0], before: e.before[:0],
	}
	for _, slot := range s.fleet.Live() {
		cooling, left, draining := s.fleet.Impairment(now, slot)
		if (cooling || draining) && len(e.Held) < maxHeld {
			e.Held = append(e.Held, Held{Slot: slot, Cooling: cooling, Draining: draining, LeftMs: int64(left / 1e6)})
		}
	}
}

// end notes what became of the decision.
//
//go:noinline
func (e *Explanation) end(s *Scheduler, d *Decision) {
	e.Reason, e.Priority = d.Reason, s.cycle.Request.Priority
	if e.Reason != NoEndpoint && e.Reason != Denied && e.Reason != NoProfile {
		e.Profile = s.set.list[d.Profile].name
	}
	e.session(s, d)
}

// candidates notes the candidates before any plugin sees them.
//
//go:noinline
func (e *Explanation) candidates(s *Scheduler, cand []int32) {
	e.Candidates, e.Left = len(cand), len(cand)
	e.before = append(e.before[:0], cand...)
	for i := range s.set.detectors {
		d := &s.set.detectors[i]
		e.Saturation = append(e.Saturation, Saturation{Plugin: d.name, Value: d.Saturation(&s.cycle, cand)})
	}
}

// denied notes which admitter refused the candidates.
//
//go:noinline
func (e *Explanation) denied(a *admitter, c *scorers.Cycle, cand []int32) {
	e.Denial = Denial{Plugin: a.name, Type: a.typ, Value: math.NaN(), Threshold: math.NaN()}
	if why, ok := a.Admitter.(scorers.Denier); ok {
		e.Denial.Value, e.Denial.Threshold = why.Denied(c, cand)
	}
}

// session notes what the first plugin that finds a session in the request says of it, before the pick changes that.
func (e *Explanation) session(s *Scheduler, d *Decision) {
	for _, t := range s.set.tellers {
		slot, named := t.Session(&s.cycle)
		switch {
		case !named:
			e.Session = SessionNone
			continue
		case slot < 0:
			e.Session = SessionUnbound
		case d.N > 0 && d.Slots[0] == slot:
			e.Session = SessionBound
		default:
			e.Session = SessionElsewhere
		}
		return
	}
}

// filtered notes what a filter left of the candidates.
//
//go:noinline
func (e *Explanation) filtered(f *filter, cand []int32) {
	for _, slot := range e.before {
		if len(e.Removed) == maxRemoved || len(cand) == len(e.before) {
			break
		}
		if !slices.Contains(cand, slot) {
			e.Removed = append(e.Removed, Removed{Slot: slot, By: len(e.Filters)})
		}
	}
	e.Filters = append(e.Filters, FilterStep{Plugin: f.name, Type: f.typ, Before: len(e.before), After: len(cand)})
	e.before = append(e.before[:0], cand...)
	e.Left = len(cand)
}

// scored notes the scores that a scorer gave.
//
//go:noinline
func (e *Explanation) scored(w *weighted, score []float64) {
	e.Scorers = append(e.Scorers, ScorerStep{Plugin: w.name, Type: w.typ, Weight: w.weight})
	e.scores = append(e.scores, score...)
}

// summed notes the totals before a picker reorders them.
//
//go:noinline
func (e *Explanation) summed(cand []int32, total []float64) {
	e.cand, e.totals = append(e.cand[:0], cand...), append(e.totals[:0], total...)
	best := slices.Max(total)
	for _, t := range total {
		if t == best {
			e.Ties++
		}
	}
}

// ranked notes the first of the ranked list.
//
//go:noinline
func (e *Explanation) ranked(d *Decision) {
	for i := range min(int(d.N), maxExplained) {
		at := slices.Index(e.cand, d.Slots[i])
		if at < 0 {
			continue // no candidate: a picker that broke its contract
		}
		x := Explained{Slot: d.Slots[i], Gen: d.Gen[i], Matched: d.Match[i], Total: e.totals[at]}
		for k := range e.Scorers {
			x.Scores = append(x.Scores, e.scores[k*len(e.cand)+at])
		}
		e.Best = append(e.Best, x)
	}
}
