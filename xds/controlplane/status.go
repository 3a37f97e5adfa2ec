package controlplane

import "time"

// NodeStatus is what the control plane knows of one Envoy.
type NodeStatus struct {
	ID        string     `json:"id"`
	Group     string     `json:"group"` // node.cluster of the bootstrap
	Envoy     string     `json:"envoy"` // version, as in 1.40.0
	Module    string     `json:"module"`
	Peer      string     `json:"peer"` // ip:port that it connects from
	Connected bool       `json:"connected"`
	Since     time.Time  `json:"since"` // of the connection, or of its end
	Plan      TypeStatus `json:"plan"`
	Endpoints TypeStatus `json:"endpoints"`
	Clusters  TypeStatus `json:"clusters"`
	Lacks     string     `json:"lacks,omitempty"` // what its bootstrap lacks, so that it is sent no plan
}

// Rejects reports whether the Envoy refused what it was sent last, or cannot be sent it.
func (n *NodeStatus) Rejects() bool {
	return n.Lacks != "" || n.Plan.Rejected() || n.Endpoints.Rejected() || n.Clusters.Rejected()
}

// TypeStatus is the state of one type of resource. The version of a plan is its revision.
type TypeStatus struct {
	Sent  string `json:"sent"`           // newest version sent; empty if none was
	Acked string `json:"acked"`          // newest version accepted
	Nack  *Nack  `json:"nack,omitempty"` // newest refusal, also after a later version was accepted
}

// Rejected reports whether the newest version was refused.
func (t *TypeStatus) Rejected() bool {
	return t.Nack != nil && t.Nack.Version == t.Sent && t.Acked != t.Sent
}

// Nack is one refusal.
type Nack struct {
	At      time.Time `json:"at"`
	Version string    `json:"version"` // what was refused
	Reason  string    `json:"reason"`  // Envoy's words
}
