package scrape

import (
	"math/rand/v2"
	"testing"
	"time"
)

// TestBeat checks the promise of the interval for the gaps between a million tries.
func TestBeat(t *testing.T) {
	const interval, tries = 250 * time.Millisecond, 1_000_000
	random := rand.New(rand.NewPCG(1, 2)).Float64
	begin := time.Unix(1, 0)
	b := newBeat(begin, interval, random)
	last := b.due()
	if d := last.Sub(begin); d < 0 || d > interval {
		t.Errorf("the first try begins after %v", d)
	}
	first, least, most := last, interval, time.Duration(0)
	for range tries {
		due := b.next(last)
		gap := due.Sub(last)
		least, most = min(least, gap), max(most, gap)
		last = due
	}
	if most > interval || most < interval-interval/200 || least < interval*95/100 {
		t.Errorf("the gaps are %v to %v; want up to %v and at least 95 %% of it", least, most, interval)
	}
	if mean := last.Sub(first) / tries; mean < 243*time.Millisecond || mean > 244*time.Millisecond {
		t.Errorf("the gaps are %v on average, want 243.75ms", mean)
	}
}

func TestBeatLeavesOut(t *testing.T) {
	b := newBeat(time.Unix(0, 0), time.Second, func() float64 { return 0 })
	period := time.Second - time.Second/jitterShare
	tests := []struct {
		name            string
		earliest, after time.Duration // since the beginning
	}{
		{"in time", period / 2, period},
		{"at the next beat", 2 * period, 2 * period},
		{"one is missed", 3*period + 1, 4 * period},
		{"many are missed", 100 * period, 100 * period},
	}
	for _, tt := range tests {
		if got := b.next(time.Unix(0, 0).Add(tt.earliest)).Sub(time.Unix(0, 0)); got != tt.after {
			t.Errorf("%s: after %v, want %v", tt.name, got, tt.after)
		}
	}
}

func TestBackOff(t *testing.T) {
	l := loop{scraper: &Scraper{options: Options{Interval: 250 * time.Millisecond, MaxBackOff: 5 * time.Second}}}
	want := []time.Duration{0, 250, 750, 1750, 3750, 5000, 5000}
	for i, ms := range want {
		if l.failed = i + 1; l.backOff() != ms*time.Millisecond {
			t.Errorf("after %d failures: %v, want %v", l.failed, l.backOff(), ms*time.Millisecond)
		}
	}
	l.failed = 1 << 30
	if l.backOff() != 5*time.Second {
		t.Errorf("after many failures: %v", l.backOff())
	}
	l.scraper.options.Interval = 7 * time.Second
	if l.failed = 3; l.backOff() != 5*time.Second {
		t.Errorf("with a long interval: %v", l.backOff())
	}
}
