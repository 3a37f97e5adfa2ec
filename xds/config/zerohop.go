package config

import (
	"net/netip"
	"time"

	"github.com/zerohop/zerohop/shared/plan"
	"github.com/zerohop/zerohop/xds/discovery"
	"github.com/zerohop/zerohop/xds/scrape"
)

// Zerohop holds the settings of the second document, kind ZerohopConfig: what the filter and the agent need beyond the
// EndpointPickerConfig, so that the latter stays loadable by the EPP. Every field has a value once it is loaded.
type Zerohop struct {
	DestinationMode string // plan.DestinationHeader, DestinationFilterState or DestinationList
	FailureMode     string // plan.FailClose or plan.FailOpen
	Parity          string // plan.ParityNone or plan.ParityEPP
	Bounds          Bounds
	DrainTimeout    time.Duration // how long an endpoint that has gone stays known as draining
	Scrape          Scrape
	Discovery       Discovery
	Agent           Agent
	Envoy           EnvoyNames
	Objectives      []plan.Objective // priorities that requests name in a header
	ExplainTo       []string         // CIDR prefixes of the clients that may have picks explained; nobody may if there are none
	LogChain        bool             // whether the access log has a sample of the prompt's hashes
	Sharing         Sharing          // between the workers of one Envoy
	Attempts        Attempts         // how requests are tried
	ModelsInterval  time.Duration    // between two reads of the models that an endpoint serves; see Config.Models
}

// Bounds cap the filter's state per worker.
type Bounds struct {
	Endpoints   int // endpoints that are considered
	IndexBlocks int // (endpoint, block) records in the prefix index
	Sessions    int // sessions that a plugin instance remembers
}

// Sharing says what the workers of one Envoy tell each other.
type Sharing struct {
	Mode     string        // plan.SharingProcess or plan.SharingWorker
	Interval time.Duration // least time between two looks at what the others wrote
	LogBytes int           // most bytes of a worker's pick log
}

// Attempts says how requests are tried.
type Attempts struct {
	Retries          string        // plan.RetryUnsent or plan.RetryUnanswered
	FirstByteTimeout time.Duration // of one attempt of a streaming request; 0 for what Envoy's route says
}

// Scrape says how the agent reads the endpoints' metrics.
type Scrape struct {
	Interval        time.Duration // between two scrapes of an endpoint
	Timeout         time.Duration // of one scrape
	Staleness       time.Duration // age at which metrics are not believed any more; see StaleAfter
	MaxPageBytes    int64
	Path            string
	Scheme          string // "http" or "https"
	Engine          string // one of scrape.Engines, for endpoints without a label that names theirs
	TLS             ClientTLS
	BearerTokenFile string // empty for none
}

// ClientTLS configures the agent as a TLS client.
type ClientTLS struct {
	CAFile             string // empty for the system's
	CertFile, KeyFile  string // both or neither
	ServerName         string // empty for the address
	InsecureSkipVerify bool
}

// Discovery says where endpoints come from. The sources add up.
type Discovery struct {
	Endpoints []discovery.Endpoint // static
	File      string               // endpoint file; empty for none
	Watch     bool                 // whether File is read again when it changes
	DNS       []DNS
}

// DNS is one name whose answers are endpoints.
type DNS struct {
	Name           string
	Type           string        // discovery.DNSAddress or discovery.DNSService
	Ports          []uint16      // of addresses: each with each port is an endpoint
	Namespace      string        // of the endpoints
	Resolver       string        // ip:port; empty for the system's
	MinTTL, MaxTTL time.Duration // bounds of the time between two queries
}

// The values of Scrape.Scheme.
const (
	SchemeHTTP  = "http"
	SchemeHTTPS = "https"
)

// Agent says where the agent listens and whom it serves.
type Agent struct {
	Disabled          bool           // edge mode: the filter knows what stands in the plan and what it sees itself
	Listen            netip.AddrPort // HTTP: snapshots, metrics and status
	XDSListen         netip.AddrPort // gRPC: ADS
	TLS               ServerTLS
	BearerTokenFile   string  // empty for none
	MaxConnections    int     // of all listeners together; 0 for no cap
	RequestsPerSecond float64 // of one client address; 0 for no limit
	// MaxSnapshotAge is how long the filter uses endpoints that the agent has not confirmed; 0 for any time.
	MaxSnapshotAge time.Duration
}

// ServerTLS configures the agent as a TLS server. Without CertFile it serves plain text.
type ServerTLS struct {
	CertFile, KeyFile string // both or neither
	ClientCAFile      string // empty: clients need no certificate
}

// EnvoyNames are names in Envoy's configuration that the plan refers to.
type EnvoyNames struct {
	AgentCluster string // cluster of the agent's HTTP listener
}

// Models says whether and how the agent asks endpoints for the models that they serve.
type Models struct {
	Wanted   bool // a plugin reads them, or a models-data-source is declared
	Path     string
	Interval time.Duration
}

// FileDiscovery is the plugin file-discovery that dataLayer.discovery refers to.
type FileDiscovery struct {
	Name  string // of the plugin
	Path  string
	Watch bool
}

// Default is one value that a document left open.
type Default struct {
	Path  string `json:"path"`
	Value string `json:"value"`
	Why   string `json:"why"`
}

// DefaultZerohop returns the settings that stand in for an absent ZerohopConfig.
func DefaultZerohop() Zerohop {
	return Zerohop{
		DestinationMode: plan.DestinationHeader,
		FailureMode:     plan.FailClose,
		Parity:          plan.ParityNone,
		Bounds:          Bounds{Endpoints: MaxEndpoints, IndexBlocks: 1 << 20, Sessions: plan.DefaultSessions},
		DrainTimeout:    30 * time.Second,
		Scrape: Scrape{
			Interval: scrape.DefaultInterval, Timeout: scrape.DefaultTimeout, Staleness: 2 * time.Second, MaxPageBytes: scrape.DefaultMaxPage,
			Path: scrape.DefaultPath, Scheme: scrape.DefaultScheme, Engine: scrape.DefaultEngine,
		},
		Discovery: Discovery{Watch: true},
		Agent: Agent{
			Listen:         netip.MustParseAddrPort("127.0.0.1:18001"),
			XDSListen:      netip.MustParseAddrPort("127.0.0.1:18000"),
			MaxConnections: 1024, RequestsPerSecond: 10000,
		},
		Envoy:    EnvoyNames{AgentCluster: "zerohop_agent"},
		LogChain: true,
		Sharing: Sharing{
			Mode:     plan.DefaultSharing.Mode,
			Interval: time.Duration(plan.DefaultSharing.IntervalUs) * time.Microsecond,
			LogBytes: plan.DefaultSharing.LogBytes,
		},
		Attempts:       Attempts{Retries: plan.RetryUnsent},
		ModelsInterval: scrape.DefaultModelsInterval,
	}
}

// StaleAfter returns the age at which metrics are not believed any more. Three scrapes may be missed, however long the
// interval is.
func (s *Scrape) StaleAfter() time.Duration { return max(s.Staleness, staleIntervals*s.Interval) }
