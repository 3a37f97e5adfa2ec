package scrape

import (
	"testing"
	"time"
)

// TestClock checks the promise of the interval for the gaps between many tries.
func TestClock(t *testing.T) {
	tests := []struct {
		interval time.Duration
		slots    int64
	}{
		{10 * time.Millisecond, 1},
		{50 * time.Millisecond, 4},
		{250 * time.Millisecond, 24},
		{time.Second, 97},
		{15 * time.Second, 1462},
	}
	for _, tt := range tests {
		t.Run(tt.interval.String(), func(t *testing.T) {
			const tries = 100_000
			begin := time.Unix(1, 0)
			c := newClock(begin, tt.interval, 7)
			if c.slots != tt.slots {
				t.Errorf("%d slots, want %d", c.slots, tt.slots)
			}
			slot := c.first(begin.Add(12345*time.Microsecond), 0.999)
			first := c.due(slot)
			if wait := first.Sub(begin.Add(12345 * time.Microsecond)); wait < 0 || wait > tt.interval {
				t.Errorf("the first try begins after %v", wait)
			}
			last, least, most := first, tt.interval, time.Duration(0)
			for range tries {
				slot = c.next(slot, last.Add(time.Millisecond))
				due := c.due(slot)
				least, most = min(least, due.Sub(last)), max(most, due.Sub(last))
				last = due
			}
			if most > tt.interval || most < tt.interval-tt.interval/200 || least < tt.interval*94/100 {
				t.Errorf("the gaps are %v to %v; want up to %v and at least 94 %% of it", least, most, tt.interval)
			}
			if mean := last.Sub(first) / tries; mean < tt.interval*97/100 || mean > tt.interval*98/100 {
				t.Errorf("the gaps are %v on average, want 97.5 %% of %v", mean, tt.interval)
			}
		})
	}
}

// TestClockSpreads counts the endpoints of each slot, and checks that they begin together in every period.
func TestClockSpreads(t *testing.T) {
	begin := time.Unix(1, 0)
	c := newClock(begin, 250*time.Millisecond, 7)
	counts := map[int64]int{}
	for i := range 240 {
		counts[c.first(begin, float64(i)/240)]++
	}
	for slot := range c.slots {
		if counts[slot] != 10 {
			t.Errorf("%d endpoints in slot %d, want 10", counts[slot], slot)
		}
	}
	if a, b := newClock(begin, time.Second, 1), newClock(begin, time.Second, 2); a.due(5).Equal(b.due(5)) {
		t.Error("two seeds, one lateness")
	}
}

func TestClockLeavesOut(t *testing.T) {
	begin := time.Unix(0, 0)
	c := newClock(begin, 250*time.Millisecond, 0)
	period := c.slot * time.Duration(c.slots)
	tests := []struct {
		name     string
		earliest time.Duration // since the beginning of slot 3
		want     int64         // periods later
	}{
		{"before", -period, 1},
		{"in time", period / 2, 1},
		{"at the next one", period, 1},
		{"one is missed", period + 1, 2},
		{"two are missed", 2*period + c.slot, 3},
		{"many are missed", 100 * period, 100},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := c.next(3, begin.Add(3*c.slot+tt.earliest)); got != 3+tt.want*c.slots {
				t.Errorf("slot %d, want %d", got, 3+tt.want*c.slots)
			}
		})
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
