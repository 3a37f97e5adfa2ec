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

	// settle is how long after a fault the counts of its endpoint are not compared: requests of a killed endpoint move on.
	settle = 4 * time.Second

	// silence is how long the agent counts what a VM that is gone had in flight (package publish), and some more.
	silence = 8 * time.Second

	// lasting is how many samples in a row have to disagree, a second: what stays on one side that long is not in transit.
	lasting = 4

	// transitBase and transitShare bound the requests in transit, which are on one side's count only: some, and a share of the
	// most that clients had in flight meanwhile.
	transitBase  = 3
	transitShare = 0.15
)

// checkAgreement compares what the filters count in flight with what the endpoints count.
func (rec *record) checkAgreement() *Check {
	c := newCheck("counts in flight agree", fmt.Sprintf("what the filters count at an endpoint is what that counted within the last %v, and in all no more than clients wait for, give or take the requests in transit", reportLag))
	n, row := 0, map[string]int{} // samples in a row that disagree, by address
	judge := func(i int, addr string, reported, low, high int, transit float64) {
		n++
		if row[addr]++; float64(max(low-reported, reported-high)) <= transit {
			row[addr] = 0
		}
		if row[addr] == lasting {
			at := rec.samples[i].At
			c.fail("at %.2f s, for a second: the filters count %d at %s, which had %d to %d; %.0f may be in transit; faults then: %s",
				rec.seconds(at), reported, rec.names[addr], low, high, transit, rec.faultsDuring(at.Add(-reportLag), at))
		}
	}
	for i := range rec.samples {
		s := &rec.samples[i]
		if s.Agent == nil || !rec.agentSettled(s.At) {
			clear(row)
			continue
		}
		total := 0
		for addr, reported := range s.Agent {
			total += reported
			low, high, clients, ok := rec.counted(addr, i)
			if !ok || rec.disturbed(addr, s.At) {
				row[addr] = 0
				continue
			}
			judge(i, addr, reported, low, high, transitOf(clients))
		}
		if low, high := rec.waiting(i); !rec.disturbed("", s.At) {
			judge(i, "", total, low, high, transitOf(high)) // workers report at different times
		}
	}
	if n == 0 {
		c.fail("nothing could be compared")
	}
	c.Summary = fmt.Sprintf("%d comparisons", n)
	return c
}

// transitOf returns how many requests may be in transit to or from one endpoint while clients have this many in flight.
func transitOf(clients int) float64 { return transitBase + math.Ceil(transitShare*float64(clients)) }

// waiting returns the fewest requests that endpoints had and the most that clients waited for in the time that sample i may tell
// of: what the filters count in all lies between. A killed or stopped endpoint has nothing here.
func (rec *record) waiting(i int) (low, high int) {
	low = math.MaxInt
	for j := min(i+1, len(rec.samples)-1); j >= 0 && rec.samples[i].At.Sub(rec.samples[j].At) <= reportLag; j-- {
		sum := 0
		for _, n := range rec.samples[j].Endpoints {
			sum += n
		}
		low, high = min(low, sum), max(high, rec.samples[j].Clients)
	}
	return low, high
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
			to = f.Begin.Add(silence)
		case Kill, Stop, Readdress:
			if f.Addr != addr { // of all together, none
				return false
			}
		default:
			return false
		}
		return at.After(from) && at.Before(to)
	})
}
