package sched

import (
	"github.com/zerohop/zerohop/scorers/fleet"
	"github.com/zerohop/zerohop/shared/snapshot"
)

// factsOf returns what a snapshot says of its endpoints beside their numbers; nil if it carries nothing of the kind.
func factsOf(snapshot.View) fleet.Facts { return nil }
