package bootstrap

import (
	"testing"

	"github.com/zerohop/zerohop/shared/plan"
)

// TestMemoryIsBounded checks that the actions against a full heap come in order, below its limit, and that the triggers name
// a monitor that is there.
func TestMemoryIsBounded(t *testing.T) {
	n := render(t, testOptions(plan.DestinationHeader)).at("overload_manager")
	const heap = "envoy.resource_monitors.fixed_heap"
	limit := n.at("resource_monitors/" + heap + "/typed_config/max_heap_size_bytes").v.(int)
	if bodies := limit / (bodyLimitMiB << 20); bodies != 128 {
		t.Errorf("the heap holds %d largest bodies, the comment says 128", bodies)
	}
	before := 0.0
	for _, action := range []struct{ name, from string }{
		{"shrink_heap", "threshold/value"},
		{"stop_accepting_requests", "threshold/value"},
		{"reset_high_memory_stream", "scaled/scaling_threshold"},
	} {
		trigger := n.at("actions/envoy.overload_actions." + action.name + "/triggers/" + heap)
		from := trigger.at(action.from).v.(float64)
		if from <= before || from >= 1 {
			t.Errorf("%s from %g of the heap, after %g", action.name, from, before)
		}
		before = from
	}
}

// TestRetriesAreBounded wants a budget in the place of a number of retries, in each cluster that has model servers.
func TestRetriesAreBounded(t *testing.T) {
	n := render(t, testOptions(plan.DestinationHeader)).at("static_resources/clusters")
	for _, cluster := range []string{"zerohop_destination", "zerohop_endpoints", "zerohop_fallback"} {
		for i, priority := range []string{"DEFAULT", "HIGH"} {
			th := n.at(cluster + "/circuit_breakers/thresholds").v.([]any)[i].(map[any]any)
			_, hasBudget := th["retry_budget"]
			if _, hasMax := th["max_retries"]; th["priority"] != priority || !hasBudget || hasMax {
				t.Errorf("%s: %v", cluster, th)
			}
		}
	}
}
