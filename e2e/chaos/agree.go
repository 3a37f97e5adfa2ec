package main

import (
	"fmt"
	"math"
	"slices"
	"time"
)

const (
	// reportLag is how old the filters' numbers may be at the agent: a poll lasts two seconds, and a record a quarter.
	reportLag = 3 * time.Second

	// settle is how long after a fault the counts of its endpoint are not compared: requests of a killed endpoint move on, and
	// the record of a VM that is gone lives for three seconds.
	settle = 4 * time.Second

	// transitBase and transitShare bound the requests in transit, which are on one side's count only: some, and a share of the
	// most that clients had in flight meanwhile.
	transitBase  = 3
	transitShare = 0.15
)

// checkAgreement compares what the filters count in flight with what the endpoints count.
func (rec *record) checkAgreement() *Check {
	c := newCheck("counts in flight agree", fmt.Sprintf("what the filters count at an endpoint is what that counted within the last %v, give or take the requests in transit", reportLag))
	n, worst := 0, 0.0
	for i := range rec.samples {
		s := &rec.samples[i]
		if s.Agent == nil || !rec.agentSettled(s.At) {
			continue
		}
		for addr, reported := range s.Agent {
			low, high, clients, ok := rec.counted(addr, i)
			if !ok || rec.disturbed(addr, s.At) {
				continue
			}
			n++
			off := float64(max(low-reported, reported-high, 0))
			transit := transitBase + math.Ceil(transitShare*float64(clients))
			worst = max(worst, off-transit)
			if off > transit {
				c.fail("at %.2f s: the filters count %d at %s, which counted %d to %d; %.0f may be in transit; faults then: %s",
					rec.seconds(s.At), reported, rec.names[addr], low, high, transit, rec.faultsDuring(s.At.Add(-reportLag), s.At))
			}
		}
	}
	if n == 0 {
		c.fail("nothing could be compared")
	}
	c.Summary = fmt.Sprintf("%d comparisons", n)
	return c
}

// counted returns the least and the most that an endpoint counted in the time that sample i may tell of, and the most requests
// that clients had in flight. It is false if the endpoint could not always be asked.
func (rec *record) counted(addr string, i int) (low, high, clients int, ok bool) {
	low = math.MaxInt
	last := min(i+1, len(rec.samples)-1) // the endpoint was asked a little before the agent
	for j := last; j >= 0 && rec.samples[i].At.Sub(rec.samples[j].At) <= reportLag; j-- {
		s := &rec.samples[j]
		n, asked := s.Endpoints[addr]
		if !asked {
			return 0, 0, 0, false
		}
		low, high, clients = min(low, n), max(high, n), max(clients, s.Clients)
	}
	return low, high, clients, low != math.MaxInt
}

// agentSettled reports whether an agent has been ready for long enough to have reports of all workers.
func (rec *record) agentSettled(at time.Time) bool {
	return slices.ContainsFunc(rec.agents, func(a span) bool {
		return at.After(a.from.Add(settle)) && (a.to.IsZero() || at.Before(a.to))
	})
}

// disturbed reports whether the counts of an endpoint cannot agree at a time.
func (rec *record) disturbed(addr string, at time.Time) bool {
	return slices.ContainsFunc(rec.faults, func(f Fault) bool {
		from, to := f.Begin.Add(-clockSlack), f.over(rec.end).Add(settle)
		switch f.Kind {
		case Trap:
			to = f.Begin.Add(settle)
		case Kill, Stop, Readdress:
			if f.Addr != addr {
				return false
			}
		default:
			return false
		}
		return at.After(from) && at.Before(to)
	})
}
