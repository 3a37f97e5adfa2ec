package filter

import (
	"github.com/zerohop/zerohop/filter/pairs"
	"github.com/zerohop/zerohop/scorers/sched"
	"github.com/zerohop/zerohop/shared/names"
	"github.com/zerohop/zerohop/shared/plan"
)

// servedModelFilter is the type of the plugin that keeps the endpoints with the requested model.
const servedModelFilter = "served-model-filter"

// refuse handles a request for which there is no endpoint, by the plan's failure mode. One that an admitter refused is
// refused in any mode.
func (v *VM) refuse(s *stream, ref int32, outcome sched.Reason) Action {
	var text *refusal
	s.reason, text = v.refusal(s, outcome)
	if !v.failsOpen(outcome) {
		return v.reject(s, ref, text)
	}
	v.letGo(s, ref)
	s.phase = phaseDecided
	v.fallBack(s.ctx)
	v.allow(s)
	return Continue
}

// failsOpen reports whether a request with this outcome goes to the fallback cluster.
func (v *VM) failsOpen(outcome sched.Reason) bool {
	return v.plan.FailureMode == plan.FailOpen && outcome != sched.Denied
}

// reasonFor returns the reason of s after a decision.
func (v *VM) reasonFor(s *stream, outcome sched.Reason) reason {
	switch outcome {
	case sched.Scored, sched.LoadOnly:
		return s.reason
	case sched.AllCooling:
		return reasonAllCooling
	}
	why, _ := v.refusal(s, outcome)
	return why
}

// refusal returns the reason and the answer for an outcome without an endpoint.
func (v *VM) refusal(s *stream, outcome sched.Reason) (reason, *refusal) {
	epp := v.plan.Parity == plan.ParityEPP
	switch outcome {
	case sched.FilteredOut:
		if _, typ := v.sched.Emptied(&s.d); typ == servedModelFilter {
			return reasonModelNotServed, &modelNotServed
		}
		return reasonFilteredOut, &filteredOut
	case sched.NoProfile:
		return reasonNoProfile, &noProfile
	case sched.Denied:
		if epp {
			return reasonDenied, &deniedEPP
		}
		return reasonDenied, &denied
	}
	why, text := v.without()
	if epp && !s.hasBody {
		text = &noPods
	}
	return why, text
}

// without says why there is no endpoint at all.
func (v *VM) without() (reason, *refusal) {
	switch {
	case v.intake.old:
		return reasonSnapshotTooOld, &tooOld
	case v.plan.Agent.Cluster != "" && v.intake.version == 0:
		return reasonAgentUnreachable, &unreachable
	}
	return reasonNoEndpoints, &noEndpoints
}

// reject answers s locally.
func (v *VM) reject(s *stream, ref int32, text *refusal) Action {
	v.letGo(s, ref)
	s.phase = phaseRefused
	v.respond(text)
	return Pause
}

// letGo ends the work for a request that gets no endpoint.
func (v *VM) letGo(s *stream, ref int32) {
	v.stats.fallback[s.reason]++
	v.logPick(s, ref)
	v.releaseScanner(s)
	v.releaseCapture(s)
}

// refusal is a local response: an error as OpenAI's API has it. The texts need no escapes.
type refusal struct {
	_ [0]func() // not comparable, for the size of the module

	status              int
	details             string // for Envoy's access log
	message, kind, code string
	headers             []string // names and values
}

// respond answers the current request with r.
func (v *VM) respond(r *refusal) {
	w := writer{v.line[:0]}
	w.put(`{"error":{"message":"`)
	w.put(r.message)
	w.put(`","type":"`)
	w.put(r.kind)
	w.put(`","param":null,"code":"`)
	w.put(r.code)
	w.put(`"}}`)
	n := len(w.b)
	v.line = pairs.Append(w.b, r.headers...)
	v.host.Respond(r.status, r.details, text(v.line[:n]), v.line[n:])
}

const overloaded = "service_unavailable_error"

// Headers of several answers.
var (
	headersPlain     = []string{"content-type", "application/json"}
	headersSaturated = []string{"content-type", "application/json", names.HeaderDropReason, "rejected-saturated"}
	headersExplain   = []string{"content-type", "application/json", names.HeaderExplain, names.ExplainDryRun}
)

var (
	noEndpoints = refusal{
		status:  503,
		details: "zerohop_no_endpoints",
		message: "no endpoint is available to serve the request", kind: overloaded, code: "no_endpoints",
		headers: []string{"content-type", "application/json", names.HeaderDropReason, "rejected-no-endpoints"},
	}
	unreachable = refusal{
		status:  503,
		details: "zerohop_agent_unreachable",
		message: "no endpoint is known, since the agent has not been reached", kind: overloaded, code: "agent_unreachable",
		headers: []string{"content-type", "application/json", names.HeaderDropReason, "rejected-agent-unreachable"},
	}
	tooOld = refusal{
		status:  503,
		details: "zerohop_snapshot_too_old",
		message: "what is known of the endpoints is too old to be used", kind: overloaded, code: "snapshot_too_old",
		headers: []string{"content-type", "application/json", names.HeaderDropReason, "rejected-snapshot-too-old"},
	}
	noPods = refusal{ // what the EPP says to a request without a body
		status:  500,
		details: "zerohop_no_endpoints",
		message: "no endpoint is available to serve the request", kind: "server_error", code: "no_endpoints",
		headers: headersPlain,
	}
	modelNotServed = refusal{
		status:  429,
		details: "zerohop_model_not_served",
		message: "no endpoint serves the requested model", kind: "rate_limit_error", code: "model_not_served",
		headers: headersSaturated,
	}
	filteredOut = refusal{
		status:  429,
		details: "zerohop_filtered_out",
		message: "no endpoint is eligible to serve the request", kind: "rate_limit_error", code: "no_eligible_endpoint",
		headers: headersSaturated,
	}
	noProfile = refusal{
		status:  429,
		details: "zerohop_no_profile",
		message: "no scheduling profile applies to the request", kind: "rate_limit_error", code: "no_profile",
		headers: headersSaturated,
	}
	denied = refusal{
		status:  429,
		details: "zerohop_denied",
		message: "the request was not admitted", kind: "rate_limit_error", code: "denied",
		headers: headersSaturated,
	}
	deniedEPP = refusal{ // with the EPP's status, and no reason in a header as there
		status:  500,
		details: "zerohop_denied",
		message: "the request was not admitted", kind: "server_error", code: "denied",
		headers: headersPlain,
	}
	notJSON = refusal{
		status:  400,
		details: "zerohop_bad_request",
		message: "the request body is not a JSON object", kind: "invalid_request_error", code: "invalid_json",
		headers: headersPlain,
	}
	noPrompt = refusal{
		status:  400,
		details: "zerohop_bad_request",
		message: "the request body has no messages or prompt that can be served", kind: "invalid_request_error", code: "missing_prompt",
		headers: headersPlain,
	}
	noModel = refusal{
		status:  400,
		details: "zerohop_bad_request",
		message: "the request body names no model", kind: "invalid_request_error", code: "missing_model",
		headers: headersPlain,
	}
	notPost = refusal{
		status:  405,
		details: "zerohop_explain_method",
		message: "an explanation is asked for by POST, with the body of the request that it is about",
		kind:    "invalid_request_error", code: "method_not_allowed",
		headers: []string{"content-type", "application/json", "allow", "POST", names.HeaderExplain, names.ExplainDryRun},
	}
	foreign = refusal{
		status:  403,
		details: "zerohop_explain_refused",
		message: "the address of the client is in none of the networks that may have picks explained",
		kind:    "permission_error", code: "explain_refused",
		headers: headersExplain,
	}
)

// badRequest returns the answer to a body that the EPP refuses, or nil for any other. Bodies that go beyond a limit of ours are
// not refused: the EPP would take them.
func badRequest(r reason) *refusal {
	switch r {
	case reasonNotJSON, reasonTruncated:
		return &notJSON
	case reasonNoPrompt:
		return &noPrompt
	case reasonNoModel:
		return &noModel
	}
	return nil
}
