package simtest

import (
	"testing"
	"time"

	"github.com/zerohop/zerohop/scorers/sched"
)

// TestFleet routes to modelled engines that take their time, with metrics that are up to one scrape interval old or that
// do not exist at all. The thresholds are those of the replay through a real Envoy.
func TestFleet(t *testing.T) {
	if testing.Short() {
		t.Skip("seconds of virtual engines")
	}
	reqs := trace(t)
	tests := []struct {
		name         string
		capacity     int
		weights      [3]float64
		interval     time.Duration // of scrapes
		hit, busiest float64
	}{
		{"3.07 M tokens", 3_072_000, [3]float64{2, 2, 3}, 250 * time.Millisecond, .205, 1.3},
		{"3.07 M tokens, metrics two seconds old", 3_072_000, [3]float64{2, 2, 3}, 1900 * time.Millisecond, .205, 1.3},
		{"3.07 M tokens, no metrics", 3_072_000, [3]float64{2, 2, 3}, 0, .205, 1.3},
		{"3.07 M tokens, prefix only", 3_072_000, [3]float64{0, 0, 1}, 250 * time.Millisecond, .205, 1.5},
		{"307 200 tokens", 307_200, [3]float64{2, 2, 3}, 250 * time.Millisecond, .08, 1.3},
		{"307 200 tokens, no metrics", 307_200, [3]float64{2, 2, 3}, 0, .08, 1.3},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(tt.capacity)
			s, err := sched.New(profile(tt.weights[0], tt.weights[1], tt.weights[2]), 1)
			if err != nil {
				t.Fatal(err)
			}
			s.Apply(w.view(), w.nanos(), w.nanos())
			got := w.run(reqs, &scheduler{s: s}, team{s}, tt.interval)
			t.Logf("%+v", got)
			if got.hit < tt.hit || got.busiest > tt.busiest {
				t.Errorf("hit rate %.4f, busiest %.3f; want at least %.4f and at most %.3f", got.hit, got.busiest, tt.hit, tt.busiest)
			}
			for i, e := range w.engines {
				if st := e.Stats(); st.Waiting+st.Running != 0 {
					t.Errorf("engine %d is not idle: %+v", i, st)
				}
			}
		})
	}
}

// TestRoundRobinReference keeps the number that the others are to be compared with.
func TestRoundRobinReference(t *testing.T) {
	if testing.Short() {
		t.Skip("seconds of virtual engines")
	}
	got := newWorld(3_072_000).run(trace(t), &roundRobin{}, nil, 0)
	if got.hit < .055 || got.hit > .065 {
		t.Errorf("hit rate %.4f, want about 0.060", got.hit)
	}
}
