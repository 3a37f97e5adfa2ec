package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/zerohop/zerohop/e2e/vllmsim/simserver"
)

const (
	// propagation is how long an edit of the endpoint file may take to reach every worker.
	propagation = 3 * time.Second

	// shareAfter is when the share of an endpoint that fails fast has to have fallen.
	shareAfter = 2 * time.Second

	// recoverWithin is how long an endpoint that is well again may wait for a request: the longest cool-down, and some more.
	// A run judges endpoints that have had at least recoverLeast of it, without rests and further faults.
	recoverWithin = 15 * time.Second
	recoverLeast  = 12 * time.Second
)

// step is a journal entry with its endpoint.
type step struct {
	simserver.JournalEntry
	addr string
}

// steps returns all journals by request.
func (rec *record) steps() map[string][]step {
	all := map[string][]step{}
	for addr, entries := range rec.journal {
		for _, e := range entries {
			all[e.ID] = append(all[e.ID], step{e, addr})
		}
	}
	return all
}

// checkOnce compares the clients' responses with the endpoints' journals.
func (rec *record) checkOnce() *Check {
	c := newCheck("no request is sent after its first byte or served twice",
		"each success was begun once by the endpoint that it names; others began one only where they were killed, stopped or broken")
	all := rec.steps()
	attempts := 0
	for i := range rec.outcomes {
		o := &rec.outcomes[i]
		own, others := 0, 0
		for _, s := range all[o.ID] {
			f := rec.faultOf(s.addr, s.At, Kill, Stop, Broken)
			switch {
			case s.Step == simserver.JournalBegan && rec.names[s.addr] == o.Endpoint:
				own++
			case s.Step == simserver.JournalBegan && f == nil:
				others++
			case s.Step == simserver.JournalArrived:
				attempts++
				late := !o.FirstByte.IsZero() && s.At.After(o.FirstByte.Add(clockSlack))
				// A stopped endpoint reads its requests when it goes on.
				if late && (f == nil || f.Kind != Stop) {
					c.fail("%s reached %s %v after the client had a byte", o.ID, rec.names[s.addr], s.At.Sub(o.FirstByte))
				}
			}
		}
		if o.Class == Success && (own != 1 || others != 0) {
			c.fail("%s: a success by %s, which began it %d times, as others did %d times; faults then: %s",
				o.ID, o.Endpoint, own, others, rec.faultsDuring(o.Start, o.End))
		}
	}
	c.Summary = fmt.Sprintf("%d attempts", attempts)
	return c
}

// faultOf returns a fault of one of some kinds that the endpoint at addr had at a time, or shortly before.
func (rec *record) faultOf(addr string, at time.Time, kinds ...Kind) *Fault {
	for i := range rec.faults {
		f := &rec.faults[i]
		if f.Addr == addr && slices.Contains(kinds, f.Kind) && !at.Before(f.Begin.Add(-clockSlack)) && at.Before(f.over(rec.end).Add(2*time.Second)) {
			return f
		}
	}
	return nil
}

// checkPlaces looks for requests to addresses that no snapshot had.
func (rec *record) checkPlaces() *Check {
	c := newCheck("nothing outside the snapshot is contacted",
		fmt.Sprintf("decoys get nothing; an endpoint gets nothing from %v after it has left the list", propagation))
	for _, hit := range rec.decoys {
		c.fail("%s", hit)
	}
	n := 0
	for addr, entries := range rec.journal {
		for _, e := range entries {
			if e.Step != simserver.JournalArrived {
				continue
			}
			n++
			if !rec.listed(addr, e.At) {
				c.fail("%s reached %s at %.3f s, which was not in the list", e.ID, rec.names[addr], rec.seconds(e.At))
			}
		}
	}
	c.Summary = fmt.Sprintf("%d arrivals in the list", n-c.Count)
	return c
}

// listed reports whether the endpoint file had an address at a time, or shortly before.
func (rec *record) listed(addr string, at time.Time) bool {
	for i, e := range rec.edits {
		until := rec.end
		if i+1 < len(rec.edits) {
			until = rec.edits[i+1].At.Add(propagation)
		}
		if slices.Contains(e.Addrs, addr) && !at.Before(e.At.Add(-clockSlack)) && at.Before(until) {
			return true
		}
	}
	return false
}

// inList returns how many addresses the endpoint file had at a time.
func (rec *record) inList(at time.Time) int {
	n := 0
	for _, e := range rec.edits {
		if !e.At.After(at) {
			n = len(e.Addrs)
		}
	}
	return n
}

// checkShare looks at the share of the attempts that endpoints with fast errors got.
func (rec *record) checkShare(faults []FaultReport) *Check {
	c := newCheck("fast errors attract no traffic", fmt.Sprintf("from %v on, an endpoint with 500s gets less than half of its fair share", shareAfter))
	n := 0
	for i := range rec.faults {
		f := &rec.faults[i]
		if f.Kind != Errors || f.End.IsZero() {
			continue
		}
		n++
		from := f.Begin.Add(shareAfter)
		got, all := rec.arrivals(f.Addr, from, f.End), 0
		for addr := range rec.journal {
			all += rec.arrivals(addr, from, f.End)
		}
		fair := float64(all) / float64(max(1, rec.inList(from)))
		faults[i].Note = fmt.Sprintf("%d of %d attempts from 2 s on; fair are %.0f", got, all, fair)
		if float64(got) >= fair/2 {
			faults[i].Problem = "its share is too large"
			c.fail("%s at %.1f s: %s", f.Target, rec.seconds(f.Begin), faults[i].Note)
		}
	}
	c.Summary = fmt.Sprintf("%d faults", n)
	return c
}

// arrivals counts the requests that reached an address within a time.
func (rec *record) arrivals(addr string, from, to time.Time) int {
	n := 0
	for _, e := range rec.journal[addr] {
		if e.Step == simserver.JournalArrived && !e.At.Before(from) && e.At.Before(to) {
			n++
		}
	}
	return n
}

// checkRecovery looks whether endpoints that are well again are served.
func (rec *record) checkRecovery(faults []FaultReport) *Check {
	c := newCheck("a recovered endpoint comes back", fmt.Sprintf("within %v of load it answers a request", recoverWithin))
	n := 0
	for i := range rec.faults {
		f := &rec.faults[i]
		if !ruleOf(f.Kind).recovers || f.End.IsZero() {
			continue
		}
		until := rec.nextFault(f)
		load := rec.load(f.End, until)
		served := slices.IndexFunc(rec.journal[f.Addr], func(e simserver.JournalEntry) bool {
			return e.Step == simserver.JournalBegan && e.At.After(f.End) && e.At.Before(until)
		})
		switch {
		case served >= 0:
			n++
			at := rec.journal[f.Addr][served].At
			took := rec.load(f.End, at)
			if faults[i].Note != "" {
				faults[i].Note += "; "
			}
			faults[i].Note += fmt.Sprintf("served again after %v", took.Round(10*time.Millisecond))
			if took > recoverWithin {
				c.fail("%s after %s at %.1f s: %v", f.Target, f.Kind, rec.seconds(f.Begin), took)
			}
		case load >= recoverLeast:
			n++
			faults[i].Problem = "it was not served again"
			c.fail("%s after %s at %.1f s: nothing in %v of load", f.Target, f.Kind, rec.seconds(f.Begin), load)
		}
	}
	c.Summary = fmt.Sprintf("%d recoveries", n)
	return c
}

// nextFault returns when the endpoint of f fails again, or the end.
func (rec *record) nextFault(f *Fault) time.Time {
	next := rec.end
	for i := range rec.faults {
		o := &rec.faults[i]
		if o.Addr == f.Addr && o.Begin.After(f.End) && o.Begin.Before(next) {
			next = o.Begin
		}
	}
	return next
}

// load returns how much of a time was not rest.
func (rec *record) load(from, to time.Time) time.Duration {
	d := to.Sub(from)
	for _, r := range rec.rests {
		begin, end := r.At, r.At.Add(r.Took)
		if end.After(from) && begin.Before(to) {
			d -= minTime(end, to).Sub(maxTime(begin, from))
		}
	}
	return d
}

func minTime(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func maxTime(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
