package engine

// Stats are the gauges and counters of an engine. Counters grow from zero; a recomputed prompt counts once, except in
// ComputedTokens.
type Stats struct {
	// Waiting and Running are numbers of requests.
	Waiting, Running int
	// Blocks is the size of the cache, ActiveBlocks the number of blocks that running requests hold.
	Blocks, ActiveBlocks int
	// Steps counts steps begun.
	Steps uint64
	// PrefixQueries and PrefixHits count prompt tokens looked up and found in the cache.
	PrefixQueries, PrefixHits uint64
	// Preemptions counts requests that lost their blocks.
	Preemptions uint64
	// PromptTokens counts the tokens of prompts that were computed to the end, cached ones included.
	PromptTokens uint64
	// GenerationTokens counts tokens generated.
	GenerationTokens uint64
	// ComputedTokens counts tokens that steps computed: uncached prompts, outputs, and whatever preemption repeats.
	ComputedTokens uint64
}

// Stats returns the present values.
func (e *Engine) Stats() Stats {
	s := e.stats
	s.Waiting, s.Running = len(e.waiting), len(e.running)
	s.Blocks = e.pool.size()
	s.ActiveBlocks = s.Blocks - e.pool.free
	return s
}

// KVUsage returns the share of blocks in use by running requests, 0 to 1. Like vLLM's gauge it is 0 in an idle engine
// however much is cached.
func (s Stats) KVUsage() float64 { return float64(s.ActiveBlocks) / float64(s.Blocks) }
