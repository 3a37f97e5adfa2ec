package filter

import (
	"github.com/zerohop/zerohop/scorers/sched"
	"github.com/zerohop/zerohop/shared/blockhash"
)

// decide picks an endpoint for s and tells Envoy. start is the time at which the work for the decision began.
func (v *VM) decide(s *stream, ref int32, start uint64) Action {
	if s.asked == askedDryRun {
		return v.dryRun(s, start)
	}
	v.refresh(start)
	v.look(start)
	var p sched.Prompt
	v.prompt(s, &p)
	var outcome sched.Reason
	if v.outdated(start) {
		outcome = sched.NoEndpoint
		if s.asked == askedHeaders {
			v.takeNote(s, start, v.reasonFor(s, outcome), false)
		}
	} else if s.asked == askedHeaders {
		outcome = v.explained(start, &p, &s.d)
		v.takeNote(s, start, v.reasonFor(s, outcome), true)
	} else {
		outcome = v.sched.Decide(start, &p, &s.d)
	}
	switch outcome {
	case sched.NoEndpoint, sched.FilteredOut, sched.Denied, sched.NoProfile:
		return v.refuse(s, ref, outcome)
	}
	v.sched.Commit(start, &p, &s.d)
	s.reason = v.reasonFor(s, outcome)
	s.nextTry, s.nextGen = s.d.Cur, s.d.CurGen
	v.send(start, s)
	v.allow(s)
	s.phase = phaseDecided
	s.decideNs = uint32(min(v.host.Now()-start, 1<<32-1))
	v.logPick(s, ref)
	v.logChain(s, &p)
	v.releaseScanner(s)
	v.releaseCapture(s)
	v.picked(s)
	v.publishPick(start)
	v.heap.request(v.host)
	return Continue
}

// prompt fills p from the scanner. An unknown prompt stays empty: it is routed by load.
func (v *VM) prompt(s *stream, p *sched.Prompt) {
	p.Headers, p.HasBody = v.headers(s), s.hasBody
	if s.scanner < 0 {
		return
	}
	sc := v.scanners[s.scanner]
	p.MaxTokens, p.Streams = sc.MaxTokens(), sc.Stream()
	if s.reason != reasonTruncated && s.reason != reasonNotJSON {
		p.Model = sc.Model() // else it may be a part of the name
	}
	if s.reason != reasonScored {
		p.Tokens = s.seen / blockhash.BytesPerToken
		return
	}
	p.Seed = blockhash.Seed(sc.Model(), sc.Salt())
	p.IDs = sc.IDs()
	p.Starts = sc.Starts()
	p.Tokens = sc.Tokens()
	p.BlockTokens = s.block
	if s.asked == askedDryRun {
		return
	}
	if sc.Capped() {
		v.stats.n[cCapped]++
	}
	if sc.ToolsVerbatim() {
		v.stats.n[cToolsVerbatim]++
	}
}
