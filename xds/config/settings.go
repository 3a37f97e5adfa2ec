package config

import (
	"net/netip"
	"time"

	"github.com/zerohop/zerohop/shared/plan"
	"github.com/zerohop/zerohop/xds/scrape"
)

// setting is one field of a ZerohopConfig that is not a list.
type setting struct {
	path string
	form form
	why  string // why the default is what it is
}

// Bounds of the settings, beyond which lies a slip of the pen.
const (
	minInterval    = 10 * time.Millisecond // a vLLM server needs 7 to 8 ms for a page
	day            = 24 * time.Hour
	maxEndpoints   = 1 << 16
	minIndexBlocks = 1 << 10
	maxIndexBlocks = 1 << 24
	maxSessions    = 1 << 20
	minLogBytes    = 1 << 16
	maxLogBytes    = 1 << 26
	minPage        = 1 << 10
	maxPage        = 64 << 20
	maxConnections = 1 << 20
	maxRate        = 1e6
)

// settings lists the fields in the order in which the effective configuration shows them.
var settings = []setting{
	{"destinationMode", choice(func(z *Zerohop) *string { return &z.DestinationMode },
		plan.DestinationHeader, plan.DestinationFilterState, plan.DestinationList), "what the endpoint picker protocol expects"},
	{"failureMode", choice(func(z *Zerohop) *string { return &z.FailureMode }, plan.FailClose, plan.FailOpen), "the EPP's default"},
	{
		"parity", choice(func(z *Zerohop) *string { return &z.Parity }, plan.ParityNone, plan.ParityEPP),
		"own picks count between scrapes, without which bursts go to one endpoint",
	},
	{"bounds.endpoints", whole(func(z *Zerohop) *int { return &z.Bounds.Endpoints }, 1, maxEndpoints), "more are not considered"},
	{
		"bounds.indexBlocks", whole(func(z *Zerohop) *int { return &z.Bounds.IndexBlocks }, minIndexBlocks, maxIndexBlocks),
		"192 MiB a worker at most, with 1024 endpoints",
	},
	{"bounds.sessions", whole(func(z *Zerohop) *int { return &z.Bounds.Sessions }, 1, maxSessions), "3 MiB a worker for each plugin that binds sessions"},
	{"drainTimeout", timeSpan(func(z *Zerohop) *time.Duration { return &z.DrainTimeout }, 0, day), "the EPP's drain timeout"},

	{
		"scrape.interval", timeSpan(func(z *Zerohop) *time.Duration { return &z.Scrape.Interval }, minInterval, time.Hour),
		"a vLLM page costs its server 7 to 8 ms, thus 3 % of a core",
	},
	{
		"scrape.timeout", timeSpan(func(z *Zerohop) *time.Duration { return &z.Scrape.Timeout }, time.Millisecond, time.Minute),
		"four intervals; a slower endpoint delays no other",
	},
	{
		"scrape.staleness", timeSpan(func(z *Zerohop) *time.Duration { return &z.Scrape.Staleness }, minInterval, day),
		"the EPP's default; three intervals if that is longer",
	},
	{"scrape.maxPageBytes", whole(func(z *Zerohop) *int64 { return &z.Scrape.MaxPageBytes }, minPage, maxPage), "80 times a page of vLLM"},
	{"scrape.path", words(func(z *Zerohop) *string { return &z.Scrape.Path }, urlPath), "the EPP's default"},
	{"scrape.scheme", choice(func(z *Zerohop) *string { return &z.Scrape.Scheme }, SchemeHTTP, SchemeHTTPS), "the EPP's default"},
	{"scrape.engine", choice(func(z *Zerohop) *string { return &z.Scrape.Engine }, scrape.Engines()...), "of endpoints whose labels name no other"},
	{"scrape.bearerTokenFile", words(func(z *Zerohop) *string { return &z.Scrape.BearerTokenFile }, file), "no token is sent"},
	{"scrape.tls.caFile", words(func(z *Zerohop) *string { return &z.Scrape.TLS.CAFile }, file), "the system's authorities"},
	{"scrape.tls.certFile", words(func(z *Zerohop) *string { return &z.Scrape.TLS.CertFile }, file), "no client certificate"},
	{"scrape.tls.keyFile", words(func(z *Zerohop) *string { return &z.Scrape.TLS.KeyFile }, file), "no client certificate"},
	{"scrape.tls.serverName", words(func(z *Zerohop) *string { return &z.Scrape.TLS.ServerName }, certified), "the endpoint's address"},
	{"scrape.tls.insecureSkipVerify", truth(func(z *Zerohop) *bool { return &z.Scrape.TLS.InsecureSkipVerify }, false), "certificates are checked"},

	{
		"servedModels.interval", timeSpan(func(z *Zerohop) *time.Duration { return &z.ModelsInterval }, 100*time.Millisecond, day),
		"asked only where a plugin reads the models",
	},

	{"discovery.file", words(func(z *Zerohop) *string { return &z.Discovery.File }, file), "none"},
	{"discovery.watch", truth(func(z *Zerohop) *bool { return &z.Discovery.Watch }, false), "an edited file takes effect without a restart"},

	{"agent.enabled", truth(func(z *Zerohop) *bool { return &z.Agent.Disabled }, true), "load is scraped; false is for the edge"},
	{"agent.listen", listener(func(z *Zerohop) *netip.AddrPort { return &z.Agent.Listen }), "nobody on another machine reaches it"},
	{"agent.xdsListen", listener(func(z *Zerohop) *netip.AddrPort { return &z.Agent.XDSListen }), "nobody on another machine reaches it"},
	{"agent.tls.certFile", words(func(z *Zerohop) *string { return &z.Agent.TLS.CertFile }, file), "plain text, on loopback"},
	{"agent.tls.keyFile", words(func(z *Zerohop) *string { return &z.Agent.TLS.KeyFile }, file), "plain text, on loopback"},
	{"agent.tls.clientCAFile", words(func(z *Zerohop) *string { return &z.Agent.TLS.ClientCAFile }, file), "clients need no certificate"},
	{"agent.bearerTokenFile", words(func(z *Zerohop) *string { return &z.Agent.BearerTokenFile }, file), "clients need no token"},
	{"agent.maxConnections", whole(func(z *Zerohop) *int { return &z.Agent.MaxConnections }, 0, maxConnections), "hundreds of Envoys with a few each"},
	{
		"agent.requestsPerSecond", rate(func(z *Zerohop) *float64 { return &z.Agent.RequestsPerSecond }, 0, maxRate),
		"of one client address; an Envoy asks at every new snapshot",
	},
	{
		"agent.maxSnapshotAge", timeSpan(func(z *Zerohop) *time.Duration { return &z.Agent.MaxSnapshotAge }, 0, day),
		"endpoints stay in use for as long as the agent is away",
	},

	{"objectives", objectives(), "every request has priority 0"},
	{"explain.trustedNetworks", networks(func(z *Zerohop) *[]string { return &z.ExplainTo }), "nobody may have picks explained"},
	{"accessLog.chain", truth(func(z *Zerohop) *bool { return &z.LogChain }, false), "a day can be replayed from the log"},

	{
		"sharing.mode", choice(func(z *Zerohop) *string { return &z.Sharing.Mode }, plan.SharingProcess, plan.SharingWorker),
		"a pick on one worker is known to all within milliseconds",
	},
	{
		"sharing.interval", timeSpan(func(z *Zerohop) *time.Duration { return &z.Sharing.Interval }, 0, time.Second),
		"a look takes 1 µs for each other worker",
	},
	{
		"sharing.logBytes", whole(func(z *Zerohop) *int { return &z.Sharing.LogBytes }, minLogBytes, maxLogBytes),
		"the last 2048 picks of a worker, if their prompts are of 6 KB",
	},

	{
		"attempts.retries", choice(func(z *Zerohop) *string { return &z.Attempts.Retries }, plan.RetryUnsent, plan.RetryUnanswered),
		"no POST reaches two servers",
	},
	{
		"attempts.firstByteTimeout", timeSpan(func(z *Zerohop) *time.Duration { return &z.Attempts.FirstByteTimeout }, 0, time.Hour),
		"the route's per_try_timeout alone",
	},

	{"envoy.agentCluster", words(func(z *Zerohop) *string { return &z.Envoy.AgentCluster }, name), "the name in the rendered bootstrap"},
}
