package config

import (
	"fmt"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/zerohop/zerohop/shared/plan"
	"github.com/zerohop/zerohop/xds/discovery"
)

// MaxEndpoints is the default of Bounds.Endpoints.
const MaxEndpoints = discovery.DefaultMaxEndpoints

const (
	// PollHold is how long the agent keeps a long poll open when there is nothing new.
	PollHold = 25 * time.Second
	// pollTimeout is how long the filter waits for the answer: PollHold and some time to travel.
	pollTimeout = PollHold + 5*time.Second
	// staleIntervals is the number of scrapes that may be missed.
	staleIntervals = 3
)

// Settings are what a plan needs beyond the documents.
type Settings struct {
	AgentCluster string               // Envoy cluster of the agent; empty for none
	Endpoints    []discovery.Endpoint // known at start; may be empty
}

// Plan compiles c. The plan shares c's slices.
func (c *Config) Plan(s Settings) *plan.Plan {
	z := &c.Zerohop
	p := &plan.Plan{
		Version:        plan.Version,
		Destination:    z.DestinationMode,
		FailureMode:    z.FailureMode,
		Parity:         z.Parity,
		Bounds:         plan.Bounds{Endpoints: z.Bounds.Endpoints, IndexBlocks: z.Bounds.IndexBlocks, Sessions: z.Bounds.Sessions},
		Prefix:         c.Prefix,
		Plugins:        c.Plugins,
		Profiles:       c.Profiles,
		ProfileHandler: c.Handler,
		Inactive:       c.idle,
		Objectives:     z.Objectives,
		Explain:        plan.Explain{Networks: z.ExplainTo},
		Log:            plan.Log{Chain: z.LogChain},
		Sharing:        plan.Sharing{Mode: z.Sharing.Mode, IntervalUs: int(z.Sharing.Interval.Microseconds()), LogBytes: z.Sharing.LogBytes},
		Attempts:       plan.Attempts{Retries: z.Attempts.Retries, FirstByteMs: int(z.Attempts.FirstByteTimeout.Milliseconds())},
		Agent: plan.Agent{
			Cluster:       s.AgentCluster,
			PollTimeoutMs: int(pollTimeout.Milliseconds()),
			StaleMs:       int(z.Scrape.StaleAfter().Milliseconds()),
			ScrapeMs:      int(z.Scrape.Interval.Milliseconds()),
			MaxAgeMs:      int(z.Agent.MaxSnapshotAge.Milliseconds()),
		},
	}
	for i := range s.Endpoints {
		e := &s.Endpoints[i]
		p.Endpoints = append(p.Endpoints, plan.Endpoint{Name: e.ID(), Address: e.Address.String(), Labels: c.labels(e)})
	}
	p.Revision = revision(p)
	return p
}

// labels returns the labels of e that plugins read.
func (c *Config) labels(e *discovery.Endpoint) []plan.Label {
	var out []plan.Label
	for _, key := range c.Wants.Labels {
		if value, ok := e.Labels[key]; ok {
			out = append(out, plan.Label{Key: key, Value: value})
		}
	}
	return out
}

// revision returns the hash of what the documents say in p. Endpoints come and go without another plan.
func revision(p *plan.Plan) string {
	unnamed := *p
	unnamed.Revision, unnamed.Endpoints = "", nil
	return fmt.Sprintf("%016x", xxhash.Sum64(plan.Append(nil, &unnamed)))
}
