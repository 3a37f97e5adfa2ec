package filter_test

import (
	"strconv"
	"testing"

	"github.com/zerohop/zerohop/filter/hosttest"
	"github.com/zerohop/zerohop/filter/hosttest/lifecycletest"
	"github.com/zerohop/zerohop/shared/plan"
)

// TestNoAllocations plays a mix of everything that requests do, and asserts that neither the filter nor the emulator
// allocates once the mix has been seen. Plugins read headers and write one, the log gets chains, and picks could be explained.
func TestNoAllocations(t *testing.T) {
	for _, mode := range []string{plan.DestinationHeader, plan.DestinationFilterState, plan.DestinationList} {
		t.Run(mode, func(t *testing.T) {
			p := hosttest.NewProcess()
			p.Agent = &hosttest.Agent{}
			w := p.AddWorker(hosttest.NewNative)
			pl := lifecycletest.Plan(mode, 4)
			pl.Plugins = append(pl.Plugins, plan.Plugin{Name: "by-header", Type: "header-profile-handler", Parameters: plan.Params{
				{Name: "headerName", Kind: plan.String, Str: "x-profile"}, {Name: "defaultProfile", Kind: plan.String, Str: "default"},
			}})
			pl.Plugins = append(pl.Plugins, plan.Plugin{Name: "sticky", Type: "session-affinity-filter"})
			pl.Profiles[0].Filters = []string{"sticky"}
			pl.ProfileHandler, pl.Log.Chain, pl.Explain.Networks = "by-header", true, []string{"10.0.0.0/8"}
			if !w.LoadBoth(plan.Append(nil, pl)) {
				t.Fatalf("plan refused: %v", p.Logs)
			}
			mix := lifecycletest.Mix(1)
			for i := range mix {
				mix[i].Headers = append(mix[i].Headers, hosttest.Field{Name: "x-profile", Value: "default"})
			}
			run := func() {
				for i := range mix {
					w.Do(&mix[i])
					p.Advance(1e6)
				}
				p.Advance(1e11) // past the cool-downs that the mix causes
				w.Tick()
			}
			for range 60 {
				run()
			}
			if n := testing.AllocsPerRun(20, run); n != 0 {
				t.Errorf("%v allocations for %d requests", n, len(mix))
			}
			if len(p.Faults)+len(p.Panics) != 0 {
				t.Errorf("faults %v, panics %v", p.Faults, p.Panics)
			}
		})
	}
}

func BenchmarkRequest(b *testing.B) {
	for _, size := range []int{600, 6_000, 60_000, 400_000} {
		b.Run(strconv.Itoa(size), func(b *testing.B) {
			p := hosttest.NewProcess()
			w := p.AddWorker(hosttest.NewNative)
			if !w.LoadBoth(plan.Append(nil, lifecycletest.Plan(plan.DestinationHeader, 16))) {
				b.Fatalf("plan refused: %v", p.Logs)
			}
			r := lifecycletest.Chat(lifecycletest.ChatBody(lifecycletest.Text("bench", size)))
			r.Chunk = 32 << 10
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				w.Do(&r)
				p.Advance(1e6)
			}
		})
	}
}
