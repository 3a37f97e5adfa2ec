package filter

import "github.com/zerohop/zerohop/scorers/sched"

// SchedStats returns the scheduler's figures; the zero value before the first configuration.
func (v *VM) SchedStats() sched.Stats {
	if v.sched == nil {
		return sched.Stats{}
	}
	return v.sched.Stats(v.host.Now())
}

// OpenScanners counts the bodies that are being scanned.
func (v *VM) OpenScanners() int { return len(v.scanners) - len(v.freeScanners) }

// OpenStreams counts the stream records in use.
func (v *VM) OpenStreams() int {
	n := len(v.streams)
	for i := v.free; i >= 0; i = v.streams[i].next {
		n--
	}
	return n
}

// OpenContexts counts the contexts in the context table.
func (v *VM) OpenContexts() int { return v.contexts.n }
