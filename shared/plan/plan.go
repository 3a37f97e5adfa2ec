// Package plan defines the compiled configuration that the filter runs: versioned compact JSON with every default applied
// and every reference resolved. The agent (or "zerohop render") compiles it from an EndpointPickerConfig; the filter
// parses it once per configuration. Parse and Append are the only way between Plan and JSON: the package has no
// reflection, because encoding/json in the Wasm module would cost 1.7 MB, and no clock or I/O either.
package plan

// The schema versions. A plan's version says what a module must be able to do to run it: it rises only when a plan can say
// something that a module of the version before would get wrong by skipping what it does not know.
const (
	Version    = 1 // the newest version this package reads, and the one it writes
	MinVersion = 1 // the oldest version this package reads
)

// DestinationMode says how the filter tells Envoy where to send a request.
const (
	DestinationHeader      = "header"       // header x-gateway-destination-endpoint, ORIGINAL_DST with use_http_header
	DestinationFilterState = "filter_state" // filter state original_dst_address, ORIGINAL_DST without header
	DestinationList        = "list"         // header with up to ListLength ip:port, best first; cluster with override_host
)

// ListLength is the most addresses that destination mode list announces.
const ListLength = 3

// FailureMode says what happens to a request for which there is no endpoint at all.
const (
	FailClose = "FailClose" // 503 with a reason
	FailOpen  = "FailOpen"  // the fallback cluster
)

// Parity says whether the filter keeps to what llm-d's EPP does where it would do better.
const (
	ParityNone = "none" // own picks count between scrapes; a body that is not understood is routed by load
	ParityEPP  = "epp"  // as the EPP: scraped numbers only; 400 for such a body
)

// Plan is one compiled configuration. The tags give the JSON names. Numbers without another bound are 0 to MaxInt32.
type Plan struct {
	Version        int        `json:"version"`
	Revision       string     `json:"revision"` // 16 lower-case hexadecimal digits that differ between plans; empty if unknown
	Destination    string     `json:"destination"`
	FailureMode    string     `json:"failureMode"`
	Parity         string     `json:"parity"` // ParityNone or ParityEPP; empty means ParityNone
	Agent          Agent      `json:"agent"`
	Bounds         Bounds     `json:"bounds"`
	Prefix         Prefix     `json:"prefix"`
	Plugins        []Plugin   `json:"plugins"`
	Profiles       []Profile  `json:"profiles"`
	ProfileHandler string     `json:"profileHandler"` // name of a plugin
	Endpoints      []Endpoint `json:"endpoints"`      // used until the first snapshot arrives

	Objectives []Objective `json:"objectives"`
	Explain    Explain     `json:"explain"`
	Log        Log         `json:"log"`
	Sharing    Sharing     `json:"sharing"`
	Attempts   Attempts    `json:"attempts"`
	Inactive   []Inactive  `json:"inactive"` // for people who read the plan
}

// Agent says where snapshots come from. An empty Cluster means that there is no agent.
type Agent struct {
	_ [0]func() // not comparable, for the size of the module

	Cluster       string `json:"cluster"`       // Envoy cluster name
	PollTimeoutMs int    `json:"pollTimeoutMs"` // how long one long poll may stay open
	StaleMs       int    `json:"staleMs"`       // endpoint metrics older than this are not believed
	ScrapeMs      int    `json:"scrapeMs"`      // time between two scrapes of an endpoint; 0 if unknown
	MaxAgeMs      int    `json:"maxAgeMs"`      // a list of endpoints that the agent has not confirmed for longer is not used; 0 for no bound
}

// Bounds caps the filter's state per worker.
type Bounds struct {
	Endpoints   int `json:"endpoints"`   // most endpoints that are considered
	IndexBlocks int `json:"indexBlocks"` // most (endpoint, block) records in the prefix index
	Sessions    int `json:"sessions"`    // most sessions that a plugin instance remembers; 0 means DefaultSessions
}

// DefaultSessions is what Bounds.Sessions of 0 means.
const DefaultSessions = 65536

// MaxSessions returns the most sessions that a plugin instance remembers.
func (b *Bounds) MaxSessions() int {
	if b.Sessions == 0 {
		return DefaultSessions
	}
	return b.Sessions
}

// Prefix configures block hashing and the approximate prefix index.
type Prefix struct {
	AutoTune             bool `json:"autoTune"`             // block size and capacity from the engine's own report
	BlockSizeTokens      int  `json:"blockSizeTokens"`      // used when AutoTune is off or nothing is reported; at least 64 takes effect
	MaxPrefixBlocks      int  `json:"maxPrefixBlocks"`      // used when MaxPrefixTokens is 0
	MaxPrefixTokens      int  `json:"maxPrefixTokens"`      // longest prefix that is hashed
	LRUCapacityPerServer int  `json:"lruCapacityPerServer"` // blocks per endpoint when the engine reports nothing
}

// Plugin is one configured plugin instance.
type Plugin struct {
	Name       string `json:"name"`
	Type       string `json:"type"`
	Parameters Params `json:"parameters"` // every declared parameter, defaults applied
}

// Profile is one scheduling profile. Filters run in order, then all scorers, then the picker.
type Profile struct {
	Name    string   `json:"name"`
	Filters []string `json:"filters"` // plugin names
	Scorers []Scorer `json:"scorers"`
	Picker  string   `json:"picker"` // plugin name
}

// Scorer is a reference to a scorer with its raw weight.
type Scorer struct {
	_ [0]func() // not comparable, for the size of the module

	Plugin string  `json:"plugin"`
	Weight float64 `json:"weight"`
}

// Endpoint is a statically known endpoint.
type Endpoint struct {
	Name    string `json:"name"`    // namespace/name
	Address string `json:"address"` // ip:port, IPv6 in brackets, no zone

	Labels []Label `json:"labels"` // those that plugins read; one that is not here is absent
}

// Label is one label of an endpoint.
type Label struct {
	_ [0]func() // not comparable, for the size of the module

	Key   string `json:"key"`
	Value string `json:"value"`
}

// Objective gives requests that name it in a header a priority.
type Objective struct {
	_ [0]func() // not comparable, for the size of the module

	Name     string `json:"name"`
	Priority int    `json:"priority"` // from MinInt32 to MaxInt32; below 0 the request may be refused under load
}

// Explain says who may have picks explained.
type Explain struct {
	Networks []string `json:"networks"` // CIDR prefixes of the clients; nobody may if there are none
}

// Log says what the access log gets beside the pick.
type Log struct {
	Chain bool `json:"chain"` // a sample of the prompt's chain hashes
}

// SharingMode says what the VMs of one Envoy process tell each other.
const (
	SharingProcess = "process" // load, prefixes, sessions and the health of endpoints
	SharingWorker  = "worker"  // nothing: a worker knows what it did itself
)

// Sharing configures what VMs tell each other. Without a mode, as in plans of agents that know nothing of it, it is
// DefaultSharing.
type Sharing struct {
	_ [0]func() // not comparable, for the size of the module

	Mode       string `json:"mode"`
	IntervalUs int    `json:"intervalUs"` // least time between two looks at what the others wrote
	LogBytes   int    `json:"logBytes"`   // most bytes of a worker's pick log
}

// DefaultSharing is what a Sharing without a mode means.
var DefaultSharing = Sharing{Mode: SharingProcess, IntervalUs: 2000, LogBytes: 1 << 20}

// InForce returns s, or DefaultSharing if s has no mode.
func (s *Sharing) InForce() Sharing {
	if s.Mode == "" {
		return DefaultSharing
	}
	return *s
}

// RetryMode says when a request that may change something, such as a POST, is sent again.
const (
	RetryUnsent     = "unsent"     // if it has not reached a server
	RetryUnanswered = "unanswered" // if no byte of an answer has come, or the answer is 503
)

// Attempts says how a request is tried. Requests that change nothing, such as a GET, are sent again as by RetryUnanswered.
type Attempts struct {
	_ [0]func() // not comparable, for the size of the module

	Retries     string `json:"retries"`     // RetryUnsent or RetryUnanswered; empty means RetryUnsent
	FirstByteMs int    `json:"firstByteMs"` // time that an attempt of a streaming request has for its first byte; 0 for what the route says
}

// Inactive is a plugin instance that was configured and does nothing in this version.
type Inactive struct {
	_ [0]func() // not comparable, for the size of the module

	Name string `json:"name"`
	Type string `json:"type"`
}
