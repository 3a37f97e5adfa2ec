// Package edge tests Envoy with the filter and no agent at all, as "zerohop render envoy" writes it for the preset
// config/low-latency-edge.yaml: plan and endpoints stand in the bootstrap, and the load is what the filter itself sees.
package edge
