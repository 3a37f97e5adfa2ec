// Package lifecycletest is the table of request life cycles that the filter has to pass, natively and as compiled module: what
// it answers to each callback, where the request ends up, how the pick is explained, and that nothing is left behind. It
// assumes an emulated Envoy (package hosttest); what needs a real one is tested there.
package lifecycletest
