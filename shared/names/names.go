// Package names holds every name that crosses a process or module boundary: HTTP headers, plugin root ids, shared-data
// keys, filter-state keys and agent paths, so that a name is spelled once.
package names

import "strconv"

// Root ids of the two plugins that the module contains.
const (
	// RootDownstream is the downstream HTTP filter: it reads the request and picks the endpoint.
	RootDownstream = "zerohop"
	// RootAttempt is the upstream HTTP filter of the destination cluster: Envoy runs it once per attempt.
	RootAttempt = "zerohop-attempt"
)

// HTTP headers. All are lower case, as Envoy stores them.
const (
	// HeaderDestination carries the picked ip:port (Gateway API Inference Extension, endpoint picker protocol).
	HeaderDestination = "x-gateway-destination-endpoint"
	// HeaderDestinationSubset is the protocol's subset hint; a client has no say in it.
	HeaderDestinationSubset = "x-gateway-destination-endpoint-subset"
	// HeaderDestinationServed names the endpoint that served (endpoint picker protocol).
	HeaderDestinationServed = "x-gateway-destination-endpoint-served"
	// HeaderFallback sends a request to the fallback cluster; the default route is the destination cluster.
	HeaderFallback = "x-zerohop-fallback"
	// HeaderRetryOn tells Envoy's router what else than its route says to send the request again for.
	HeaderRetryOn = "x-envoy-retry-on"
	// HeaderFirstByte tells Envoy's router how many milliseconds an attempt may take until the response begins.
	HeaderFirstByte = "x-envoy-upstream-rq-per-try-timeout-ms"
	// HeaderDropReason says in a local response why no endpoint was picked (llm-d's name).
	HeaderDropReason = "x-llm-d-request-dropped-reason"
)

// Request headers of the EPP that plugins read. Each has an older name, which counts where the header is absent.
const (
	// HeaderObjective names the objective of a request, which has a priority.
	HeaderObjective    = "x-llm-d-inference-objective"
	HeaderObjectiveOld = "x-gateway-inference-objective" // older HeaderObjective
	// HeaderTTFT is the objective for the time to the first token, in milliseconds.
	HeaderTTFT    = "x-llm-d-slo-ttft-ms"
	HeaderTTFTOld = "x-slo-ttft-ms" // older HeaderTTFT
	// HeaderTPOT is the objective for the time per output token, in milliseconds.
	HeaderTPOT    = "x-llm-d-slo-tpot-ms"
	HeaderTPOTOld = "x-slo-tpot-ms" // older HeaderTPOT
)

// SystemOwned lists the request headers that are meant for a scheduler, and not for what it schedules: a client's values are
// not to reach a model server. They are read where a plugin asks, and removed unless parity is epp.
var SystemOwned = [...]string{
	HeaderObjective, HeaderObjectiveOld, HeaderTTFT, HeaderTTFTOld, HeaderTPOT, HeaderTPOTOld,
	"x-llm-d-inference-fairness-id", "x-gateway-inference-fairness-id",
	"x-llm-d-model-name-rewrite", "x-gateway-model-name-rewrite",
	"x-prefiller-host-port", "x-encoder-hosts-ports", "x-data-parallel-host-port", "x-kv-cache-source-host-port",
}

// Headers of explained picks.
const (
	// HeaderExplain with the value ExplainHeaders asks for the response headers below. In a response it says how the request
	// was explained, if it was.
	HeaderExplain = "x-zerohop-explain"
	// HeaderProfile names the profile, the profile handler, the reason, the parity and the plan's revision.
	HeaderProfile = "x-zerohop-profile"
	// HeaderCandidates says how many endpoints were candidates, and how many the filters left.
	HeaderCandidates = "x-zerohop-candidates"
	// HeaderFiltered lists what each filter left, and the first endpoints that were taken away.
	HeaderFiltered = "x-zerohop-filtered"
	// HeaderHeld lists the first endpoints that should get no request, and why.
	HeaderHeld = "x-zerohop-held"
	// HeaderDenied names the admitter that refused, and what it went by.
	HeaderDenied = "x-zerohop-denied"
	// HeaderScore, with -1 to -5 behind it, lists the scores of one of the best endpoints.
	HeaderScore = "x-zerohop-score"
	// HeaderInputs lists the numbers that the best endpoints were scored with, and their ages.
	HeaderInputs = "x-zerohop-inputs"
	// HeaderMatch says how long the match with the endpoint's prefix cache is believed to be.
	HeaderMatch = "x-zerohop-match"
	// HeaderPick names the endpoint that answered and the number of its attempt.
	HeaderPick = "x-zerohop-pick"
)

// Values of HeaderExplain: what a request asks for, and what a response says.
const (
	ExplainHeaders = "headers"
	ExplainDryRun  = "dry-run"
	ExplainBusy    = "busy" // too many requests are being explained
)

// PathExplain answers a POST of a request body with what would be decided about it, as JSON. The parameter path in the query is
// the path that the request would have.
const PathExplain = "/zerohop/explain"

// Headers of a poll of the agent.
const (
	// HeaderNode carries Envoy's node id.
	HeaderNode = "x-zerohop-node"
	// HeaderModule says which plan versions the polling module reads: "plan MIN-MAX".
	HeaderModule = "x-zerohop-module"
	// HeaderPrefer carries "wait=SECONDS" (RFC 7240): how long the poller wants to wait for news, since a report travels
	// only with the next poll.
	HeaderPrefer = "prefer"
)

// Stripped lists the request headers that only the filter may set, and those by which Envoy's router would let a client have a
// request sent twice, or given up. They are removed from every request, wherever they came from.
var Stripped = [...]string{
	HeaderDestination, HeaderDestinationSubset, HeaderDestinationServed, HeaderFallback, HeaderRetryOn, HeaderFirstByte,
	"x-envoy-retry-grpc-on", "x-envoy-retriable-status-codes", "x-envoy-retriable-header-names", "x-envoy-max-retries",
	"x-envoy-hedge-on-per-try-timeout", "x-envoy-upstream-rq-timeout-ms",
}

// Shared-data keys. The number is the format version of the value.
const (
	// KeySnapshot holds the newest encoded snapshot (package snapshot).
	KeySnapshot = "zerohop.snapshot.v1"
	// KeySnapshotVersion holds 16 bytes, little-endian: u64 snapshot version, u64 monotonic nanoseconds of receipt.
	KeySnapshotVersion = "zerohop.snapshot_version.v1"
	// KeyLeader holds 16 bytes, little-endian: u64 VM epoch of the leader, u64 monotonic nanoseconds at which the lease ends.
	KeyLeader = "zerohop.leader.v1"
	// KeyConfirmed holds 8 bytes, little-endian: u64 monotonic nanoseconds at which the agent last had nothing newer.
	KeyConfirmed = "zerohop.confirmed.v1"
	// KeyProcess holds 8 bytes, little-endian: a random number that identifies this Envoy process in reports.
	KeyProcess = "zerohop.process.v1"
	// KeyRoll holds 8 bytes, little-endian: u64 epoch of the VM that has entered itself last: one that took a worker number, has had
	// its first request, or goes on after it stood still. Whenever it changes, the others look who is there.
	KeyRoll = "zerohop.roll.v1"
	// KeyDumper holds who writes the dump, as KeyLeader does who leads.
	KeyDumper = "zerohop.dumper.v1"
	// KeyDumpDirectory holds 16 bytes, little-endian: u64 chunks of the last complete dump, u64 chunks written of the next one.
	KeyDumpDirectory = "zerohop.dump_directory.v1"
	// The keys of KeyWorker and of those below begin and end with these.
	keyWorker, keyLoad, keyLog, keyDump = "zerohop.worker.", "zerohop.load.", "zerohop.log.", "zerohop.dump."
	keyVersion                          = ".v1"
)

// MaxWorkers is the number of worker numbers that VMs of one process may lease. Envoy has one VM per worker thread and one
// for the main thread.
const MaxWorkers = 256

// KeyWorker returns the shared-data key of worker number i, from 0 on. Its value is the record (package report) of the VM
// that holds the number.
func KeyWorker(i int) string { return keyWorker + strconv.Itoa(i) + keyVersion }

// KeyLoad returns the shared-data key of the load vector (package loads) of worker number i.
func KeyLoad(i int) string { return keyLoad + strconv.Itoa(i) + keyVersion }

// LogSlots is the number of slots in the pick log of a worker. Each is a shared-data value.
const LogSlots = 256

// KeyLog returns the shared-data key of slot k, below LogSlots, of the pick log (package picklog) of worker number i.
func KeyLog(i, k int) string {
	const hex = "0123456789abcdef"
	return keyLog + strconv.Itoa(i) + "." + string([]byte{hex[k>>4], hex[k&15]}) + keyVersion
}

// LogKeys returns KeyLog(i, 0) to KeyLog(i, LogSlots-1) in one string, one after the other. All have the same length.
func LogKeys(i int) string {
	b := make([]byte, 0, LogSlots*len(KeyLog(i, 0)))
	for k := range LogSlots {
		b = append(b, KeyLog(i, k)...)
	}
	return string(b)
}

// KeyDump returns the shared-data key of chunk j (package picklog) of the dump.
func KeyDump(j int) string { return keyDump + strconv.Itoa(j) + keyVersion }

// Filter-state keys. Envoy stores a plugin's property under "wasm." + key.
const (
	// StatePick is the property that says what was picked: the access log prints it, and the id at its end leads the
	// attempt filter to its stream.
	StatePick = "zerohop.pick"
	// StateChain is the property with a sample of the prompt's chain hashes, for the access log.
	StateChain = "zerohop.chain"
	// StateOriginalDst is Envoy's filter-state object that an ORIGINAL_DST cluster reads first.
	StateOriginalDst = "envoy.network.transport_socket.original_dst_address"
)

// Envoy's attributes, as property paths.
const (
	// PropertyUpstreamAddress is the ip:port of the endpoint that the newest attempt went to.
	PropertyUpstreamAddress = "upstream\x00address"
	// PropertySourceAddress is the client's ip:port, as Envoy determined it.
	PropertySourceAddress = "source\x00address"
	// PropertyNodeID is the id of this Envoy's node.
	PropertyNodeID = "xds\x00node\x00id"
)

// The agent's HTTP interface.
const (
	// PathSnapshot answers GET ?v=N with the newest snapshot as soon as its version differs from N (long poll). POST does the
	// same and takes a report (package report) as its body.
	PathSnapshot = "/v1/snapshot"
	// ContentTypeSnapshot is the media type of an encoded snapshot.
	ContentTypeSnapshot = "application/vnd.zerohop.snapshot"
	// ContentTypeDelta is the media type of a delta between two snapshots.
	ContentTypeDelta = "application/vnd.zerohop.snapshot-delta"
	// ContentTypeReport is the media type of a report.
	ContentTypeReport = "application/vnd.zerohop.report"
)
