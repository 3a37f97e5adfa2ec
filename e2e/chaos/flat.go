package main

import (
	"fmt"
	"slices"
	"time"
)

const (
	// warmShare is the part of a run that warms up: prefixes, connections, and a burst, whose peak sets what a process keeps.
	warmShare = 0.4

	// Memory is flat if the median of the last quarter is at most growth above that of the quarter after the warm-up, and
	// some bytes. A VM collects garbage when its heap has grown by 8 MiB; five VMs reach that one after the other within the
	// first minutes, so that a run below longRun is allowed the sum.
	growth      = 0.10
	growthBytes = 16 << 20
	growthShort = 5 * 8 << 20
	longRun     = 5 * time.Minute

	// agentMost is what an agent may have at any time. It reads 4 MiB of a metrics page at most.
	agentMost = 256 << 20

	mib = 1 << 20
)

// checkRSS looks at Envoy's resident memory.
func (rec *record) checkRSS() *Check {
	c := newCheck("Envoy's memory is flat", flatMeans)
	return rec.checkFlat(c, func(s *Sample) int64 { return s.RSS })
}

// checkLinear looks at the linear memory of all VMs.
func (rec *record) checkLinear() *Check {
	c := newCheck("the VMs' linear memory is flat", flatMeans)
	return rec.checkFlat(c, func(s *Sample) int64 { return s.Linear })
}

const flatMeans = "the median of the last quarter is at most 10 % and 16 MiB (40 below five minutes) above that of the quarter after the warm-up, two fifths of the run"

func (rec *record) checkFlat(c *Check, of func(*Sample) int64) *Check {
	length := rec.end.Sub(rec.start)
	at := func(share float64) time.Time { return rec.start.Add(time.Duration(share * float64(length))) }
	before := rec.median(of, at(warmShare), at(warmShare+0.25))
	after := rec.median(of, at(0.75), rec.end)
	more := float64(growthBytes)
	if rec.opts.length < longRun {
		more = growthShort
	}
	c.Summary = fmt.Sprintf("%.0f MiB after the warm-up, %.0f MiB at the end", float64(before)/mib, float64(after)/mib)
	switch {
	case before == 0 || after == 0:
		c.fail("it could not be read")
	case float64(after) > float64(before)*(1+growth)+more:
		c.fail("%s", c.Summary)
	}
	return c
}

// median returns the median of what was seen within a time; 0 if nothing was.
func (rec *record) median(of func(*Sample) int64, from, to time.Time) int64 {
	var seen []int64
	for i := range rec.samples {
		s := &rec.samples[i]
		if v := of(s); v > 0 && !s.At.Before(from) && !s.At.After(to) {
			seen = append(seen, v)
		}
	}
	if len(seen) == 0 {
		return 0
	}
	slices.Sort(seen)
	return seen[len(seen)/2]
}

// checkAgentMemory looks at the agent's resident memory, which pages of any size must not fill.
func (rec *record) checkAgentMemory() *Check {
	c := newCheck("the agent's memory is bounded", fmt.Sprintf("%d MiB at most", agentMost/mib))
	var most int64
	for i := range rec.samples {
		most = max(most, rec.samples[i].AgentRSS)
	}
	c.Summary = fmt.Sprintf("%.0f MiB at most", float64(most)/mib)
	if most == 0 || most > agentMost {
		c.fail("%s", c.Summary)
	}
	return c
}
