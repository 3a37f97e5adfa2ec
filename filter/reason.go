package filter

import "github.com/zerohop/zerohop/filter/scan"

// reason says how a request was routed. Every one but reasonScored is a fallback with its own counter.
type reason uint8

const (
	reasonScored           reason = iota // the whole profile, prompt known
	reasonNoBody                         // GET, or no body: nothing to read
	reasonUnknownPath                    // not a path whose body is understood
	reasonNotJSON                        // scan.NotJSON
	reasonTruncated                      // scan.Truncated
	reasonTooDeep                        // scan.TooDeep
	reasonNoPrompt                       // scan.NoPrompt
	reasonNoModel                        // scan.NoModel
	reasonFieldTooBig                    // scan.FieldTooBig
	reasonUnreadable                     // scan.Unreadable
	reasonScannersBusy                   // too many bodies are being scanned
	reasonNoBodyCallbacks                // Envoy shows no bodies, see blind.go
	reasonAllCooling                     // every endpoint is cooled down or draining; the least bad one was taken
	reasonNoEndpoints                    // there is no endpoint
	reasonFilteredOut                    // the profile's filters left none
	reasonDenied                         // an admitter refused
	reasonNoProfile                      // the profile handler chose no profile
	reasonModelNotServed                 // no candidate serves the requested model
	reasonAgentUnreachable               // there is no endpoint, and the agent has never sent any
	reasonSnapshotTooOld                 // the agent has not confirmed its endpoints for too long
	reasons
)

// reasonNames are the names in the access log and, within "zerohop_fallback_NAME_total", in Envoy's stats.
var reasonNames = [reasons]string{
	reasonScored:          "scored",
	reasonNoBody:          "no_body",
	reasonUnknownPath:     "unknown_path",
	reasonNotJSON:         "not_json",
	reasonTruncated:       "truncated",
	reasonTooDeep:         "too_deep",
	reasonNoPrompt:        "no_prompt",
	reasonNoModel:         "no_model",
	reasonFieldTooBig:     "field_too_big",
	reasonUnreadable:      "unreadable",
	reasonScannersBusy:    "scanners_busy",
	reasonNoBodyCallbacks: "no_body_callbacks",
	reasonAllCooling:      "all_cooling",
	reasonNoEndpoints:     "no_endpoints",
	reasonFilteredOut:     "filtered_out",
	reasonDenied:          "denied",
	reasonNoProfile:       "no_profile",
	reasonModelNotServed:  "model_not_served",

	reasonAgentUnreachable: "agent_unreachable",
	reasonSnapshotTooOld:   "snapshot_too_old",
}

// scanReasons translates the scanner's results.
var scanReasons = [...]reason{
	scan.OK:          reasonScored,
	scan.NotJSON:     reasonNotJSON,
	scan.Truncated:   reasonTruncated,
	scan.TooDeep:     reasonTooDeep,
	scan.NoPrompt:    reasonNoPrompt,
	scan.NoModel:     reasonNoModel,
	scan.FieldTooBig: reasonFieldTooBig,
	scan.Unreadable:  reasonUnreadable,
}
