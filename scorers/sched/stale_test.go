package sched

import (
	"slices"
	"testing"

	"github.com/zerohop/zerohop/shared/plan"
)

// TestStaleEndpointGetsAFairShare sends cold requests to five endpoints, of which only some have fresh metrics. A request is
// answered 300 ms after it was sent, which is longer than the time between two scrapes.
func TestStaleEndpointGetsAFairShare(t *testing.T) {
	const (
		n, requests = 5, 500
		answer      = 300 * ms
	)
	queue := metrics{waiting: 8, kv: .5}
	queues := func(m ...metrics) []metrics { return m }
	tests := []struct {
		name    string
		reports []metrics // of the first endpoints; the others report nothing in time
		interval,
		last uint64 // ns between two scrapes, and time of the last
	}{
		{"never scraped beside full queues", queues(queue, queue, queue, queue), 250 * ms, ^uint64(0)},
		{"no second scrape", queues(queue, queue, queue, queue), 100_000 * ms, ^uint64(0)},
		{"never scraped beside idle ones", queues(metrics{kv: .5}, metrics{kv: .5}, metrics{kv: .5}, metrics{kv: .5}), 250 * ms, ^uint64(0)},
		{"most were never scraped", queues(queue), 250 * ms, ^uint64(0)},
		{"all are fresh", queues(queue, queue, queue, queue, queue), 250 * ms, ^uint64(0)},
		{"all become stale", queues(queue, queue, queue, queue, queue), 250 * ms, 500 * ms},
		{"nobody was ever scraped", nil, 250 * ms, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := testPlan(n)
			p.Agent.StaleMs = 1500
			if tt.interval > 10_000*ms {
				p.Agent.StaleMs = 100_000
			}
			s := newScheduler(t, p)
			count := map[int32]int{}
			var open []Decision
			scrape := uint64(0)
			for i := range uint64(requests) {
				now := (i + 1) * 10 * ms
				if now >= scrape && now <= tt.last && tt.reports != nil {
					publishSome(t, s, p, uint32(i+1), now, tt.reports)
					scrape = now + tt.interval
				}
				open = slices.DeleteFunc(open, func(d Decision) bool {
					if now < d.StartedAt+answer {
						return false
					}
					s.Status(now, &d, 200)
					s.FirstByte(&d)
					s.Done(now, &d, false)
					return true
				})
				var d Decision
				pr := promptOf([]uint64{1000 + i})
				s.Decide(now, pr, &d)
				s.Commit(now, pr, &d)
				count[d.Cur]++
				open = append(open, d)
			}
			t.Log(count)
			for i := range n {
				if got := count[slotOf(t, s, letter(i))]; got < requests/n*2/3 || got > requests/n*4/3 {
					t.Errorf("%s got %d of %d requests", letter(i), got, requests)
				}
			}
		})
	}
}

// publishSome applies a snapshot in which only the first endpoints of the plan were ever scraped.
func publishSome(t *testing.T, s *Scheduler, p *plan.Plan, seq uint32, now uint64, m []metrics) {
	t.Helper()
	m = slices.Clone(m)
	for len(m) < len(p.Endpoints) {
		m = append(m, metrics{unknown: true})
	}
	publish(t, s, p, seq, now, m...)
}
