//go:build e2e

package main

import (
	"context"
	"strconv"
	"testing"
)

// TestThresholds replays the default trace through a real Envoy and zerohop; it takes about 80 s, so it has a build tag:
// go test -tags e2e ./e2e/replay. A replay waits more than it works: those with one worker run at once, and then the others.
//
// The hit rates are what the trace can give: an offline replay with exact caches reaches 0.212 and 0.082 to 0.092 by the
// longest contiguous match, and 0.059 and 0.037 by round robin. Several workers have to know together what one alone would:
// if each knew its own traffic only, two would reach 0.142.
func TestThresholds(t *testing.T) {
	const large, small = 3_072_000, 307_200
	var alone float64 // hit rate of one worker with large caches
	t.Run("one worker", func(t *testing.T) {
		t.Run("large caches", func(t *testing.T) {
			t.Parallel()
			alone = reaches(t, options{capacity: large, concurrency: 1}, 0.195, 1.3)
		})
		t.Run("small caches", func(t *testing.T) {
			t.Parallel()
			reaches(t, options{capacity: small, concurrency: 1}, 0.08, 1.3)
		})
		t.Run("prefix only", func(t *testing.T) {
			t.Parallel()
			reaches(t, options{capacity: large, concurrency: 1, config: "config/prefix-only.yaml"}, 0.195, 1.5)
		})
	})
	t.Run("large caches", func(t *testing.T) {
		for _, workers := range []int{2, 4} {
			t.Run(strconv.Itoa(workers)+" workers", func(t *testing.T) {
				t.Parallel()
				reaches(t, options{capacity: large, concurrency: workers}, max(0.195, 0.97*alone), 1.3)
			})
		}
	})
}

// reaches replays with o, wants at least a hit rate, and at most a load of the busiest endpoint, and returns the hit rate.
func reaches(t *testing.T, o options, minHit, maxBusy float64) float64 {
	t.Helper()
	o.requests, o.endpoints, o.speed = 1000, 8, 10
	got := replayed(t, o)
	if got.HitRate < minHit {
		t.Errorf("hit rate %.4f, want at least %.4f", got.HitRate, minHit)
	}
	if got.BusiestOverMean > maxBusy {
		t.Errorf("busiest endpoint has %.3f × the mean, want at most %.1f", got.BusiestOverMean, maxBusy)
	}
	return got.HitRate
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
