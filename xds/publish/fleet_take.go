package publish

import (
	"math"
	"time"

	"github.com/zerohop/zerohop/shared/report"
)

// take adds what record r, written at the given time, says beyond what is known of w. A record that is not newer than the
// newest one, because it is sent again or was overtaken by another on its way, says nothing.
func (f *Fleet) take(w *worker, r report.Record, written time.Time, reasons []int) {
	var head report.Worker
	r.Worker(&head)
	if head.At <= w.newest.At && w.newest.Epoch != 0 {
		return
	}
	f.withdraw(w)
	rise(&f.totals.picks, &w.newest.Picks, head.Picks)
	rise(&f.totals.retries, &w.newest.Retries, head.Retries)
	rise(&f.totals.failures, &w.newest.Failures, head.Failures)
	head.Picks, head.Retries, head.Failures = w.newest.Picks, w.newest.Retries, w.newest.Failures
	w.newest, w.written, w.counted = head, written, true // until the sweep that precedes every reading
	var e report.Endpoint
	for i := range r.Len() {
		r.Endpoint(i, &e)
		if slot, ok := f.slots[e.ID]; ok {
			f.loads[slot].add(&w.cells[slot], &e)
		}
	}
	for i := range min(r.Reasons(), len(reasons)) {
		at := reasons[i]
		if at < 0 {
			continue
		}
		for len(w.fallbacks) <= at {
			w.fallbacks = append(w.fallbacks, 0)
		}
		rise(&f.totals.fallbacks[at], &w.fallbacks[at], r.Fallbacks(i))
	}
}

// add takes e into l and c, the sums and the worker's own numbers. Gauges of an id that stands twice count once.
func (l *Load) add(c *cell, e *report.Endpoint) {
	rise(&l.Picks, &c.picks, e.Picks)
	rise(&l.Fallbacks, &c.fallbacks, e.Fallbacks)
	rise(&l.Failures, &c.failures, e.Failures)
	if c.inFlight != 0 || c.tokens != 0 || c.cooling {
		return
	}
	c.inFlight, c.tokens, c.cooling = e.InFlight, min(e.InFlightTokens, maxTokens), e.Flags&report.CoolingDown != 0
	l.InFlight += uint64(c.inFlight)
	l.InFlightTokens += c.tokens
	if c.cooling {
		l.CoolingDown++
	}
}

// maxTokens bounds the tokens that one worker can have in flight at an endpoint, so that their sum does not overflow.
const maxTokens = 1 << 48

// rise lifts seen to count, and sum by as much, at most to its end. A count that falls within an epoch would be a fault of
// the filter; it adds nothing until it is above what it was.
func rise(sum, seen *uint64, count uint64) {
	if count <= *seen {
		return
	}
	by := count - *seen
	*seen = count
	*sum += min(by, math.MaxUint64-*sum)
}
