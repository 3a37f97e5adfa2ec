package sched

import (
	"github.com/zerohop/zerohop/scorers"
	"github.com/zerohop/zerohop/scorers/fleet"
)

// Wants returns what the plugins in force ask for: which headers a Prompt is to have among them.
func (s *Scheduler) Wants() *scorers.Wants { return &s.set.wants }

// View returns what is known of all endpoints, by slot. It is valid until the next call that changes something.
func (s *Scheduler) View() *scorers.Endpoints { return s.fleet.View() }

// ProfileName returns the name of the profile that d ran.
func (s *Scheduler) ProfileName(d *Decision) string {
	if int(d.Profile) >= len(s.set.list) {
		return ""
	}
	return s.set.list[d.Profile].name
}

// HandlerName returns the name of the profile handler.
func (s *Scheduler) HandlerName() string { return s.set.handlerRef }

// Emptied returns the name and type of the filter that left nothing for d, whose outcome is FilteredOut.
func (s *Scheduler) Emptied(d *Decision) (name, typ string) {
	if d.Reason != FilteredOut || int(d.Profile) >= len(s.set.list) {
		return "", ""
	}
	if filters := s.set.list[d.Profile].filters; int(d.Emptied) < len(filters) {
		return filters[d.Emptied].name, filters[d.Emptied].typ
	}
	return "", ""
}

// Served collects in out the headers that plugins add to the response of the current attempt, at its response headers.
func (s *Scheduler) Served(d *Decision, out *scorers.HeaderSink) {
	if len(s.set.servers) == 0 || !s.fleet.Valid(d.Cur, d.CurGen) {
		return
	}
	name := s.fleet.Name(d.Cur)
	out.Profile = int(d.Profile)
	for _, h := range s.set.servers {
		h.Served(s.fleet.View(), d.Cur, name, out)
	}
}

// Sweep lets plugins drop what has expired, and cools down endpoints whose answers are overdue.
func (s *Scheduler) Sweep(now uint64) {
	s.fleet.Overdue(now)
	s.logHealth(now)
	for _, h := range s.set.sweepers {
		h.Sweep(now)
	}
}

// sessions returns what the plugins that remember sessions have: how many, how many were forgotten for others, and memory.
func (set *profiles) sessions() (bound int, replaced uint64, bytes int) {
	for _, b := range set.binders {
		n, r := b.Sessions()
		bound, replaced, bytes = bound+n, replaced+r, bytes+b.Bytes()
	}
	return bound, replaced, bytes
}

// told tells the pick of d to the plugins that want to know, if any do, in the cycle that decided it, and to peers what it changed in them.
func (s *Scheduler) told(now uint64, d *Decision) {
	if d.Decided != s.decided {
		s.stats.LatePicks++
		return
	}
	for _, h := range s.set.picked {
		h.Picked(&s.cycle, d.Cur, d.CurGen)
	}
	s.logEvents(now, d.Cur)
}

// followSlots tells the plugins that follow slots what an Apply changed. A slot can be freed and given away in one Apply.
func (s *Scheduler) followSlots(c *fleet.Change) {
	if len(s.set.watchers) == 0 {
		return
	}
	for _, w := range s.set.watchers {
		for _, slot := range c.Removed {
			w.Forget(slot)
		}
	}
	s.tell(c.Facts)
}

// tell tells the number of slots and the facts of some of them.
func (s *Scheduler) tell(slots []int32) {
	n := s.fleet.Slots()
	for _, w := range s.set.watchers {
		w.Grow(n)
	}
	for _, slot := range slots {
		s.fleet.Facts(slot, &s.facts)
		for _, w := range s.set.watchers {
			w.Facts(slot, &s.facts)
		}
	}
}

// tellHealth tells peers what has become of the health of endpoints since, which is rarely anything.
func (s *Scheduler) tellHealth(now uint64) {
	if s.fleet.Transited() {
		s.logHealth(now)
	}
}
