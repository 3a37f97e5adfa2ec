package envoycheck_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zerohop/zerohop/shared/plan"
)

// TestRootIDOfNamedFilter checks that a filter that nothing but its name makes ours is not said to be missing.
func TestRootIDOfNamedFilter(t *testing.T) {
	v, p := rendered(t, plan.DestinationHeader, false)
	const config = hcm + "/http_filters/zerohop/typed_config/config"
	for _, c := range []string{config, attempt, endpoints + options + "/http_filters/0/typed_config/config"} {
		set(t, v, c+"/vm_config", tree{"runtime": "envoy.wasm.runtime.v8", "code": tree{"local": tree{"filename": "/etc/filter.wasm"}}})
	}
	del(t, v, config+"/root_id")
	del(t, v, config+"/name")
	r := check(t, v, p)
	if d := cmp.Diff([]string{"root-id"}, ids(r)); d != "" {
		t.Fatal(d)
	}
	if r.Findings[0].What != "root_id: zerohop is missing" {
		t.Errorf("%+v", r.Findings[0])
	}
	mend(t, v, p)
}
