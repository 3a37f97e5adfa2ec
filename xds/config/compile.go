package config

import (
	"time"

	"github.com/zerohop/zerohop/shared/plan"
	"github.com/zerohop/zerohop/xds/discovery"
)

// Bounds of the filter's state per worker.
const (
	MaxEndpoints   = 1024 // more are not considered
	maxIndexBlocks = 1 << 20
)

const (
	// PollHold is how long the agent keeps a long poll open when there is nothing new.
	PollHold = 25 * time.Second
	// pollTimeout is how long the filter waits for the answer: PollHold and some time to travel.
	pollTimeout = PollHold + 5*time.Second
	// staleAfter is the age at which metrics are not believed any more, unless the scrape interval is so long that three
	// of them take longer.
	staleAfter = 2 * time.Second
	// staleIntervals is the number of scrapes that may be missed.
	staleIntervals = 3
)

// Settings are what a plan needs beyond the EndpointPickerConfig.
type Settings struct {
	Destination    string        // plan.DestinationHeader or plan.DestinationFilterState
	FailureMode    string        // plan.FailClose or plan.FailOpen
	AgentCluster   string        // Envoy cluster of the agent; empty for none
	ScrapeInterval time.Duration // of the agent
	Endpoints      []discovery.Endpoint
}

// Plan compiles c. The plan shares c's slices.
func (c *Config) Plan(s Settings) *plan.Plan {
	p := &plan.Plan{
		Version:        plan.Version,
		Destination:    s.Destination,
		FailureMode:    s.FailureMode,
		Bounds:         plan.Bounds{Endpoints: MaxEndpoints, IndexBlocks: maxIndexBlocks},
		Prefix:         c.Prefix,
		Plugins:        c.Plugins,
		Profiles:       c.Profiles,
		ProfileHandler: c.Handler,
		Agent: plan.Agent{
			Cluster:       s.AgentCluster,
			PollTimeoutMs: int(pollTimeout.Milliseconds()),
			StaleMs:       int(max(staleAfter, staleIntervals*s.ScrapeInterval).Milliseconds()),
		},
	}
	for i := range s.Endpoints {
		e := &s.Endpoints[i]
		p.Endpoints = append(p.Endpoints, plan.Endpoint{Name: e.ID(), Address: e.Address.String()})
	}
	return p
}
