package traffic

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Agree waits until the filter's counters are the sums of what the access log says of single requests. Both are written
// with a delay. A bed whose VM was lost has lost counts.
func (b *Bed) Agree(t *testing.T) {
	t.Helper()
	b.Idle(t)
	Until(t, "access log and stats to agree", func() error {
		want, got := b.logged(t), b.FilterStats(t)
		for name := range got {
			if _, ok := want[name]; !ok {
				delete(got, name)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			return fmt.Errorf("counters (-access log +stats):\n%s", diff)
		}
		return nil
	})
}

// logged sums up the access log under the names of the counters.
func (b *Bed) logged(t *testing.T) map[string]float64 {
	t.Helper()
	entries, err := b.Envoy.AccessLog()
	if err != nil {
		t.Fatal(err)
	}
	sum := map[string]float64{"zerohop_panics_total": 0, "zerohop_stray_attempts_total": 0, "zerohop_clamped_scores_total": 0}
	for _, name := range []string{"picks", "retries", "prefix_hits", "prefix_matched_blocks", "prefix_blocks"} {
		sum["zerohop_"+name+"_total"] = 0
	}
	for _, e := range entries {
		line := e.String("pick")
		if line == "" {
			continue // the client left before the decision
		}
		p, err := ParsePick(line)
		if err != nil {
			t.Error(err)
			continue
		}
		if p.Reason != "scored" {
			sum["zerohop_fallback_"+p.Reason+"_total"]++
		}
		if p.Endpoint == "-" {
			continue
		}
		sum["zerohop_picks_total"]++
		sum["zerohop_retries_total"] += float64(p.Attempts - 1)
		if p.Matched > 0 {
			sum["zerohop_prefix_hits_total"]++
		}
		sum["zerohop_prefix_matched_blocks_total"] += float64(p.Matched)
		sum["zerohop_prefix_blocks_total"] += float64(p.Total)
	}
	return sum
}
