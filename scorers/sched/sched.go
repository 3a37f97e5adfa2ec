// Package sched is the scheduler of one worker: it owns the endpoint table (package fleet), the approximate prefix index
// (package prefixindex), the universal-prefix rule (package universal) and the compiled profiles, and turns a request into a
// ranked list of endpoints. It assumes a single thread and allocates nothing per request in steady state.
//
// The life of a request is Decide, Commit, then for each further attempt Next and Retry, for each answer Status and
// FirstByte, and at the end Done. A Decision that was not committed needs no Done.
package sched

import (
	"github.com/zerohop/zerohop/scorers"
	"github.com/zerohop/zerohop/scorers/fleet"
	"github.com/zerohop/zerohop/scorers/prefixindex"
	"github.com/zerohop/zerohop/scorers/registry"
	"github.com/zerohop/zerohop/scorers/universal"
	"github.com/zerohop/zerohop/shared/plan"
	"github.com/zerohop/zerohop/shared/snapshot"
)

// MaxRanked is the length of the ranked list that a Decision keeps for later attempts.
const MaxRanked = 8

// Reason says how a decision came about. Each has its own counter in the filter.
type Reason uint8

// The reasons of a decision.
const (
	Scored      Reason = iota // full profile
	LoadOnly                  // the prompt is unknown: routed by load only
	NoEndpoint                // there is no endpoint at all
	AllCooling                // every endpoint is cooled down or draining: the least bad one was taken
	FilteredOut               // the profile's filters left nothing
	Denied                    // an admitter refused
	NoProfile                 // the profile handler chose none
)

// Prompt is the hashed prompt of one request. A prompt that could not be understood has no block ids.
type Prompt struct {
	Seed        uint64   // blockhash.Seed(model, salt)
	IDs         []uint64 // block ids of all prompts, one after the other; the scheduler may overwrite them with chain hashes
	Starts      []int32  // index into IDs at which each prompt starts; the first is 0
	Tokens      int      // estimated prompt tokens
	MaxTokens   int      // 0 if the client gave none
	BlockTokens int      // block size that IDs were cut with

	Model   []byte          // as the client wrote it; nil if unknown
	Headers scorers.Headers // those that Wants names; read until Commit has returned
	HasBody bool
	Streams bool // the client wants the answer as a stream
	Dry     bool // the decision is for information: nothing is remembered or counted, and it must not be committed
}

// Decision is the outcome for one request and its accounting handle. It is pointer-free and owned by the caller, one per
// stream, from Decide until Done.
type Decision struct {
	_ [0]func() // not comparable, for the size of the module

	Slots   [MaxRanked]int32  // ranked endpoints, best first
	Gen     [MaxRanked]uint32 // generation of each slot, to notice that a slot was given to another endpoint
	Match   [MaxRanked]int32  // matched blocks of each
	N       uint8             // length of the ranked list
	Kept    uint8             // how many of them the filters left; the others are allowed all the same
	Bound   bool              // no other endpoint may get the request
	Picked  uint8             // how many of them the profile's picker chose; the others follow by score
	Tried   uint8             // bit i: Slots[i] was tried
	Reason  Reason
	Cur     int32  // slot of the current attempt; -1 if none
	CurGen  uint32 // generation of Cur
	Attempt uint8  // attempts begun
	State   uint8  // accounting state of the current attempt, private to this package

	Matched     int32 // matched blocks of the first choice
	Total       int32 // informative blocks of the prompt
	Uncached    int32 // estimated uncached tokens of the prompt at Cur
	Tokens      int32
	MaxTokens   int32
	StartedAt   uint64 // monotonic ns at which the current attempt began
	Neutral     uint32 // scores that were neutral for want of fresh metrics
	BlockTokens int32
	Universal   int32  // leading blocks that were left out as universal, which an endpoint with a match holds too
	Serial      uint32 // names the current attempt's pick, private to this package

	Streams bool   // the answer is streamed
	Chain   uint64 // names what is kept of the pick, private to this package

	Decided    uint32 // names the call of Decide
	Charged    int32  // tokens that the current attempt is booked with
	Estimate   int32  // what a load estimator adds to the uncached tokens of any endpoint
	Held       int32  // those of them that stay booked after the first byte
	HoldTokens bool   // all do
	Profile    uint8  // index of the profile that ran
	Emptied    uint8  // index of the filter that left nothing, if Reason is FilteredOut
	Candidates uint16 // endpoints before the filters
	Left       uint16 // endpoints after them
}

// Scheduler is the scheduling state of one worker. What each request reads comes first and together.
type Scheduler struct {
	set       *profiles
	fleet     *fleet.Table
	index     *prefixindex.Index
	universal *universal.Finder
	explain   *Explanation // nil unless somebody asks

	blockTokens int
	maxBlocks   int
	decided     uint32 // number of the newest Decide
	parity      bool   // the plan asks for parity with the EPP

	// Scratch by slot or by candidate.
	match  []int32 // by slot, informative blocks
	cand   []int32
	total  []float64
	score  []float64
	prompt []int32 // by slot, blocks of one of several prompts
	pass   []bool
	caps   []int

	cycle scorers.Cycle
	rand  scorers.Rand
	share sharing
	kept  keeper
	stats Stats // counters only

	plan     plan.Plan
	specs    []scorers.Spec     // the types that there are
	facts    scorers.Facts      // scratch
	carried  snapshot.FactsView // during an Apply only
	received uint64             // when the last snapshot was received; 0 if none was
	undo     struct {           // what a decision that is for information changes and must not
		rand  scorers.Rand
		stats Stats
	}
}

// New returns a scheduler for a valid plan. seed makes tie-breaking reproducible.
func New(p *plan.Plan, seed uint64) (*Scheduler, error) { return newWith(p, seed, registry.All()) }

// newWith is New where the plugins are of the given types.
func newWith(p *plan.Plan, seed uint64, specs []scorers.Spec) (*Scheduler, error) {
	set, err := compile(p, specs)
	if err != nil {
		return nil, err
	}
	s := &Scheduler{
		specs:     specs,
		set:       set,
		fleet:     fleet.New(p.Bounds.Endpoints, p.Agent.StaleMs),
		index:     prefixindex.New(p.Bounds.IndexBlocks),
		universal: universal.New(0), // tune sets the bound
		rand:      scorers.NewRand(seed),
	}
	s.fleet.Want(&set.wants)
	s.tell(nil)
	s.install(p)
	return s, nil
}

// Reconfigure puts a new plan into force. Endpoint table, in-flight counts, health and prefix index survive; the index
// starts anew if the block size changes. A plugin that keeps its name and type takes over the state of the old instance. What
// only the new plan asks of endpoints is there from the next Apply on. On error the old plan stays in force.
func (s *Scheduler) Reconfigure(p *plan.Plan) error {
	set, err := compile(p, s.specs)
	if err != nil {
		return err
	}
	_, before, _ := s.set.sessions()
	set.adopt(s.set)
	_, after, _ := set.sessions()
	s.stats.Replaced += before - min(after, before) // of plugins that are no more
	s.set = set
	s.fleet.Want(&set.wants)
	s.tell(s.fleet.Live())
	s.fleet.Configure(p.Bounds.Endpoints, p.Agent.StaleMs)
	s.index.SetBound(p.Bounds.IndexBlocks) // install sets the capacities
	s.install(p)
	return nil
}

// install takes over what does not depend on whether the plan is the first.
func (s *Scheduler) install(p *plan.Plan) {
	s.plan = *p
	s.cycle = scorers.Cycle{Endpoints: s.fleet.View(), Rand: &s.rand, Pass: s.pass, Request: scorers.Request{Peer: -1}}
	// Who gives attempts longer than that expects queues. A shorter time is meant for headers, which say nothing of the engine.
	s.fleet.Slow(max(fleet.DefaultSlow, uint64(p.Attempts.FirstByteMs)*1e6/2))
	s.parity = p.Parity == plan.ParityEPP
	s.fleet.CountOwn(!s.parity)
	if p.Agent.Cluster == "" {
		s.received = 0 // what an earlier plan's agent sent is over
	}
	if s.received == 0 {
		s.afterApply(s.fleet.ApplyPlan(p.Endpoints, 0))
	}
	s.tune()
}

// afterApply forgets what removed endpoints held and fits the scratch space to the slots.
func (s *Scheduler) afterApply(c fleet.Change) {
	for _, slot := range c.Removed {
		s.index.RemoveEndpoint(slot)
	}
	s.followSlots(&c)
	if n := s.fleet.Slots(); n > len(s.match) {
		s.match, s.prompt = make([]int32, n), make([]int32, n)
		s.cand, s.pass = make([]int32, 0, n), make([]bool, n)
		s.cycle.Pass = s.pass
		s.total, s.score = make([]float64, n), make([]float64, n)
		s.caps = make([]int, n)
	}
}

// BlockTokens returns the block size in tokens that prompts are to be cut with now.
func (s *Scheduler) BlockTokens() int { return s.blockTokens }

// MaxBlocks returns the most blocks of a request that are worth hashing.
func (s *Scheduler) MaxBlocks() int { return s.maxBlocks }

// Address returns the ip:port of slot. The slice is valid until the next Apply.
func (s *Scheduler) Address(slot int32) []byte { return s.fleet.Address(slot) }

// Name returns namespace/name of slot. The slice is valid until the next Apply.
func (s *Scheduler) Name(slot int32) []byte { return s.fleet.Name(slot) }

// Gen returns the generation of slot, which changes when the slot is given to another endpoint. It is never 0. Whoever gives
// the address of a slot away for later keeps it.
func (s *Scheduler) Gen(slot int32) uint32 { return s.fleet.Gen(slot) }
