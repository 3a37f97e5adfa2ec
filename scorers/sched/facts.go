package sched

import (
	"github.com/zerohop/zerohop/scorers/fleet"
	"github.com/zerohop/zerohop/shared/snapshot"
)

// factsOf returns what a snapshot says of its endpoints beside their numbers; nil if it carries nothing of the kind. It is
// valid until the next call, so that no snapshot allocates.
func (s *Scheduler) factsOf(v snapshot.View) fleet.Facts {
	if s.carried = v.Facts(); !s.carried.Carried() {
		return nil
	}
	return &s.carried
}
