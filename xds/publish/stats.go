package publish

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zerohop/zerohop/shared/names"
	"github.com/zerohop/zerohop/shared/report"
)

// handlerCounts are the counts of a Handler.
type handlerCounts struct {
	open                    atomic.Int64
	whole, delta, unchanged atomic.Uint64
	wholeBytes, deltaBytes  atomic.Uint64
	reports                 atomic.Uint64

	badNode, badVersion, badBody, notTaken atomic.Uint64
}

func (c *handlerCounts) answered(kind string, bytes int) {
	if kind == names.ContentTypeDelta {
		c.delta.Add(1)
		c.deltaBytes.Add(uint64(bytes))
		return
	}
	c.whole.Add(1)
	c.wholeBytes.Add(uint64(bytes))
}

// HandlerStats counts what a Handler did.
type HandlerStats struct {
	Open                    int64             // polls that wait
	Whole, Delta, Unchanged uint64            // answered polls by answer
	WholeBytes, DeltaBytes  uint64            // bodies written
	Reports                 uint64            // accepted
	Refused                 map[string]uint64 // reports by why they were refused
	Errors                  map[string]uint64 // polls by why they failed
}

// Stats returns the counts. The maps belong to the caller.
func (h *Handler) Stats() HandlerStats {
	c := &h.counts
	return HandlerStats{
		Open: c.open.Load(), Whole: c.whole.Load(), Delta: c.delta.Load(), Unchanged: c.unchanged.Load(),
		WholeBytes: c.wholeBytes.Load(), DeltaBytes: c.deltaBytes.Load(), Reports: c.reports.Load(), Refused: h.refused.all(),
		Errors: map[string]uint64{
			"node":    c.badNode.Load(),    // the node id cannot be taken
			"version": c.badVersion.Load(), // v is no number
			"body":    c.badBody.Load(),    // the report is too large or did not arrive
			"write":   c.notTaken.Load(),   // the caller did not take the answer
		},
	}
}

// refusals counts refused reports by reason.
type refusals struct {
	mu     sync.Mutex
	counts map[string]uint64
	logged time.Time
}

// logEvery is the least time between two lines about refused reports.
const logEvery = time.Minute

// add counts one and reports whether a line is due.
func (r *refusals) add(reason string, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.counts == nil {
		r.counts = make(map[string]uint64)
	}
	r.counts[reason]++
	due := r.logged.IsZero() || now.Sub(r.logged) >= logEvery
	if due {
		r.logged = now
	}
	return due
}

// all returns a copy with every reason, those that never occurred included.
func (r *refusals) all() map[string]uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := map[string]uint64{"version": 0, "content": 0, "capacity": 0}
	for reason, n := range r.counts {
		out[reason] = n
	}
	return out
}

// refusal returns the reason for an error of package report.
func refusal(err error) string {
	if errors.Is(err, report.ErrVersion) {
		return "version"
	}
	return "content"
}

// refuse counts a report that is not taken.
func (h *Handler) refuse(node, reason string, err error) {
	if h.refused.add(reason, time.Now()) && h.Log != nil {
		h.Log.Warn("a filter's report is refused; its poll is answered all the same", "node", node, "reason", reason, "error", err)
	}
}
