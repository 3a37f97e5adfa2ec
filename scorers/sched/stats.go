package sched

import (
	"github.com/zerohop/zerohop/scorers/fleet"
	"github.com/zerohop/zerohop/shared/report"
)

// Stats are counters since the scheduler was made and gauges of now.
type Stats struct {
	Endpoints     int    // known endpoints
	InFlight      int    // requests of this worker that were sent to known endpoints and are not finished
	WaitingTokens int64  // their estimated uncached prompt tokens, of those whose first response byte is still to come
	Failures      uint64 // attempts without an answer, or with one of 500 and above
	CoolDowns     uint64 // endpoints that were cooled down
	Neutral       uint64 // scores that were neutral for want of fresh metrics
	Clamped       uint64 // scores outside [0,1]
	Denied        uint64 // requests that an admitter refused
	LabelsUnknown uint64 // requests decided while a label that plugins read was unknown
	Unmoved       uint64 // requests that another endpoint served when it was no longer known what was recorded for the first
	LatePicks     uint64 // picks that plugins were not told of, for another decision had begun
	Sessions      int    // sessions that plugins remember
	Replaced      uint64 // sessions that were forgotten for want of room
	IndexRecords  int    // (endpoint, block) records held
	IndexEvicted  uint64 // records evicted for capacity
	Overflow      uint64 // gauge: endpoints of the newest list that are ignored for being beyond the configured bound
	UniversalHits uint64 // requests whose leading blocks were discounted as universal
	SnapshotAgeMs uint64 // time since the last Apply's receipt; 0 if there was none
	Bytes         int    // bytes of long-lived state
}

// Failures returns the attempts that got no answer, or one of 500 and above.
func (s *Scheduler) Failures() uint64 { return s.stats.Failures }

// Picked counts the pick of d, whose endpoint was picked by its score unless it is a fallback, for AppendLoads.
func (s *Scheduler) Picked(d *Decision, fallback bool) {
	if s.fleet.Valid(d.Cur, d.CurGen) {
		s.fleet.Picked(d.Cur, fallback)
	}
}

// AppendLoads appends to dst what is to be reported of each endpoint that got a request, up to limit endpoints.
func (s *Scheduler) AppendLoads(now uint64, dst []report.Endpoint, limit int) []report.Endpoint {
	view := s.fleet.View()
	for _, slot := range s.fleet.Live() {
		tally := s.fleet.Tally(slot)
		inFlight, tokens := s.fleet.Own(slot)
		if tally == (fleet.Tally{}) && inFlight == 0 {
			continue
		}
		if limit == 0 {
			break
		}
		limit--
		e := report.Endpoint{
			ID: view.ID[slot], InFlight: uint32(max(inFlight, 0)), InFlightTokens: uint64(max(tokens, 0)),
			Picks: tally.Picks, Fallbacks: tally.Fallbacks, Failures: tally.Failures,
		}
		if s.fleet.CoolingDown(now, slot) {
			e.Flags |= report.CoolingDown
		}
		dst = append(dst, e)
	}
	return dst
}

// Stats returns the current figures.
func (s *Scheduler) Stats(now uint64) Stats {
	st := s.stats
	st.Endpoints = len(s.fleet.Live())
	for _, slot := range s.fleet.Live() {
		inFlight, tokens := s.fleet.Own(slot)
		st.InFlight += int(inFlight)
		st.WaitingTokens += tokens
	}
	bound, replaced, bytes := s.set.sessions()
	st.Sessions = bound
	st.Replaced += replaced
	st.CoolDowns = s.fleet.CoolDowns()
	st.IndexRecords = s.index.Len()
	st.IndexEvicted = s.index.Evicted()
	st.Overflow = uint64(s.fleet.Overflow())
	if s.received != 0 && now > s.received {
		st.SnapshotAgeMs = (now - s.received) / 1e6
	}
	st.Bytes = bytes + s.index.Bytes() + s.fleet.Bytes() + s.universal.Bytes() + s.share.bytes() + s.kept.bytes() +
		4*(cap(s.match)+cap(s.prompt)+cap(s.cand)) + cap(s.pass) + 8*(cap(s.total)+cap(s.score)+cap(s.caps))
	return st
}
