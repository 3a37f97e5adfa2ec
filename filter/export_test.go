package filter

import (
	"github.com/zerohop/zerohop/scorers"
	"github.com/zerohop/zerohop/scorers/sched"
)

// SchedStats returns the scheduler's figures; the zero value before the first configuration.
func (v *VM) SchedStats() sched.Stats {
	if v.sched == nil {
		return sched.Stats{}
	}
	return v.sched.Stats(v.host.Now())
}

// StateBytes is what the gauge zerohop_vm_bytes says where this VM leads.
func (v *VM) StateBytes() int { return v.sched.Stats(v.host.Now()).Bytes + v.share.bytes() }

// Look is a look at what other VMs wrote.
func (v *VM) Look(now uint64) { v.look(now) }

// StartRequests is how many requests a VM writes everything of.
const StartRequests = startRequests

// Believed counts the requests in flight at all endpoints, those of other VMs included.
func (v *VM) Believed() (n int) {
	for _, inFlight := range v.sched.View().InFlight {
		n += int(inFlight)
	}
	return n
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

// OpenCaptures counts the requests whose headers are kept.
func (v *VM) OpenCaptures() int { return len(v.captures) - len(v.freeCaptures) }

// OpenNotes counts the explanations that wait for a response.
func (v *VM) OpenNotes() int { return len(v.explain.notes) - len(v.explain.free) }

// MaxCaptures is the most requests whose headers are kept.
const MaxCaptures = maxCaptures

// WatchHeaders has request headers kept as if the plan's plugins had asked for them.
func (v *VM) WatchHeaders(names ...string) { v.watchHeaders(names, v.plan) }

// Captured returns what is kept of the headers of the newest request that has any.
func (v *VM) Captured() *scorers.Headers {
	newest := (*stream)(nil)
	for i := range v.streams {
		if s := &v.streams[i]; s.serial != 0 && s.capture != noCapture && (newest == nil || s.serial > newest.serial) {
			newest = s
		}
	}
	if newest == nil {
		return &scorers.Headers{}
	}
	return &v.captures[newest.capture]
}
