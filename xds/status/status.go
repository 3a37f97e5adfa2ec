// Package status is the JSON that the agent serves on /status and that "zerohop status" prints. It only names the fields.
package status

import (
	"time"

	"github.com/zerohop/zerohop/xds/controlplane"
)

// Path is where the agent serves a Status.
const Path = "/status"

// Status is the state of an agent and of the Envoys that it serves.
type Status struct {
	Revision  string `json:"revision"` // of the newest plan
	Config    Config `json:"config"`
	Discovery Source `json:"discovery"`
	Endpoints int    `json:"endpoints"` // that discovery knows, draining ones included
	Snapshot  uint64 `json:"snapshot"`  // newest version
	Nodes     []Node `json:"nodes"`
}

// Config is the state of the configuration file.
type Config struct {
	File  string    `json:"file"`
	OK    bool      `json:"ok"`
	Error string    `json:"error,omitempty"` // why the newest content is not in force
	Since time.Time `json:"since"`           // when this state began
}

// Source is the state of all sources of endpoints together.
type Source struct {
	OK       bool      `json:"ok"`
	Error    string    `json:"error,omitempty"` // which sources are unhealthy, and why; their last lists stay in force
	Since    time.Time `json:"since"`           // when this state began
	Warnings []string  `json:"warnings,omitempty"`
}

// Node is one Envoy: what the control plane knows, and what its filter reported.
type Node struct {
	controlplane.NodeStatus
	Reported bool     `json:"reported"` // whether its filter reports at all
	Workers  []Worker `json:"workers"`
}

// Worker is the newest report of one worker.
type Worker struct {
	Revision string `json:"revision"` // of the plan in force; empty if that has none
	Snapshot uint64 `json:"snapshot"` // version in force
	AgeMs    int64  `json:"ageMs"`    // of the report
	PlanMin  int    `json:"planMin"`  // range of plan versions that its module reads
	PlanMax  int    `json:"planMax"`
}
