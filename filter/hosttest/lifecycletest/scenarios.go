package lifecycletest

import (
	"testing"

	"github.com/zerohop/zerohop/shared/plan"
)

// scenario is a story of several requests, configurations or workers.
type scenario struct {
	name string
	run  func(t *testing.T, s Subject)
}

var scenarios = []scenario{
	{"client reset at every stage", resetAtEveryStage},
	{"downstream deleted first", downstreamFirst},
	{"all endpoints dead", allDead},
	{"503, then dead", unavailableThenDead},
	{"always 503", alwaysUnavailable},
	{"response cut short", responseCut},
	{"no attempt filter", noAttemptFilter},
	{"body over the limit", bodyOverLimit},
	{"many streams at once", manyStreams},

	{"same prompt, same endpoint", samePrompt},
	{"other prompt, other chain", otherPrompt},
	{"profile by header", profileByHeader},
	{"admission denied", admissionDenied},
	{"filtered out", filteredOut},
	{"model not served", modelNotServed},
	{"session tokens", sessionTokens},
	{"one request id", oneRequestID},
	{"access log", accessLog},
	{"explained in headers", explainedInHeaders},
	{"explain is off or foreign", explainRefused},
	{"header values are not told", headerValuesAreNotTold},
	{"too many explanations", explainBusy},
	{"dry run", dryRun},
	{"dry run without endpoint", dryRunWithoutEndpoint},
	{"dry run of a bad body under parity", dryRunUnderParity},
	{"dry run remembers nothing", dryRunRemembersNothing},
	{"dry run by other methods", dryRunByOtherMethods},
	{"explained: held endpoints", explainedHeld},
	{"explained: denial", explainedDenial},
	{"explained: session", explainedSession},
	{"chains show sharing", chainsShowSharing},
	{"no endpoint, FailClose", noEndpointFailClose},
	{"no endpoint, FailOpen", noEndpointFailOpen},
	{"no profile", noProfile},
	{"all endpoints draining", allDraining},

	{"list names the next", listNamesTheNext},
	{"list leaves out the cooling", listLeavesOutTheCooling},
	{"cluster lacks the best", clusterLacksTheBest},
	{"fallback policy chooses", fallbackPolicyChooses},
	{"list is used up", listIsUsedUp},
	{"list without attempt filter", listWithoutAttemptFilter},
	{"parity refuses bodies", parityRefusesBodies},
	{"parity without endpoints", parityWithoutEndpoints},
	{"parity counts no own picks", parityCountsNoOwnPicks},
	{"endpoint drains, leaves and returns", endpointDrains},

	{"attempt of an unknown stream", unknownStream},
	{"vm rebuilt between request and attempt", rebuiltBeforeAttempt},
	{"vm rebuilt and in use again", rebuiltAndReused},
	{"vm rebuilt while the body arrives", rebuiltMidBody},

	{"canary writes nothing", canaryWritesNothing},
	{"bad configuration keeps the old one", badConfiguration},
	{"old root keeps ticking", oldRootTicks},
	{"configuration changed under a request", changedUnderRequest},

	{"everything survives a configuration", survivesChange},

	{"one leader of three", oneLeader},
	{"leader dies", leaderDies},
	{"two find the lease free", leaseRace},
	{"agent down", agentDown},
	{"agent cluster unknown", agentUnknown},
	{"poll without news", pollWithoutNews},
	{"agent answers everything at once", answersAtOnce},
	{"poll times out", pollTimesOut},
	{"broken snapshot from the agent", brokenFromAgent},
	{"broken snapshot in shared data", brokenInSharedData},
	{"snapshot adopted by the other worker", adoptedByOther},
	{"deltas", deltas},
	{"delta does not fit", deltaDoesNotFit},
	{"only broken deltas", onlyBrokenDeltas},
	{"workers report", workersReport},
	{"failures are reported", failuresReported},
	{"dead worker vanishes", deadWorkerVanishes},
	{"worker number lost", numberLost},
	{"two find a worker number free", numberRace},
	{"records are rare", recordsAreRare},
	{"reports take turns", reportsTakeTurns},
	{"broken records", brokenRecords},
	{"another revision is reported", newRevisionReported},
	{"endpoint leaves under a request", endpointLeaves},
	{"more endpoints than configured", tooManyEndpoints},
	{"agent taken out of the plan", agentRemoved},

	{"load is shared", loadIsShared},
	{"burst on many workers", burstIsSpread},
	{"released once, with others watching", releasedOnce},
	{"stream of ten minutes", tenMinutes},
	{"cancelled streams are not touched by ticks", untouchedByTicks},
	{"one endpoint, scraped long ago", lateScrape},
	{"all endpoints go under requests", endpointsGone},
	{"a dead VM stops counting", deadStopsCounting},
	{"a VM stands still and goes on", standsStill},
	{"counted before the first tick", numberedAtOnce},
	{"numbers race without agent", numbersRace},
	{"leader dies without agent", edgeLeader},
	{"sharing is off", sharingIsOff},
	{"sharing is switched", sharingIsSwitched},
	{"prefixes are shared", prefixIsShared},
	{"failures are shared", failureIsShared},
	{"sessions are shared", sessionIsShared},
	{"log records are lost", recordsAreLost},
	{"dumper is lost", dumperLost},
	{"logs of the lost", logsOfTheLost},
	{"log is inherited", logIsInherited},
	{"looks after losses", fewLooks},
	{"no number is free", noNumberFree},
	{"newest root is gone", newestRootGone},
	{"log is bounded", logIsBounded},
	{"rebuilt VM restores", restoredFromDump},
	{"rebuilt VM restores before the first tick", restoredBefore},
}

// Run runs the whole table against a subject.
func Run(t *testing.T, s Subject) {
	t.Run("requests", func(t *testing.T) { runTable(t, s) })
	for _, c := range scenarios {
		t.Run(c.name, func(t *testing.T) { c.run(t, s) })
	}
}

// eachMode runs f in a world of one worker for every destination mode.
func eachMode(t *testing.T, s Subject, endpoints int, f func(w *world)) {
	for _, mode := range modes {
		t.Run(mode, func(t *testing.T) {
			w := newWorld(t, s, Plan(mode, endpoints))
			f(w)
			w.check()
		})
	}
}

// single returns a world in header mode.
func single(t *testing.T, s Subject, endpoints int) *world {
	return newWorld(t, s, Plan(plan.DestinationHeader, endpoints))
}
