package sched

import (
	"github.com/zerohop/zerohop/scorers/fleet"
	"github.com/zerohop/zerohop/shared/snapshot"
)

// Apply takes over a snapshot that was received at recvAt; both times are monotonic nanoseconds. The view is read during
// the call only.
func (s *Scheduler) Apply(v snapshot.View, recvAt, now uint64) {
	s.received = max(recvAt, 1)
	c := s.fleet.Apply(v, s.factsOf(v), recvAt, now)
	s.carried = snapshot.FactsView{}
	s.afterApply(c)
	if c.Capacity {
		s.tune()
	}
}

// factsOf returns what a snapshot says of its endpoints beside their numbers; nil if it carries nothing of the kind.
func (s *Scheduler) factsOf(v snapshot.View) fleet.Facts {
	s.carried = v.Facts()
	if !s.carried.Carried() {
		return nil
	}
	return &s.carried
}
