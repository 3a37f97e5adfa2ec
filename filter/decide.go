package filter

import (
	"strconv"

	"github.com/zerohop/zerohop/filter/pairs"
	"github.com/zerohop/zerohop/scorers/sched"
	"github.com/zerohop/zerohop/shared/blockhash"
	"github.com/zerohop/zerohop/shared/names"
	"github.com/zerohop/zerohop/shared/plan"
)

// decide picks an endpoint for s and tells Envoy. start is the time at which the work for the decision began.
func (v *VM) decide(s *stream, ref int32, start uint64) Action {
	v.refresh(start)
	var p sched.Prompt
	v.prompt(s, &p)
	outcome := v.sched.Decide(start, &p, &s.d)
	if outcome == sched.NoEndpoint || outcome == sched.FilteredOut {
		v.releaseScanner(s)
		return v.refuse(s, ref, outcome)
	}
	v.sched.Commit(start, &p, &s.d)
	v.releaseScanner(s)
	if outcome == sched.AllCooling {
		s.reason = reasonAllCooling
	}
	s.nextTry, s.nextGen = s.d.Cur, s.d.CurGen
	addr := v.sched.Address(s.d.Cur)
	switch {
	case v.plan.Destination == plan.DestinationHeader:
		v.host.ReplaceRequestHeader(names.HeaderDestination, addr)
	case !v.host.SetDestination(addr):
		v.stats.n[cHostErrors]++
		v.fallBack(s.ctx)
	}
	s.phase = phaseDecided
	s.decideNs = uint32(min(v.host.Now()-start, 1<<32-1))
	v.host.SetProperty(names.StatePick, v.pickLine(s, ref))
	v.stats.picked(v.host, s)
	v.heap.request(v.host)
	return Continue
}

// prompt fills p from the scanner. An unknown prompt stays empty: it is routed by load.
func (v *VM) prompt(s *stream, p *sched.Prompt) {
	if s.scanner < 0 {
		return
	}
	sc := v.scanners[s.scanner]
	p.MaxTokens = sc.MaxTokens()
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

// refuse handles a request for which there is no endpoint, by the plan's failure mode.
func (v *VM) refuse(s *stream, ref int32, outcome sched.Reason) Action {
	s.reason = reasonNoEndpoints
	if outcome == sched.FilteredOut {
		s.reason = reasonFilteredOut
	}
	v.stats.fallback[s.reason]++
	v.host.SetProperty(names.StatePick, v.pickLine(s, ref))
	if v.plan.FailureMode == plan.FailOpen {
		s.phase = phaseDecided
		v.fallBack(s.ctx)
		return Continue
	}
	s.phase = phaseRefused
	text := &noEndpoints
	if outcome == sched.FilteredOut {
		text = &filteredOut
	}
	v.host.Respond(text.status, text.details, text.body, text.headers)
	return Pause
}

// refusal is a local response.
type refusal struct {
	status        int
	details, body string
	headers       []byte
}

var (
	noEndpoints = refusal{
		status:  503,
		details: "zerohop_no_endpoints",
		body:    `{"error":{"message":"no endpoint is available to serve the request","type":"service_unavailable_error","param":null,"code":"no_endpoints"}}`,
		headers: pairs.Append(nil, "content-type", "application/json", names.HeaderDropReason, "rejected-no-endpoints"),
	}
	filteredOut = refusal{
		status:  429,
		details: "zerohop_filtered_out",
		body:    `{"error":{"message":"no endpoint is eligible to serve the request","type":"rate_limit_error","param":null,"code":"no_eligible_endpoint"}}`,
		headers: pairs.Append(nil, "content-type", "application/json", names.HeaderDropReason, "rejected-saturated"),
	}
)

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
