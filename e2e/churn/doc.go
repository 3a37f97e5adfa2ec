// Package churn tests that nothing an operator does to a running zerohop costs a request or the prefix caches: its test
// edits configuration and endpoints, kills and swaps agents under a steady load on a real Envoy, and compares the hit rate
// of the endpoints' caches with that of a run in peace.
package churn
