package engine

import (
	"encoding/binary"
	"slices"
	"time"
)

// sequence is a request in the engine.
type sequence struct {
	id         uint64
	seed       uint64 // of the output
	root       uint64 // chain hash before the first block
	prompt     int    // tokens
	max        int    // tokens to generate
	generated  int
	computed   int      // tokens whose keys and values stand in blocks
	scheduled  int      // tokens computed by the step on its way
	hashes     []uint64 // chain of the full blocks of prompt and output
	tail       []byte   // packed tokens after the last full block
	blocks     []int32  // the request's share of the pool, in order
	registered int      // leading blocks that the pool knows by hash
	cached     int      // prompt tokens found at the first admission
	admitted   bool
	started    bool // admitted in the step on its way
	preempted  int
	times      Times
}

func newSequence(now time.Duration, r Request) *sequence {
	return &sequence{
		id: r.ID, seed: r.OutputSeed, root: r.Prompt.seed, prompt: r.Prompt.tokens, max: r.MaxTokens,
		// Clipped, since generated blocks are appended and a Prompt may be submitted twice.
		hashes: slices.Clip(r.Prompt.hashes), tail: slices.Clone(r.Prompt.tail),
		times: Times{Arrived: now},
	}
}

// total returns the number of tokens known so far.
func (s *sequence) total() int { return s.prompt + s.generated }

// Begin schedules a step that starts at now and returns when it ends. It returns false if there is nothing to do. After
// true, End must follow before the next Begin. Virtual time must not run backwards.
func (e *Engine) Begin(now time.Duration) (end time.Duration, ok bool) {
	if e.busy {
		panic("engine: Begin before End of the step before")
	}
	budget := e.cfg.Profile.TokenBudget
	preemptions := e.stats.Preemptions
	budget = e.scheduleRunning(budget)
	// After a preemption memory is short: admitting others would only take it from those who run.
	if preemptions == e.stats.Preemptions {
		e.scheduleWaiting(now, budget)
	}
	var prefill, decodes, context int
	for _, s := range e.running {
		switch {
		case s.scheduled == 0:
		case s.computed+1 == s.total() && s.generated > 0:
			decodes++
			context += s.total()
		default:
			prefill += s.scheduled
		}
	}
	if prefill+decodes == 0 {
		return 0, false
	}
	e.stats.Steps++
	e.stats.ComputedTokens += uint64(prefill + decodes)
	e.busy, e.end = true, now+e.cfg.Profile.StepTime(prefill, decodes, context)
	return e.end, true
}

// scheduleRunning gives each running request its next tokens, in order of admission, and returns the budget left.
func (e *Engine) scheduleRunning(budget int) int {
	for i := 0; i < len(e.running) && budget > 0; i++ {
		s := e.running[i]
		n := min(s.total()-s.computed, budget)
		for need := e.blocksFor(s.computed+n) - len(s.blocks); need > e.pool.free; {
			// The victim was admitted last, so it is s itself or stands behind it and is not yet in this step.
			victim := e.running[len(e.running)-1]
			e.preempt(victim)
			if victim == s {
				return budget
			}
		}
		e.assign(s, n)
		budget -= n
	}
	return budget
}

// scheduleWaiting admits requests first come, first served, as long as budget, places and blocks last.
func (e *Engine) scheduleWaiting(now time.Duration, budget int) {
	admitted := 0
	for _, s := range e.waiting {
		if budget == 0 || len(e.running) == e.cfg.Profile.MaxRunning || !e.attach(s) {
			break
		}
		if !s.admitted {
			s.admitted, s.started, s.cached, s.times.Admitted = true, true, s.computed, now
			e.stats.PrefixQueries += uint64(s.prompt)
			e.stats.PrefixHits += uint64(s.computed)
		}
		n := min(s.total()-s.computed, budget)
		e.running = append(e.running, s)
		e.assign(s, n)
		budget -= n
		admitted++
	}
	e.waiting = slices.Delete(e.waiting, 0, admitted)
}

// attach gives a waiting sequence the blocks that the cache has for it. It returns false, and changes nothing, if the rest
// of the sequence does not fit into the free blocks: vLLM admits by the whole sequence, not by its first chunk. The last
// token is never taken from the cache, since its computation gives the first output.
func (e *Engine) attach(s *sequence) bool {
	limit := (s.total() - 1) / e.cfg.BlockTokens
	need := e.blocksFor(s.total())
	for _, h := range s.hashes[:min(limit, len(s.hashes))] {
		b, ok := e.pool.lookup(h)
		if !ok {
			break
		}
		s.blocks = append(s.blocks, b)
		// A cached block that is free costs a free block like a new one; one in use costs nothing.
		if !e.pool.isFree(b) {
			need--
		}
	}
	if need > e.pool.free {
		s.blocks = s.blocks[:0]
		return false
	}
	for _, b := range s.blocks {
		e.pool.acquire(b)
	}
	s.registered = len(s.blocks)
	s.computed = len(s.blocks) * e.cfg.BlockTokens
	return true
}

// assign puts n tokens of s into the step and allocates their blocks. Full blocks can be shared at once: whoever reads
// them in the same step reads them after they were written.
func (e *Engine) assign(s *sequence, n int) {
	s.scheduled = n
	for len(s.blocks) < e.blocksFor(s.computed+n) {
		s.blocks = append(s.blocks, e.pool.allocate())
	}
	for ; (s.registered+1)*e.cfg.BlockTokens <= s.computed+n; s.registered++ {
		e.pool.register(s.blocks[s.registered], s.hashes[s.registered])
	}
}

// preempt takes all blocks from s and puts it in front of the queue; it will be computed again.
func (e *Engine) preempt(s *sequence) {
	e.pool.release(s.blocks)
	s.blocks, s.computed, s.registered = s.blocks[:0], 0, 0
	s.preempted++
	e.stats.Preemptions++
	e.running = e.running[:len(e.running)-1]
	e.waiting = slices.Insert(e.waiting, 0, s)
}

// End finishes the step on its way and returns what it did, in order of admission. The slice is valid until the next End.
func (e *Engine) End() []Output {
	if !e.busy {
		panic("engine: End without Begin")
	}
	e.busy = false
	e.outputs = e.outputs[:0]
	for _, id := range e.aborted {
		if s := e.byID[id]; s != nil {
			e.remove(s)
		}
	}
	e.aborted = e.aborted[:0]
	kept := e.running[:0]
	for _, s := range e.running {
		if !e.advance(s) {
			kept = append(kept, s)
			continue
		}
		delete(e.byID, s.id)
		e.pool.release(s.blocks)
		s.blocks = nil
	}
	clear(e.running[len(kept):])
	e.running = kept
	return e.outputs
}

// advance applies the step to one sequence and reports whether it is finished.
func (e *Engine) advance(s *sequence) (finished bool) {
	if s.scheduled == 0 {
		return false
	}
	s.computed += s.scheduled
	s.scheduled = 0
	token := s.computed == s.total()
	if token {
		e.generate(s)
	}
	finished = s.generated == s.max
	if token || s.started {
		e.outputs = append(e.outputs, Output{
			ID: s.id, Started: s.started, Token: token, Finished: finished, Generated: s.generated,
			CachedTokens: s.cached, Preemptions: s.preempted, Times: s.times,
		})
	}
	s.started = false
	return finished
}

// generate appends one output token.
func (e *Engine) generate(s *sequence) {
	if s.generated == 0 {
		s.times.FirstToken = e.end
		e.stats.PromptTokens += uint64(s.prompt)
	}
	s.times.PrevToken, s.times.LastToken = s.times.LastToken, e.end
	s.tail = binary.LittleEndian.AppendUint32(s.tail, OutputToken(s.seed, s.generated))
	s.generated++
	e.stats.GenerationTokens++
	if len(s.tail) < e.blockBytes() {
		return
	}
	prev := s.root
	if n := len(s.hashes); n > 0 {
		prev = s.hashes[n-1]
	}
	s.hashes = append(s.hashes, chain(prev, s.tail))
	s.tail = s.tail[:0]
}
