package telemetry

import (
	"strings"
	"time"

	"github.com/zerohop/zerohop/xds/publish"
	"github.com/zerohop/zerohop/xds/scrape"
)

// The endpoints, as discovered and scraped.
var (
	endpointWaiting  = gauge("endpoint_waiting_requests", "Requests that wait in the engine, as scraped.", "endpoint_name", "address")
	endpointRunning  = gauge("endpoint_running_requests", "Requests that run in the engine, as scraped.", "endpoint_name", "address")
	endpointKV       = gauge("endpoint_kv_cache_usage_ratio", "Share of the engine's KV blocks in use, as scraped.", "endpoint_name", "address")
	endpointAge      = gauge("endpoint_scrape_age_seconds", "Age of the scraped numbers.", "endpoint_name", "address")
	endpointUp       = gauge("endpoint_up", "1 if the newest scrape succeeded.", "endpoint_name", "address")
	endpointDraining = gauge("endpoint_draining", "1 if the endpoint gets no new requests because it has left discovery.", "endpoint_name", "address")
	endpointScrapes  = counter("endpoint_scrapes_total", "Successful scrapes.", "endpoint_name", "address")
	endpointFailures = counter("endpoint_scrape_failures_total", "Failed scrapes by reason.", "endpoint_name", "address", "reason")
	endpointDuration = gauge("endpoint_scrape_duration_seconds", "Duration of the newest scrape.", "endpoint_name", "address")
	endpointBytes    = gauge("endpoint_scrape_bytes", "Size of the newest scrape's page, as far as it was read.", "endpoint_name", "address")
)

// The endpoints, as the filters report.
var (
	reportedInFlight  = gauge("endpoint_in_flight_requests", "Requests in flight at the endpoint, as reported by the filters.", "endpoint_name", "address")
	reportedTokens    = gauge("endpoint_in_flight_tokens", "Tokens in flight at the endpoint, as reported by the filters.", "endpoint_name", "address")
	reportedCooling   = gauge("endpoint_cooling_down_workers", "Envoy workers that avoid the endpoint for a while because it failed.", "endpoint_name", "address")
	reportedPicks     = counter("endpoint_picks_total", "Picks of the endpoint, as reported by the filters.", "endpoint_name", "address")
	reportedFallbacks = counter("endpoint_fallbacks_total", "Picks of the endpoint for another reason than a score, as reported by the filters.", "endpoint_name", "address")
	reportedFailures  = counter("endpoint_failures_total", "Failed attempts at the endpoint, as reported by the filters.", "endpoint_name", "address")
)

// The snapshot and those who poll it.
var (
	snapshotVersions  = counter("snapshot_versions_total", "Published versions of the snapshot.")
	snapshotFailures  = counter("snapshot_failures_total", "Versions that could not be encoded and were not published.")
	snapshotDeltas    = counter("snapshot_deltas_total", "Encoded deltas, each once for all polls.")
	snapshotBytes     = gauge("snapshot_bytes", "Size of the newest version.")
	snapshotEndpoints = gauge("snapshot_endpoints", "Endpoints of the newest version.")
	snapshotTime      = gauge("snapshot_timestamp_seconds", "Unix time at which the newest version was published.")
	ready             = gauge("ready", "1 once the first complete snapshot is published.")
	pollsOpen         = gauge("open_polls", "Long polls that wait for a version.")
	polls             = counter("polls_total", "Answered long polls by answer.", "answer")
	pollErrors        = counter("poll_errors_total", "Failed long polls by reason.", "reason")
	pollBytes         = counter("poll_response_bytes_total", "Bytes of snapshots and deltas sent.", "answer")
	reports           = counter("reports_total", "Accepted reports of filters.")
	reportsRefused    = counter("reports_refused_total", "Refused reports of filters by reason.", "reason")
)

// All Envoys together.
var (
	envoys    = gauge("reporting_envoys", "Envoy processes whose filters report.")
	workers   = gauge("reporting_workers", "Envoy workers, the main thread included, whose filters report.")
	picks     = counter("picks_total", "Picks of all filters.")
	retries   = counter("retries_total", "Attempts after the first of all filters.")
	failures  = counter("failures_total", "Failed attempts of all filters.")
	fallbacks = counter("fallbacks_total", "Requests of all filters that were not scored, by reason.", "reason")

	xdsNodes     = gauge("xds_nodes", "Envoys that are connected to the control plane, by group.", "group")
	xdsRejecting = gauge("xds_rejecting_nodes", "Connected Envoys that refused what they were sent last, or whose bootstrap lacks what they would need for it, by group.", "group")
	xdsNacks     = counter("xds_nacks_total", "Refused resources, by group.", "group")
)

// The agent itself.
var (
	configLoads   = counter("config_loads_total", "Loads of the configuration by result.", "result")
	discoveryOK   = gauge("discovery_healthy", "1 if every source of endpoints is healthy; while one is not, its last list stays in force.")
	configSuccess = gauge("config_last_success_timestamp_seconds", "Unix time at which a configuration was last taken over.")

	connections        = gauge("connections", "Open connections to the agent.")
	connectionsRefused = counter("connections_refused_total", "Connections refused because of maxConnections.")
	requestsDenied     = counter("requests_denied_total", "Requests and calls denied by reason.", "reason")
	credentialFailures = counter("credential_reload_failures_total", "Changes of the agent's own certificate and token files that could not be taken over.")
)

// snapshot tells of the newest version and its endpoints.
func (c *collector) snapshot(p page, now time.Time) {
	s := c.Store.Stats()
	p.set(snapshotVersions, float64(s.Versions))
	p.set(snapshotFailures, float64(s.Failures))
	p.set(snapshotDeltas, float64(s.Deltas))
	v, err := c.Store.Newest()
	if err != nil {
		return // nothing is published yet
	}
	p.set(snapshotBytes, float64(len(v.Blob)))
	p.set(snapshotEndpoints, float64(len(v.Endpoints)))
	p.set(snapshotTime, seconds(v.At))
	var loads map[uint64]publish.Load
	if c.Fleet != nil {
		loads = c.Fleet.Loads()
	}
	for i := range v.Endpoints {
		e := &v.Endpoints[i]
		name := strings.ToValidUTF8(e.Name, "\uFFFD")
		scraped(p, e, now, name)
		if l, ok := loads[v.ID(i)]; ok {
			reported(p, &l, name, e.Address)
		}
	}
}

// scraped tells what is known of an endpoint by discovery and scraping.
func scraped(p page, e *publish.Endpoint, now time.Time, name string) {
	s := &e.Sample
	if !s.At.IsZero() {
		p.set(endpointWaiting, float64(s.Waiting), name, e.Address)
		p.set(endpointRunning, float64(s.Running), name, e.Address)
		p.set(endpointKV, float64(s.KVUsage), name, e.Address)
		p.set(endpointAge, max(now.Sub(s.At), 0).Seconds(), name, e.Address)
	}
	p.set(endpointUp, truth(!s.At.IsZero() && s.Failure == ""), name, e.Address)
	p.set(endpointDraining, truth(e.Draining), name, e.Address)
	p.set(endpointScrapes, float64(s.Seq), name, e.Address)
	for _, f := range scrape.Failures() {
		p.set(endpointFailures, float64(s.FailuresBy.Of(f)), name, e.Address, string(f))
	}
	p.set(endpointDuration, s.Duration.Seconds(), name, e.Address)
	p.set(endpointBytes, float64(s.Bytes), name, e.Address)
}

// reported tells what the filters say of an endpoint.
func reported(p page, l *publish.Load, name, address string) {
	p.set(reportedInFlight, float64(l.InFlight), name, address)
	p.set(reportedTokens, float64(l.InFlightTokens), name, address)
	p.set(reportedCooling, float64(l.CoolingDown), name, address)
	p.set(reportedPicks, float64(l.Picks), name, address)
	p.set(reportedFallbacks, float64(l.Fallbacks), name, address)
	p.set(reportedFailures, float64(l.Failures), name, address)
}

// polls tells of those who poll.
func (c *collector) polls(p page) {
	h := c.Handler.Stats()
	p.set(ready, truth(c.Handler.Ready()))
	p.set(pollsOpen, float64(h.Open))
	p.set(polls, float64(h.Whole), "whole")
	p.set(polls, float64(h.Delta), "delta")
	p.set(polls, float64(h.Unchanged), "unchanged")
	p.set(pollBytes, float64(h.WholeBytes), "whole")
	p.set(pollBytes, float64(h.DeltaBytes), "delta")
	p.set(reports, float64(h.Reports))
	for reason, n := range h.Errors {
		p.set(pollErrors, float64(n), reason)
	}
	for reason, n := range h.Refused {
		p.set(reportsRefused, float64(n), reason)
	}
}

// fleet tells of all filters together.
func (c *collector) fleet(p page) {
	live, n := c.Fleet.Envoys(), 0
	for i := range live {
		n += len(live[i].Workers)
	}
	p.set(envoys, float64(len(live)))
	p.set(workers, float64(n))
	t := c.Fleet.Totals()
	p.set(picks, float64(t.Picks))
	p.set(retries, float64(t.Retries))
	p.set(failures, float64(t.Failures))
	for reason, n := range t.Fallbacks {
		p.set(fallbacks, float64(n), reason)
	}
}

// access tells of those who knock.
func (c *collector) access(p page) {
	s := c.Policy.Stats()
	p.set(connections, float64(s.Open))
	p.set(connectionsRefused, float64(s.Refused))
	p.set(requestsDenied, float64(s.Denied), "credentials")
	p.set(requestsDenied, float64(s.Limited), "rate")
	p.set(credentialFailures, float64(s.BadFiles))
}
