package main

import (
	"fmt"
	"slices"
	"strings"
)

// Kind names a fault.
type Kind string

// The faults.
const (
	Kill        Kind = "kill"
	Stop        Kind = "stop"
	Errors      Kind = "errors"
	Broken      Kind = "broken"
	MetricsHang Kind = "metrics-hang"
	MetricsLie  Kind = "metrics-lie"
	MetricsHuge Kind = "metrics-huge"
	Add         Kind = "add"
	Remove      Kind = "remove"
	Rename      Kind = "rename"
	Readdress   Kind = "readdress"
	AgentLate   Kind = "agent-late"
	AgentKill   Kind = "agent-kill"
	AgentWrong  Kind = "agent-wrong"
	Trap        Kind = "trap"
	Vanish      Kind = "vanish"
	Burst       Kind = "burst"
	Hot         Kind = "hot"
)

// Class is what became of a request. All but Success and Left are errors.
type Class string

// The classes of outcomes.
const (
	Success  Class = "success"
	Left     Class = "left"         // the client went away, as it was to
	Cut      Class = "broken"       // the response began and broke off
	Status5  Class = "status 500"   // an endpoint answered 500
	Lost     Class = "filter lost"  // 503 by Envoy, whose VM is gone
	Refused  Class = "refused"      // by the filter, with its reason
	Timeout  Class = "timeout"      // 504 by Envoy
	Unserved Class = "unserved"     // another error status by Envoy
	NoAnswer Class = "no answer"    // the connection ended before a response
	Garbled  Class = "garbled"      // not the response to this request, not whole, or more than that
	Hung     Class = "did not end"  // within the client's patience
	Unsent   Class = "not accepted" // no connection to Envoy
)

// Scope says which requests an allowance is for.
type Scope int

// The scopes.
const (
	// OnEndpoint allows the error while the fault lasts, for responses of the fault's endpoint.
	OnEndpoint Scope = iota
	// BegunOnEndpoint allows the error for responses of the fault's endpoint that had begun when the fault began.
	BegunOnEndpoint
	// OnVM allows the error for requests that were under way when the fault began or came before the VM was rebuilt.
	OnVM
)

// Allowance is an error that a fault may cause.
type Allowance struct {
	Class Class
	Scope Scope
}

// lane groups faults that never overlap. Faults of different lanes do.
type lane int

const (
	laneStart lane = iota // before anything else
	laneEndpoints
	laneAgent
	laneClients
)

// Rule says what a fault is and what it may cost.
type Rule struct {
	Kind    Kind
	What    string // what is done
	Allowed []Allowance
	Costs   string // the same for people
	Beyond  string // what is checked beside the errors; may be empty

	lane     lane
	least    int // seconds it lasts at least
	spread   int // and at most this much more
	recovers bool
}

// none is what most faults may cost.
const none = "none"

// rules is the table of all faults. docs/chaos.md shows it.
var rules = []Rule{
	{
		Kind: Kill, What: "SIGKILL an endpoint, start it again after 4 to 7 s",
		Allowed: []Allowance{{Cut, BegunOnEndpoint}}, Costs: "`broken`: responses of the endpoint that had begun",
		Beyond: "it is served again", lane: laneEndpoints, least: 4, spread: 3, recovers: true,
	},
	{
		Kind: Stop, What: "SIGSTOP an endpoint, SIGCONT after 12 to 14 s", Costs: none,
		Beyond: "requests without a byte are answered by another endpoint after the first-byte timeout; it is served again",
		lane:   laneEndpoints, least: 12, spread: 2, recovers: true,
	},
	{
		Kind: Errors, What: "an endpoint answers 500 within a millisecond",
		Allowed: []Allowance{{Status5, OnEndpoint}}, Costs: "`status 500`: answers of the endpoint",
		Beyond: "after 2 s its share of the attempts is below half of fair; it is served again", lane: laneEndpoints, least: 8, spread: 2, recovers: true,
	},
	{
		Kind: Broken, What: "an endpoint resets every response in its midst",
		Allowed: []Allowance{{Cut, OnEndpoint}}, Costs: "`broken`: responses of the endpoint", Beyond: "it is served again",
		lane: laneEndpoints, least: 4, spread: 2, recovers: true,
	},
	{Kind: MetricsHang, What: "an endpoint's /metrics stops in its midst", Costs: none, Beyond: "it is served again", lane: laneEndpoints, least: 5, spread: 2, recovers: true},
	{Kind: MetricsLie, What: "an endpoint's /metrics has NaN, negative and endless numbers", Costs: none, Beyond: "it is served again", lane: laneEndpoints, least: 5, spread: 2, recovers: true},
	{Kind: MetricsHuge, What: "an endpoint's /metrics has 100 MB", Costs: none, Beyond: "it is served again; the agent's memory is bounded", lane: laneEndpoints, least: 5, spread: 2, recovers: true},

	{Kind: Add, What: "a further endpoint comes, and goes after 5 to 8 s", Costs: none, lane: laneAgent, least: 5, spread: 3},
	{Kind: Remove, What: "an endpoint leaves the list, and is back after 5 to 8 s", Costs: none, Beyond: "it gets nothing meanwhile", lane: laneAgent, least: 5, spread: 3},
	{Kind: Rename, What: "an endpoint gets another name", Costs: none, lane: laneAgent, least: 4, spread: 2},
	{Kind: Readdress, What: "a name gets another address in one update, and the old one back; a decoy listens at the address without name", Costs: none, Beyond: "the decoy gets nothing", lane: laneAgent, least: 9, spread: 2},
	{Kind: AgentLate, What: "Envoy serves 5 s before its agent starts", Costs: none, lane: laneStart, least: 5},
	{Kind: AgentKill, What: "SIGKILL the agent, start another after 4 to 8 s", Costs: none, lane: laneAgent, least: 4, spread: 4},
	{Kind: AgentWrong, What: "the configuration becomes wrong, or the endpoint file, and the agent is killed and cannot start", Costs: none, lane: laneAgent, least: 5, spread: 2},

	{
		Kind: Trap, What: "the VM of one worker traps (test build of the module)",
		Allowed: []Allowance{{Lost, OnVM}, {Cut, OnVM}},
		Costs:   "`filter lost`, `broken`: requests on that VM, at that moment", lane: laneClients, least: 5, spread: 1,
	},
	{Kind: Vanish, What: "every second client leaves: in the headers, in the body, before the answer, at its first byte, in its midst", Costs: none, lane: laneClients, least: 5, spread: 3},
	{Kind: Burst, What: "750 requests that no endpoint knows, in one instant", Costs: none, lane: laneClients, least: 6, spread: 1},
	{Kind: Hot, What: "nine of ten requests have one prefix", Costs: none, lane: laneClients, least: 7, spread: 3},
}

// ruleOf returns the rule of a kind, which must be one of the table.
func ruleOf(k Kind) *Rule {
	i := slices.IndexFunc(rules, func(r Rule) bool { return r.Kind == k })
	return &rules[i]
}

// parseKinds reads a list of faults; nil means all.
func parseKinds(list string) ([]Kind, error) {
	switch list {
	case "":
		return nil, nil
	case none:
		return []Kind{}, nil
	}
	var kinds []Kind
	for name := range strings.SplitSeq(list, ",") {
		if !slices.ContainsFunc(rules, func(r Rule) bool { return string(r.Kind) == name }) {
			return nil, fmt.Errorf("%q: there is no such fault; docs/chaos.md lists them", name)
		}
		kinds = append(kinds, Kind(name))
	}
	return kinds, nil
}

// tableMarkdown is the table as docs/chaos.md has it.
func tableMarkdown() string {
	var b strings.Builder
	b.WriteString("| Fault | What happens | Errors that are allowed | Checked beside |\n|---|---|---|---|\n")
	for i := range rules {
		r := &rules[i]
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", r.Kind, r.What, r.Costs, r.Beyond)
	}
	return b.String()
}
