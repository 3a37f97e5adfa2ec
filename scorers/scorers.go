// Package scorers defines the contracts of the scheduling core: endpoints as structure of arrays, one scheduling cycle,
// and the plugin interfaces Filter, Scorer, Picker and ProfileHandler. It assumes a single thread. It never reads a clock,
// draws its own randomness, logs, or knows that Envoy exists: time and seeds are passed in, so that the same code runs in
// the Wasm module, in go test and in simulation.
package scorers

import "github.com/zerohop/zerohop/shared/plan"

// Endpoints is the scheduling view of all endpoints as structure of arrays, indexed by slot. A slot keeps its endpoint for
// as long as that endpoint exists; free slots are never candidates. Plugins read it and never write it.
type Endpoints struct {
	ID      []uint64  // identity (snapshot.EndpointID); 0 marks a free slot
	Waiting []float64 // requests waiting in the engine: scraped or estimated value plus our picks since (see fleet)
	Running []float64 // requests running in the engine as scraped
	KVUsage []float64 // share of KV blocks in use, 0..1, as scraped
	Fresh   []bool    // the scraped numbers exist and are not stale

	InFlight       []int32 // requests of this worker that were sent and are not finished
	InFlightTokens []int64 // estimated uncached prompt tokens of requests whose first response byte is still to come
}

// Request is what the core knows about the request being scheduled.
type Request struct {
	PromptTokens int // estimated prompt length in tokens
	MaxTokens    int // client's output cap in tokens; 0 if not given

	BlockTokens int     // tokens per prefix block
	TotalBlocks int     // blocks of the prompt that carry information (universal leading blocks excluded)
	Match       []int32 // by slot: leading informative blocks that the endpoint is believed to hold
}

// Cycle is one scheduling decision in progress. The scheduler owns every slice; plugins may use them during the call only.
type Cycle struct {
	Now       uint64 // monotonic nanoseconds
	Endpoints *Endpoints
	Request   Request
	Rand      *Rand

	Neutral uint32 // incremented by a scorer for each candidate it scored without fresh metrics
}

// Filter narrows the candidates. It compacts cand (slots) in place, keeps the order, and returns the shortened slice.
type Filter interface {
	Filter(c *Cycle, cand []int32) []int32
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

// ProfileHandler chooses which profile runs; it returns the index of a profile, or -1 for none.
type ProfileHandler interface {
	Profile(c *Cycle, profiles int) int
}

// Kind is a set of the roles that a plugin type can play.
type Kind uint8

// The roles of plugins.
const (
	KindFilter Kind = 1 << iota
	KindScorer
	KindPicker
	KindProfileHandler
	KindProducer // configures a data producer (such as the prefix index) and has no method of its own in the cycle
)

// Param declares one parameter of a plugin type.
type Param struct {
	Name     string
	Kind     plan.ParamKind
	Default  any // float64, bool or string, as Kind demands
	Min, Max float64
	Doc      string // unit and meaning
}

// Spec describes one plugin type. Each plugin folder exports exactly one Spec variable; package registry lists them all.
type Spec struct {
	Type   string
	Kinds  Kind
	Params []Param
	// LooseParams accepts and ignores unknown parameters (with a warning by the loader), as the EPP does for the types
	// whose factories do not read any.
	LooseParams bool
	// New builds an instance that implements the interfaces of Kinds. p holds every declared parameter.
	New func(p plan.Params) (any, error)
}

// Rand is a small seeded generator (xorshift64*). The zero value is not usable; see NewRand.
type Rand struct{ s uint64 }

// NewRand returns a generator for seed; 0 is replaced by a constant.
func NewRand(seed uint64) Rand {
	if seed == 0 {
		seed = 0x9E3779B97F4A7C15
	}
	return Rand{s: seed}
}

// Uint64 returns the next number.
func (r *Rand) Uint64() uint64 {
	r.s ^= r.s >> 12
	r.s ^= r.s << 25
	r.s ^= r.s >> 27
	return r.s * 2685821657736338717
}

// Intn returns a number in [0,n), n > 0.
func (r *Rand) Intn(n int) int { return int((r.Uint64() >> 33) % uint64(n)) }
