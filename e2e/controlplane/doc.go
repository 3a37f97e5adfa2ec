// Package controlplane tests what a real Envoy does with what the control plane sends: plans that arrive while requests are
// served, plans and modules that do not fit each other, endpoints for destination mode list, and an agent that is away. The
// tests run their own control plane, so that they can send what an agent would not.
package controlplane
