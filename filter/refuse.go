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
	v.host.Respond(text.status, text.details, text.body, text.headers)
	return Pause
}

// letGo ends the work for a request that gets no endpoint.
func (v *VM) letGo(s *stream, ref int32) {
	v.stats.fallback[s.reason]++
	v.logPick(s, ref)
	v.releaseScanner(s)
	v.releaseCapture(s)
}

// refusal is a local response.
type refusal struct {
	status        int
	details, body string
	headers       []byte
}

var (
	noEndpoints = unavailable("no_endpoints", "no endpoint is available to serve the request", "rejected-no-endpoints")
	unreachable = unavailable("agent_unreachable", "no endpoint is known, since the agent has not been reached", "rejected-agent-unreachable")
	tooOld      = unavailable("snapshot_too_old", "what is known of the endpoints is too old to be used", "rejected-snapshot-too-old")
	noPods      = refusal{ // what the EPP says to a request without a body
		status:  500,
		details: "zerohop_no_endpoints",
		body:    errorBody("no endpoint is available to serve the request", "server_error", "no_endpoints"),
		headers: pairs.Append(nil, "content-type", "application/json"),
	}
	modelNotServed = refusal{
		status:  429,
		details: "zerohop_model_not_served",
		body:    errorBody("no endpoint serves the requested model", "rate_limit_error", "model_not_served"),
		headers: pairs.Append(nil, "content-type", "application/json", names.HeaderDropReason, "rejected-saturated"),
	}
	filteredOut = refusal{
		status:  429,
		details: "zerohop_filtered_out",
		body:    errorBody("no endpoint is eligible to serve the request", "rate_limit_error", "no_eligible_endpoint"),
		headers: pairs.Append(nil, "content-type", "application/json", names.HeaderDropReason, "rejected-saturated"),
	}
	noProfile = refusal{
		status:  429,
		details: "zerohop_no_profile",
		body:    errorBody("no scheduling profile applies to the request", "rate_limit_error", "no_profile"),
		headers: pairs.Append(nil, "content-type", "application/json", names.HeaderDropReason, "rejected-saturated"),
	}
	denied = denial(429, "rate_limit_error", names.HeaderDropReason, "rejected-saturated")
	// deniedEPP has the EPP's status, and no reason in a header as there.
	deniedEPP = denial(500, "server_error")
	notJSON   = badBody("the request body is not a JSON object", "invalid_json")
	noPrompt  = badBody("the request body has no messages or prompt that can be served", "missing_prompt")
	noModel   = badBody("the request body names no model", "missing_model")
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

func unavailable(code, message, dropped string) refusal {
	return refusal{
		status:  503,
		details: "zerohop_" + code,
		body:    errorBody(message, "service_unavailable_error", code),
		headers: pairs.Append(nil, "content-type", "application/json", names.HeaderDropReason, dropped),
	}
}

func denial(status int, kind string, headers ...string) refusal {
	return refusal{
		status:  status,
		details: "zerohop_denied",
		body:    errorBody("the request was not admitted", kind, "denied"),
		headers: pairs.Append(nil, append([]string{"content-type", "application/json"}, headers...)...),
	}
}

func badBody(message, code string) refusal {
	return refusal{
		status:  400,
		details: "zerohop_bad_request",
		body:    errorBody(message, "invalid_request_error", code),
		headers: pairs.Append(nil, "content-type", "application/json"),
	}
}

// errorBody returns an error as OpenAI's API has it. The arguments need no escapes.
func errorBody(message, kind, code string) string {
	return `{"error":{"message":"` + message + `","type":"` + kind + `","param":null,"code":"` + code + `"}}`
}
