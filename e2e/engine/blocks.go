package engine

// pool is the KV cache: a fixed number of blocks, each free or referenced by running requests. A free block keeps its
// content and hash until it is handed out again, so that the free list, oldest first, is also the LRU list of the cache.
// All links are indices; the sentinel with index len-1 closes the free list.
type pool struct {
	blocks []block
	first  map[uint64]int32 // newest block with this hash; older ones hang on block.same
	free   int
}

// block is one slot of the cache.
type block struct {
	hash       uint64 // 0: not reusable
	refs       int32
	prev, next int32 // free list, while refs is 0
	same       int32 // next block with equal hash, none: -1
}

const none = -1

func newPool(n int) *pool {
	p := &pool{blocks: make([]block, n+1), first: make(map[uint64]int32, n), free: n}
	for i := range p.blocks {
		p.blocks[i] = block{prev: int32(i - 1), next: int32(i + 1), same: none}
	}
	p.blocks[0].prev, p.blocks[n].next = int32(n), 0
	p.blocks[n].prev = int32(n - 1)
	return p
}

// size returns the number of blocks.
func (p *pool) size() int { return len(p.blocks) - 1 }

// lookup returns a block with this hash.
func (p *pool) lookup(hash uint64) (int32, bool) {
	b, ok := p.first[hash]
	return b, ok
}

// isFree reports whether no request refers to b.
func (p *pool) isFree(b int32) bool { return p.blocks[b].refs == 0 }

// acquire adds a reference to a cached block.
func (p *pool) acquire(b int32) {
	if p.blocks[b].refs == 0 {
		p.unlink(b)
	}
	p.blocks[b].refs++
}

// allocate hands out the block that has been free for longest and forgets its content. The caller has checked p.free.
func (p *pool) allocate() int32 {
	b := p.blocks[p.size()].next
	p.unlink(b)
	p.forget(b)
	p.blocks[b].refs = 1
	return b
}

// register makes a block findable by hash. Equal content may be computed twice at the same time; both copies count.
func (p *pool) register(b int32, hash uint64) {
	p.blocks[b].hash = hash
	if other, ok := p.first[hash]; ok {
		p.blocks[b].same = other
	}
	p.first[hash] = b
}

// release drops the references of a request. The tail goes first, so that it is evicted first: a prefix without its tail
// is of use, a tail without its prefix is not.
func (p *pool) release(blocks []int32) {
	for i := len(blocks) - 1; i >= 0; i-- {
		b := blocks[i]
		if p.blocks[b].refs--; p.blocks[b].refs == 0 {
			p.link(b)
		}
	}
}

// reset forgets all content, that of referenced blocks included.
func (p *pool) reset() {
	clear(p.first)
	for i := range p.blocks {
		p.blocks[i].hash, p.blocks[i].same = 0, none
	}
}

// forget removes b from the index.
func (p *pool) forget(b int32) {
	hash, same := p.blocks[b].hash, p.blocks[b].same
	p.blocks[b].hash, p.blocks[b].same = 0, none
	if hash == 0 {
		return
	}
	at := p.first[hash]
	switch {
	case at != b:
		for p.blocks[at].same != b {
			at = p.blocks[at].same
		}
		p.blocks[at].same = same
	case same == none:
		delete(p.first, hash)
	default:
		p.first[hash] = same
	}
}

// link appends b to the free list.
func (p *pool) link(b int32) {
	end := int32(p.size())
	last := p.blocks[end].prev
	p.blocks[b].prev, p.blocks[b].next = last, end
	p.blocks[last].next, p.blocks[end].prev = b, b
	p.free++
}

// unlink takes b out of the free list.
func (p *pool) unlink(b int32) {
	prev, next := p.blocks[b].prev, p.blocks[b].next
	p.blocks[prev].next, p.blocks[next].prev = next, prev
	p.free--
}
