package sched

import "testing"

// TestBadEndpointLosesTraffic sends cold requests, one every 10 ms, to four endpoints of which A is bad in some way while
// its metrics look as good as the others'.
func TestBadEndpointLosesTraffic(t *testing.T) {
	const requests = 1000
	tests := []struct {
		name   string
		answer func(s *Scheduler, d *Decision, now uint64)
		most   int // requests that A may get
	}{
		{"healthy", func(s *Scheduler, d *Decision, now uint64) {
			s.Status(now, d, 200)
			s.Done(now, d, false)
		}, requests/4 + 60},
		{"answers 500 at once", func(s *Scheduler, d *Decision, now uint64) {
			s.Status(now, d, 500)
			s.Done(now, d, false)
		}, 15},
		{"refuses", func(s *Scheduler, d *Decision, now uint64) { s.Done(now, d, true) }, 12},
		{"never answers", func(*Scheduler, *Decision, uint64) {}, 12},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := testPlan(4)
			s := newScheduler(t, p)
			bad, got := int32(-1), 0
			for i := range uint64(requests) {
				now := (i + 1) * 10 * ms
				if i%25 == 0 {
					publish(t, s, p, uint32(i+1), now, metrics{}, metrics{}, metrics{}, metrics{})
					bad = slotOf(t, s, "A")
				}
				var d Decision
				pr := promptOf([]uint64{i + 1})
				s.Decide(now, pr, &d)
				s.Commit(now, pr, &d)
				if d.Cur == bad {
					got++
					tt.answer(s, &d, now+ms)
					continue
				}
				s.Status(now+ms, &d, 200)
				s.FirstByte(&d)
				s.Done(now+ms, &d, false)
			}
			t.Logf("%d of %d requests", got, requests)
			if got > tt.most {
				t.Errorf("the bad endpoint got %d of %d requests, want at most %d", got, requests, tt.most)
			}
			if got == 0 {
				t.Error("the endpoint was never tried")
			}
		})
	}
}
