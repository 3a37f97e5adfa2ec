//go:build wasip1 && hostcalls

package main

import "github.com/zerohop/zerohop/shared/names"

// pick is as long as what zerohop tells the access log.
var pick = make([]byte, 170)

// afterPick makes the host calls of a decision that the plain module has not: for the access log, the time and the snapshot.
func afterPick() {
	host.Now()
	host.Now()
	host.Shared(names.KeySnapshotVersion)
	host.SetProperty(names.StatePick, pick)
}

// beforeAttempt finds out what the attempt belongs to.
func beforeAttempt() { host.Property(names.StatePick) }

// afterAnswer looks at the answer of an endpoint.
func afterAnswer() {
	host.ResponseHeader(":status")
	host.Now()
}
