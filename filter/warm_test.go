package filter

import (
	"strconv"
	"strings"
	"testing"

	"github.com/zerohop/zerohop/shared/plan"
	"github.com/zerohop/zerohop/shared/snapshot"
)

// warmPlan and warmEndpoints are what the constants of warm_data.go encode.
func warmPlan(mode string) *plan.Plan {
	p := &plan.Plan{
		Version:     plan.Version,
		Destination: mode,
		FailureMode: plan.FailClose,
		Agent:       plan.Agent{Cluster: "a", PollTimeoutMs: 1000, StaleMs: 2000},
		Bounds:      plan.Bounds{Endpoints: 64, IndexBlocks: 4096},
		Prefix:      plan.Prefix{AutoTune: true, BlockSizeTokens: 64, MaxPrefixTokens: 131072, LRUCapacityPerServer: 1024},
		Plugins: []plan.Plugin{
			{Name: "q", Type: "queue-scorer"},
			{Name: "k", Type: "kv-cache-utilization-scorer"},
			{Name: "p", Type: "prefix-cache-scorer"},
			{Name: "m", Type: "max-score-picker"},
			{Name: "s", Type: "single-profile-handler"},
		},
		Profiles: []plan.Profile{{
			Name:    "default",
			Scorers: []plan.Scorer{{Plugin: "q", Weight: 2}, {Plugin: "k", Weight: 2}, {Plugin: "p", Weight: 3}},
			Picker:  "m",
		}},
		ProfileHandler: "s",
		Log:            plan.Log{Chain: true},
	}
	for i := range 4 {
		p.Endpoints = append(p.Endpoints, plan.Endpoint{Name: "n/" + string(rune('a'+i)), Address: "10.0.0." + strconv.Itoa(1+i) + ":80"})
	}
	return p
}

func warmEndpoints() []snapshot.Endpoint {
	var eps []snapshot.Endpoint
	for i, e := range warmPlan("").Endpoints {
		name, addr := []byte(e.Name), []byte(e.Address)
		eps = append(eps, snapshot.Endpoint{
			ID: snapshot.EndpointID(name, addr), Name: name, Address: addr,
			ScrapeSeq: 1, Waiting: uint32(i), Running: 1, KVUsage: 0.25, BlockSize: 16, NumBlocks: 1024,
		})
	}
	return eps
}

// TestWarmData compares the constants with what the encoders write. Where a format changes, the message has the new constants.
func TestWarmData(t *testing.T) {
	for _, mode := range []string{plan.DestinationHeader, plan.DestinationFilterState, plan.DestinationList} {
		want := string(plan.Append(nil, warmPlan(mode)))
		if want != warmPlanHead+mode+warmPlanTail {
			head, tail, _ := strings.Cut(want, mode)
			t.Fatalf("the plan is written\n\twarmPlanHead = `%s`\n\twarmPlanTail = `%s`", head, tail)
		}
	}
	want, err := snapshot.Append(nil, 1, warmEndpoints())
	if err != nil || string(want) != warmSnapshot {
		t.Fatalf("the snapshot is written, %v\n\twarmSnapshot = %+q", err, want)
	}
}
