package filter_test

import (
	"fmt"
	"testing"

	"github.com/zerohop/zerohop/filter/hosttest"
	"github.com/zerohop/zerohop/filter/hosttest/lifecycletest"
)

func TestLifecycle(t *testing.T) {
	lifecycletest.Run(t, lifecycletest.Subject{New: hosttest.NewNative, Leftovers: leftovers, Load: load})
}

// load returns the requests in flight in which a VM believes.
func load(m hosttest.Module) int { return m.(hosttest.Native).VM.Believed() }

// leftovers says what a VM without open requests still holds for one.
func leftovers(m hosttest.Module) string {
	v := m.(hosttest.Native).VM
	st := v.SchedStats()
	if st.InFlight == 0 && st.WaitingTokens == 0 && v.OpenStreams() == 0 && v.OpenScanners() == 0 && v.OpenCaptures() == 0 && v.OpenNotes() == 0 && v.OpenContexts() == 0 {
		return ""
	}
	return fmt.Sprintf("%d in flight, %d tokens, %d streams, %d scanners, %d captures, %d notes, %d contexts",
		st.InFlight, st.WaitingTokens, v.OpenStreams(), v.OpenScanners(), v.OpenCaptures(), v.OpenNotes(), v.OpenContexts())
}
