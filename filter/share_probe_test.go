package filter_test

import (
	"testing"
	"time"

	"github.com/zerohop/zerohop/filter/hosttest"
	"github.com/zerohop/zerohop/filter/hosttest/lifecycletest"
	"github.com/zerohop/zerohop/shared/plan"
)

// TestCancelledStreamIsNoProbe has the client of a probe leave when the headers of its stream have come, which say nothing: the
// next request is a probe again, whichever VM has it.
func TestCancelledStreamIsNoProbe(t *testing.T) {
	for name, worker := range map[string]int{"same VM": 1, "other VM": 2} {
		t.Run(name, func(t *testing.T) {
			p := sharers(t, 3, 1, plan.SharingProcess)
			fails := lifecycletest.Completions(lifecycletest.CompletionsBody("fails"))
			fails.Reply = func(string, int) hosttest.Reply { return hosttest.Reply{Fail: true} }
			p.Workers[1].Do(&fails)
			p.Run(11 * time.Second)
			probe := lifecycletest.Completions(lifecycletest.CompletionsBody("leaves"))
			probe.Reset, probe.At = hosttest.ResponseHeaders, hosttest.Attempt1
			probe.Do = func() { p.Advance(time.Millisecond) }
			if got := hosttest.Pick(string(p.Workers[1].Do(&probe).Pick), "reason"); got != "scored" {
				t.Fatalf("the reason of the probe is %q", got)
			}
			p.Advance(5 * time.Millisecond)
			next := lifecycletest.Completions(lifecycletest.CompletionsBody("next"))
			if got := hosttest.Pick(string(p.Workers[worker].Do(&next).Pick), "reason"); got != "scored" {
				t.Errorf("the reason is %q", got)
			}
		})
	}
}
