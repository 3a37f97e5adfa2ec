package filter

import (
	"strconv"

	"github.com/zerohop/zerohop/scorers/sched"
	"github.com/zerohop/zerohop/shared/blockhash"
	"github.com/zerohop/zerohop/shared/names"
)

// decide picks an endpoint for s and tells Envoy. start is the time at which the work for the decision began.
func (v *VM) decide(s *stream, ref int32, start uint64) Action {
	v.refresh(start)
	var p sched.Prompt
	v.prompt(s, &p)
	outcome := v.sched.Decide(start, &p, &s.d)
	switch outcome {
	case sched.NoEndpoint, sched.FilteredOut, sched.Denied, sched.NoProfile:
		return v.refuse(s, ref, outcome)
	}
	v.sched.Commit(start, &p, &s.d)
	v.releaseScanner(s)
	v.releaseCapture(s)
	if outcome == sched.AllCooling {
		s.reason = reasonAllCooling
	}
	s.nextTry, s.nextGen = s.d.Cur, s.d.CurGen
	v.send(start, s)
	s.phase = phaseDecided
	s.decideNs = uint32(min(v.host.Now()-start, 1<<32-1))
	v.host.SetProperty(names.StatePick, v.pickLine(s, ref))
	v.picked(s)
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
	p.MaxTokens = sc.MaxTokens()
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
	if sc.Capped() {
		v.stats.n[cCapped]++
	}
	if sc.ToolsVerbatim() {
		v.stats.n[cToolsVerbatim]++
	}
}

// pickLine formats what the access log prints about s. The result is valid until the next call.
func (v *VM) pickLine(s *stream, ref int32) []byte {
	b := append(v.line[:0], "endpoint="...)
	if s.d.Cur >= 0 {
		b = append(b, v.sched.Address(s.d.Cur)...)
	} else {
		b = append(b, '-')
	}
	b = append(b, " matched="...)
	b = strconv.AppendInt(b, int64(s.d.Matched), 10)
	b = append(b, " total="...)
	b = strconv.AppendInt(b, int64(s.d.Total), 10)
	b = append(b, " attempts="...)
	b = strconv.AppendInt(b, int64(s.d.Attempt), 10)
	b = append(b, " decision_us="...)
	b = strconv.AppendInt(b, int64(s.decideNs/1000), 10)
	b = append(b, " reason="...)
	b = append(b, reasonNames[s.reason]...)
	b = append(b, " id="...)
	b = v.appendPickID(b, ref)
	v.line = b
	return b
}
