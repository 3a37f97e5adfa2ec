package simtest

import (
	"bytes"

	"github.com/zerohop/zerohop/scorers/sched"
	"github.com/zerohop/zerohop/shared/plan"
)

type roundRobin struct{ n int }

func (p *roundRobin) pick(*world, *request, *flight) int {
	p.n++
	return p.n % endpoints
}

// scheduler routes with the scheduler.
type scheduler struct {
	s   *sched.Scheduler
	ids []uint64
}

func (p *scheduler) pick(w *world, r *request, f *flight) int {
	var prompt sched.Prompt
	prompt, p.ids = r.scheduled(p.ids)
	p.s.Decide(w.nanos(), &prompt, &f.d)
	p.s.Commit(w.nanos(), &prompt, &f.d)
	addr := p.s.Address(f.d.Cur)
	for i := range w.snaps {
		if bytes.Equal(w.snaps[i].Address, addr) {
			return i
		}
	}
	panic("unknown address")
}

// profile returns a plan with the given weights of the three default scorers; 0 leaves one out.
func profile(queue, kv, prefix float64) *plan.Plan {
	p := &plan.Plan{
		Version: plan.Version,
		Agent:   plan.Agent{StaleMs: 2000},
		Bounds:  plan.Bounds{Endpoints: 64, IndexBlocks: 1 << 20},
		Prefix:  plan.Prefix{AutoTune: true, BlockSizeTokens: 16, MaxPrefixTokens: 131072, LRUCapacityPerServer: 31250},
		Plugins: []plan.Plugin{
			{Name: "queue", Type: "queue-scorer"},
			{Name: "kv", Type: "kv-cache-utilization-scorer"},
			{Name: "prefix", Type: "prefix-cache-scorer"},
			{Name: "pick", Type: "max-score-picker"},
			{Name: "one", Type: "single-profile-handler"},
		},
		ProfileHandler: "one",
	}
	pr := plan.Profile{Name: "default", Picker: "pick"}
	for _, s := range []plan.Scorer{{Plugin: "queue", Weight: queue}, {Plugin: "kv", Weight: kv}, {Plugin: "prefix", Weight: prefix}} {
		if s.Weight != 0 {
			pr.Scorers = append(pr.Scorers, s)
		}
	}
	p.Profiles = []plan.Profile{pr}
	return p
}
