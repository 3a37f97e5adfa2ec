//go:build e2e

package main

import (
	"context"
	"strconv"
	"testing"
)

// TestThresholds replays the default trace through a real Envoy and zerohop; it takes about 40 s for each case, so it
// has a build tag: go test -tags e2e ./e2e/replay.
//
// The hit rates are what the trace can give: an offline replay with exact caches reaches 0.212 and 0.082 to 0.092 by the
// longest contiguous match, and 0.059 and 0.037 by round robin. Several workers have to know together what one alone would:
// if each knew its own traffic only, two would reach 0.142.
func TestThresholds(t *testing.T) {
	tests := []struct {
		name     string
		config   string
		capacity int
		workers  []int
		minHit   float64
		maxBusy  float64
	}{
		{"large caches", "", 3_072_000, []int{1, 2, 4}, 0.195, 1.3},
		{"small caches", "", 307_200, []int{1}, 0.08, 1.3},
		{"prefix only", "config/prefix-only.yaml", 3_072_000, []int{1}, 0.195, 1.5},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			least := tt.minHit
			for _, workers := range tt.workers {
				t.Run(strconv.Itoa(workers), func(t *testing.T) {
					o := options{requests: 1000, endpoints: 8, capacity: tt.capacity, speed: 10, config: tt.config, concurrency: workers}
					got := replayed(t, o)
					if got.HitRate < least {
						t.Errorf("hit rate %.4f, want at least %.4f", got.HitRate, least)
					}
					if got.BusiestOverMean > tt.maxBusy {
						t.Errorf("busiest endpoint has %.3f × the mean, want at most %.1f", got.BusiestOverMean, tt.maxBusy)
					}
					if workers == 1 {
						least = max(least, 0.97*got.HitRate)
					}
				})
			}
		})
	}
}

// replayed replays the default trace by zerohop, and checks that no request was lost.
func replayed(t *testing.T, o options) Outcome {
	t.Helper()
	reqs, err := readTrace(o)
	if err != nil {
		t.Fatal(err)
	}
	got, err := replay(context.Background(), o, policyZerohop, reqs)
	if err != nil {
		t.Fatal(err)
	}
	t.Log(got)
	if got.Errors != 0 {
		t.Errorf("%d errors: %v", got.Errors, got.report.Errors)
	}
	if n := len(got.report.Results); n != o.requests {
		t.Errorf("%d requests were sent, want %d", n, o.requests)
	}
	return got
}
