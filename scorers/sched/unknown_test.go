package sched

import (
	"testing"

	"github.com/zerohop/zerohop/scorers"
	"github.com/zerohop/zerohop/shared/plan"
)

// TestLabelsUnknownAreCounted decides before and after a snapshot that lacks a label which a plugin reads.
func TestLabelsUnknownAreCounted(t *testing.T) {
	for _, tt := range []struct {
		label     string
		dry, live uint64
	}{{"zone", 0, 0}, {"other", 0, 1}} {
		t.Run(tt.label, func(t *testing.T) {
			var log []string
			reader := scorers.Spec{Type: "reader", New: func(u *scorers.Setup) (any, error) {
				u.Label(tt.label)
				return nil, nil
			}}
			p := recorderPlan(2)
			p.Agent.Cluster = "agent"
			p.Plugins = append(p.Plugins, plan.Plugin{Name: "reader", Type: "reader"})
			s, err := newWith(p, 1, append(recorderSpecs(&log), reader))
			if err != nil {
				t.Fatal(err)
			}
			counted := func(dry bool) uint64 {
				var d Decision
				if got := s.Decide(ms, &Prompt{Dry: dry}, &d); got != LoadOnly {
					t.Fatalf("decided %v", got)
				}
				return s.Stats(ms).LabelsUnknown
			}
			if n := counted(false); n != 0 {
				t.Errorf("%d while the plan says every label", n)
			}
			s.Apply(shipped(t, 1, p, "z1"), ms, ms)
			if n := counted(true); n != tt.dry {
				t.Errorf("%d after a dry run, want %d", n, tt.dry)
			}
			if n := counted(false); n != tt.live {
				t.Errorf("%d after a request, want %d", n, tt.live)
			}
		})
	}
}
