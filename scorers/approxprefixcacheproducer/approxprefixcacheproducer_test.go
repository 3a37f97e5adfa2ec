package approxprefixcacheproducer

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParametersAreTheEPPs(t *testing.T) {
	want := map[string]any{
		"autoTune": true, "blockSizeTokens": 16.0, "maxPrefixTokensToMatch": 131072.0, "maxPrefixBlocksToMatch": 2048.0,
		"lruCapacityPerServer": 31250.0,
	}
	got := map[string]any{}
	for _, p := range Spec.Params {
		got[p.Name] = p.Default
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("defaults (-want +got):\n%s", diff)
	}
}
