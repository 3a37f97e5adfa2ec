// Package facts tests on a real Envoy that what the agent knows of endpoints beside their load decides where requests go:
// labels, served models and LoRA adapters, also while they and the configuration change.
package facts
