// Package scorers defines the contracts of the scheduling core: endpoints as structure of arrays, one scheduling cycle, the
// plugin interfaces with their hooks, and how a plugin type declares itself and asks for what it reads. It assumes a single
// thread. It never reads a clock, draws its own randomness, logs, or knows that Envoy exists: time and seeds are passed in,
// so that the same code runs in the Wasm module, in go test and in simulation.
package scorers

// Filter narrows the candidates. It compacts cand (slots) in place, keeps the order, and returns the shortened slice. After
// the first write the input is gone: a filter that may return everything marks Cycle.Pass, counts, and then calls
// Cycle.Keep.
type Filter interface {
	Filter(c *Cycle, cand []int32) []int32
}

// Rule is a Filter that can bind every attempt at a request: it says where the request may run at all, not where it runs best,
// so that what it drops is no fallback either. Binding is asked once.
type Rule interface {
	Filter
	Binding() bool
}

// Scorer rates candidates. It writes one score for each candidate into out (same length and order as cand), in [0,1],
// higher is better. The pipeline clamps and counts anything else.
type Scorer interface {
	Score(c *Cycle, cand []int32, out []float64)
}

// Picker orders the best candidates. It returns at most limit slots, best first, in a prefix of cand, which it may reorder
// together with score. Ties are broken uniformly at random with c.Rand.
type Picker interface {
	Pick(c *Cycle, cand []int32, score []float64, limit int) []int32
}

// ProfileHandler chooses which profile runs; it returns the index of a profile in Setup.Profiles, or -1 for none.
type ProfileHandler interface {
	Profile(c *Cycle) int
}

// Admitter refuses requests. It sees all candidates before the profile runs; false refuses.
type Admitter interface {
	Admit(c *Cycle, cand []int32) bool
}

// Detector says how saturated the candidates are: 0 is idle, 1 and above is saturated.
type Detector interface {
	Saturation(c *Cycle, cand []int32) float64
}

// LoadEstimator says how many tokens a request is to be booked with at slot, and whether they stay booked until the request
// ends; otherwise they are released with the first byte of the answer. A plan has at most one.
type LoadEstimator interface {
	Estimate(c *Cycle, slot int32) (tokens int32, untilEnd bool)
}
