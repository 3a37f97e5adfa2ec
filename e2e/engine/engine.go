// Package engine is a model of one LLM serving engine (vLLM V1 with chunked prefill and prefix caching) that has no clock,
// goroutine, socket or randomness: a caller passes virtual time in and gets events out. The simulated model server puts
// HTTP and real time around it; a fleet simulation drives many of them from one event queue.
//
// An engine works in steps. Begin fills a step under the token budget, running requests first, then waiting ones, and says
// when it ends; End returns what came out. Requests that arrive during a step wait for the next. A token is four bytes of
// prompt text (blockhash.BytesPerToken). The KV cache is a pool of blocks: full blocks are found again by a hash chain over
// their tokens, free ones are reused oldest first, and if none is free the request that was admitted last is preempted and
// computed again later.
//
// Left out: tensor or pipeline parallelism beyond the step time, speculative decoding, LoRA slots, KV offloading, sliding
// windows, and stop conditions other than the requested number of tokens.
package engine

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/zerohop/zerohop/shared/blockhash"
)

// Config describes an engine. The zero value of each field means its default.
type Config struct {
	// Profile gives the costs and limits; default Qwen3x32B.
	Profile Profile
	// BlockTokens is the number of tokens in a KV block; default DefaultBlockTokens.
	BlockTokens int
	// CapacityTokens is the size of the KV cache, rounded down to whole blocks; default that of the profile.
	CapacityTokens int
	// MaxModelLen bounds prompt and output tokens of a request; default CapacityTokens.
	MaxModelLen int
}

// Errors of Submit.
var (
	// ErrTooLong means that prompt and output exceed MaxModelLen or the whole cache.
	ErrTooLong = errors.New("prompt and output are longer than the engine can hold")
	// ErrInvalid means an empty prompt, no output token, another block size, or an id that is in use.
	ErrInvalid = errors.New("invalid request")
)

// Engine is one serving engine. It is not safe for concurrent use.
type Engine struct {
	cfg     Config
	pool    *pool
	waiting []*sequence
	running []*sequence
	byID    map[uint64]*sequence
	aborted []uint64 // cancelled while a step was on its way
	busy    bool
	end     time.Duration // of the step on its way
	stats   Stats
	outputs []Output
}

// Request is one request.
type Request struct {
	// ID is chosen by the caller and names the request in outputs; unique among those not finished.
	ID uint64
	// Prompt must have been made with the engine's block size.
	Prompt Prompt
	// MaxTokens is the number of tokens to generate, at least 1.
	MaxTokens int
	// OutputSeed determines the generated tokens (OutputToken); 0 takes it from the prompt.
	OutputSeed uint64
}

// Output tells what a step did for one request.
type Output struct {
	ID uint64
	// Started is set in the step in which the request was first admitted.
	Started bool
	// Token is set if the step generated a token.
	Token bool
	// Finished is set with the last token; the engine has forgotten the request.
	Finished bool
	// Generated counts the tokens so far, the one of this step included.
	Generated int
	// CachedTokens counts the prompt tokens found in the cache at the first admission.
	CachedTokens int
	// Preemptions counts how often the request lost its blocks.
	Preemptions int
	// Times are the request's instants in virtual time.
	Times Times
}

// Times are instants of a request in the caller's virtual time. Those that have not come are zero.
type Times struct {
	Arrived    time.Duration // Submit
	Admitted   time.Duration // begin of the first step that computed a part of the prompt
	FirstToken time.Duration // end of the step with the first token
	PrevToken  time.Duration // end of the step with the token before the last one
	LastToken  time.Duration // end of the step with the last token so far
}

// New returns an idle engine with an empty cache.
func New(cfg Config) (*Engine, error) {
	if cfg.Profile == (Profile{}) {
		cfg.Profile = Qwen3x32B()
	}
	if cfg.BlockTokens == 0 {
		cfg.BlockTokens = DefaultBlockTokens
	}
	if cfg.CapacityTokens == 0 {
		cfg.CapacityTokens = cfg.Profile.Blocks * DefaultBlockTokens
	}
	if cfg.MaxModelLen == 0 {
		cfg.MaxModelLen = cfg.CapacityTokens
	}
	p := cfg.Profile
	switch {
	case cfg.BlockTokens < 1:
		return nil, fmt.Errorf("block tokens %d: want at least 1", cfg.BlockTokens)
	case cfg.CapacityTokens < cfg.BlockTokens:
		return nil, fmt.Errorf("capacity of %d tokens: want at least one block of %d", cfg.CapacityTokens, cfg.BlockTokens)
	case cfg.MaxModelLen < 2:
		return nil, fmt.Errorf("max model length %d: want at least 2", cfg.MaxModelLen)
	case p.PrefillRate < 1 || p.TokenBudget < 1 || p.MaxRunning < 1:
		return nil, fmt.Errorf("profile %q: want prefill rate, token budget and max running above 0", p.Name)
	case p.StepBase <= 0 || p.PerDecode < 0 || p.PerContextToken < 0:
		return nil, fmt.Errorf("profile %q: want a step base above 0 and no negative cost", p.Name)
	}
	return &Engine{
		cfg:  cfg,
		pool: newPool(cfg.CapacityTokens / cfg.BlockTokens),
		byID: make(map[uint64]*sequence),
	}, nil
}

// Config returns the configuration with its defaults filled in.
func (e *Engine) Config() Config { return e.cfg }

// Submit queues a request that arrives at now.
func (e *Engine) Submit(now time.Duration, r Request) error {
	total := r.Prompt.tokens + r.MaxTokens
	switch {
	case r.Prompt.tokens < 1:
		return fmt.Errorf("%w: empty prompt", ErrInvalid)
	case r.MaxTokens < 1:
		return fmt.Errorf("%w: max tokens %d: want at least 1", ErrInvalid, r.MaxTokens)
	case r.Prompt.blockTokens != e.cfg.BlockTokens:
		return fmt.Errorf("%w: prompt in blocks of %d tokens: want %d", ErrInvalid, r.Prompt.blockTokens, e.cfg.BlockTokens)
	case total > e.cfg.MaxModelLen:
		return fmt.Errorf("%w: %d tokens: max model length is %d", ErrTooLong, total, e.cfg.MaxModelLen)
	case e.blocksFor(total-1) > e.pool.size():
		return fmt.Errorf("%w: %d tokens: cache holds %d", ErrTooLong, total, e.pool.size()*e.cfg.BlockTokens)
	case e.byID[r.ID] != nil:
		return fmt.Errorf("%w: id %d is in use", ErrInvalid, r.ID)
	}
	if r.OutputSeed == 0 {
		r.OutputSeed = r.Prompt.OutputSeed()
	}
	s := newSequence(now, r)
	e.byID[r.ID] = s
	e.waiting = append(e.waiting, s)
	return nil
}

// Cancel drops a request. If a step is on its way, the request's blocks are freed at its end. An unknown id is ignored.
func (e *Engine) Cancel(id uint64) {
	s := e.byID[id]
	switch {
	case s == nil:
	case e.busy:
		e.aborted = append(e.aborted, id)
	default:
		e.remove(s)
	}
}

// ResetCache forgets all cached blocks, as vLLM's reset_prefix_cache. Running requests keep theirs.
func (e *Engine) ResetCache() {
	e.pool.reset()
	for _, s := range e.running {
		s.registered = len(s.blocks)
	}
}

// remove takes a sequence out of its queue and frees its blocks.
func (e *Engine) remove(s *sequence) {
	delete(e.byID, s.id)
	e.pool.release(s.blocks)
	s.blocks = nil
	same := func(o *sequence) bool { return o == s }
	e.running = slices.DeleteFunc(e.running, same)
	e.waiting = slices.DeleteFunc(e.waiting, same)
}

// blocksFor returns the number of blocks that hold this many tokens.
func (e *Engine) blocksFor(tokens int) int {
	return (tokens + e.cfg.BlockTokens - 1) / e.cfg.BlockTokens
}

// blockBytes returns the size of a block of packed tokens.
func (e *Engine) blockBytes() int { return e.cfg.BlockTokens * blockhash.BytesPerToken }
