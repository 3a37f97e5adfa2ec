// Package policies runs the presets in config/, and own equivalents of llm-d's published sample configurations, on a real Envoy
// with the agent and simulated model servers, and checks that requests go where the policy wants them. The low-latency preset has
// its tests in package edge. There are only tests here.
package policies
