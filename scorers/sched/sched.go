// Package sched is the scheduler of one worker: it owns the endpoint table (package fleet), the approximate prefix index
// (package prefixindex), the universal-prefix rule and the compiled profiles, and turns a request into a ranked list of
// endpoints. It assumes a single thread and allocates nothing per request in steady state.
package sched

import (
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
)

// Prompt is the hashed prompt of one request. A prompt that could not be understood has no block ids.
type Prompt struct {
	Seed        uint64   // blockhash.Seed(model, salt)
	IDs         []uint64 // block ids of all prompts, one after the other; the scheduler may overwrite them with chain hashes
	Starts      []int32  // index into IDs at which each prompt starts; the first is 0
	Tokens      int      // estimated prompt tokens
	MaxTokens   int      // 0 if the client gave none
	BlockTokens int      // block size that IDs were cut with
}

// Decision is the outcome for one request and its accounting handle. It is pointer-free and owned by the caller, one per
// stream, from Decide until Done.
type Decision struct {
	Slots   [MaxRanked]int32  // ranked endpoints, best first
	Gen     [MaxRanked]uint32 // generation of each slot, to notice that a slot was given to another endpoint
	Match   [MaxRanked]int32  // matched blocks of each
	N       uint8             // length of the ranked list
	Tried   uint8             // bit i: Slots[i] was tried
	Reason  Reason
	Cur     int32  // slot of the current attempt; -1 if none
	CurGen  uint32 // generation of Cur
	Attempt uint8  // attempts begun
	State   uint8  // accounting state of the current attempt, private to this package

	Matched     int32 // matched blocks of the first choice
	Total       int32 // informative blocks of the prompt
	Uncached    int32 // estimated uncached tokens charged to Cur
	Tokens      int32
	MaxTokens   int32
	StartedAt   uint64 // monotonic ns at which the current attempt began
	Neutral     uint32 // scores that were neutral for want of fresh metrics
	BlockTokens int32
}

// Scheduler is the scheduling state of one worker.
type Scheduler struct{}

// New returns a scheduler for a valid plan. seed makes tie-breaking reproducible.
func New(p *plan.Plan, seed uint64) (*Scheduler, error) { panic("skeleton") }

// Reconfigure puts a new plan into force. Endpoint table, in-flight counts, health and prefix index survive. On error the
// old plan stays in force.
func (s *Scheduler) Reconfigure(p *plan.Plan) error { panic("skeleton") }

// Apply takes over a snapshot that was received at recvAt; both times are monotonic nanoseconds. The view is read during
// the call only.
func (s *Scheduler) Apply(v snapshot.View, recvAt, now uint64) { panic("skeleton") }

// BlockTokens returns the block size in tokens that prompts are to be cut with now, and MaxBlocks the most blocks that
// are worth hashing.
func (s *Scheduler) BlockTokens() int { panic("skeleton") }

// MaxBlocks returns the most blocks of a request that are worth hashing.
func (s *Scheduler) MaxBlocks() int { panic("skeleton") }

// Decide ranks the endpoints for p into d and records nothing. It overwrites p.IDs with chain hashes.
func (s *Scheduler) Decide(now uint64, p *Prompt, d *Decision) Reason { panic("skeleton") }

// Commit records the first attempt: in-flight counts, picks since the scrape, and the prompt's chain in the prefix index
// of the chosen endpoint. p is the prompt given to Decide, unchanged since.
func (s *Scheduler) Commit(now uint64, p *Prompt, d *Decision) { panic("skeleton") }

// Next re-ranks what is left for the attempt after the current one, with what was learned meanwhile, and returns its slot,
// or -1 if no other endpoint is left. It accounts nothing.
func (s *Scheduler) Next(now uint64, d *Decision) int32 { panic("skeleton") }

// Retry says that the current attempt failed without a response byte and that an attempt at slot began: the load moves
// with the attempt, and the failed endpoint is cooled down. The slot is the one that Next returned.
func (s *Scheduler) Retry(now uint64, d *Decision, slot int32) { panic("skeleton") }

// Status reports the response status of the current attempt (first response header), FirstByte its first body byte: the
// prefill load is released. Both are idempotent.
func (s *Scheduler) Status(now uint64, d *Decision, code int) { panic("skeleton") }

// FirstByte reports the first body byte of the response.
func (s *Scheduler) FirstByte(now uint64, d *Decision) { panic("skeleton") }

// Done releases everything that d still holds, exactly once, however the stream ended. failed says that the current
// attempt ended without a response from the endpoint.
func (s *Scheduler) Done(now uint64, d *Decision, failed bool) { panic("skeleton") }

// Address returns the ip:port of slot. The slice is valid until the next Apply.
func (s *Scheduler) Address(slot int32) []byte { panic("skeleton") }

// Name returns namespace/name of slot. The slice is valid until the next Apply.
func (s *Scheduler) Name(slot int32) []byte { panic("skeleton") }

// Stats are counters since the scheduler was made and gauges of now.
type Stats struct {
	Endpoints     int    // known endpoints
	CoolDowns     uint64 // endpoints that were cooled down
	Neutral       uint64 // scores that were neutral for want of fresh metrics
	Clamped       uint64 // scores outside [0,1]
	IndexRecords  int    // (endpoint, block) records held
	IndexEvicted  uint64 // records evicted for capacity
	Truncated     uint64 // prompts cut at MaxBlocks
	Overflow      uint64 // endpoints beyond the configured bound, ignored
	UniversalHits uint64 // requests whose leading blocks were discounted as universal
	SnapshotAgeMs uint64 // time since the last Apply's receipt
	Bytes         int    // bytes of long-lived state
}

// Stats returns the current figures.
func (s *Scheduler) Stats(now uint64) Stats { panic("skeleton") }
