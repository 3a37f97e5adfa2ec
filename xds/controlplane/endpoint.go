package controlplane

// Health says whether an endpoint may be given requests that were not addressed to it.
type Health uint8

// The states of an endpoint. Envoy's fallback uses healthy ones only; a request that the filter addresses to an endpoint
// reaches it in each.
const (
	Healthy Health = iota
	Draining
	Unhealthy
)

// Endpoint is one member of the cluster for destination mode list.
type Endpoint struct {
	Name    string // namespace/name
	Address string // ip:port, IPv6 in brackets
	Health  Health
}
