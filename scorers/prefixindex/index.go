// Package prefixindex is the approximate prefix index of one worker: which endpoint is believed to hold which prefix block.
// It is fed with what was routed (Record) and asked how much of a prompt each endpoint holds (Match).
//
// A block is known by its chain hash, so that equal hashes mean equal prefixes. All holders of a block stand in one bitset
// (block-major), which makes a lookup over a thousand endpoints a few word operations per block. Each endpoint has its own
// capacity and evicts its least recently used block; within one prompt the tail counts as older than the head, because a
// tail without its head is worth nothing.
//
//	table     open addressing, chain hash → entry          entry   hash, holder count, owner record
//	bits      entry × W words, bit = slot of a holder       record  (entry, slot) in the recency list of the slot
//	shared    open addressing, (entry, slot) → record, for records that are not their entry's owner
//
// Everything is flat and pointer-free. Memory grows by doubling, up to what the bound of records allows; with a full index
// nothing is allocated any more. The index assumes a single thread, and that a chain hash stands for the whole prefix before
// it; chains with forged hashes cost accuracy only.
package prefixindex

const (
	wordBits  = 64
	firstSize = 1024 // records and entries allocated at first use
)

// entry is one block. Entry 0 is not used.
type entry struct {
	key     uint64 // chain hash
	holders uint32 // endpoints that hold the block; 0 marks a free entry
	rec     uint32 // record of the owner, the one holder that is not in the shared table; 0 if none. Free list link if free
}

// record says that the endpoint in slot holds entry. Record 0 is not used.
type record struct {
	entry, slot uint32
	prev, next  uint32 // recency list of the slot, towards more and less recently used; next is the free list link if free
}

// lru is the recency list of one slot.
type lru struct {
	head, tail uint32 // most and least recently used record; 0 if empty
	size, cap  uint32 // records
}

// Index is an approximate prefix index. The zero value is not usable; see New.
type Index struct {
	words   int // words of a bitset
	max     int // bound of records
	entries []entry
	bits    []uint64
	recs    []record
	table   table
	shared  table
	lists   []lru

	freeEntry, freeRec uint32
	usedEntry, usedRec int // used or once used, entry 0 and record 0 included
	records            int
	evicted            uint64

	memo  []uint32 // entries of the chain last matched, by block
	alive []uint64 // scratch of Match
	live  []int32  // scratch of Match: words of alive that are not zero
	path  []place  // scratch of Record
	sum   uint64   // see table.reach
}

// New returns an empty index of at most maxRecords (endpoint, block) records. It allocates nothing big.
func New(maxRecords int) *Index {
	return &Index{
		words: 1, max: max(maxRecords, 0),
		entries: make([]entry, 1), bits: make([]uint64, 1), recs: make([]record, 1),
		usedEntry: 1, usedRec: 1,
		alive: make([]uint64, 1), live: make([]int32, 1),
		table: emptyTable(), shared: emptyTable(),
	}
}

// Slots returns the number of slots made known by SetCapacities.
func (x *Index) Slots() int { return len(x.lists) }

// Len returns the number of records held.
func (x *Index) Len() int { return x.records }

// Evicted returns the number of records evicted for want of capacity since the index was made.
func (x *Index) Evicted() uint64 { return x.evicted }

// SlotLen returns the number of blocks that slot holds.
func (x *Index) SlotLen(slot int32) int { return int(x.lists[slot].size) }

// Bytes returns the bytes of memory that the index has allocated.
func (x *Index) Bytes() int {
	return 16*cap(x.entries) + 8*cap(x.bits) + 16*cap(x.recs) + x.table.bytes() + x.shared.bytes() +
		16*cap(x.lists) + 4*(cap(x.memo)+cap(x.live)) + 8*(cap(x.path)+cap(x.alive))
}

// SetBound changes the bound of records. It takes effect with SetCapacities, which must follow. Memory that was allocated
// stays, so that a lower bound gives nothing back.
func (x *Index) SetBound(maxRecords int) { x.max = max(maxRecords, 0) }

// SetCapacities sets the capacity of each slot in blocks; slots beyond keep theirs at 0. If the sum exceeds the bound of
// records, every capacity is scaled down by the same factor. Blocks above the new capacity are evicted at once. The number
// of slots never shrinks.
func (x *Index) SetCapacities(caps []int) {
	x.growSlots(len(caps))
	sum := 0
	for _, c := range caps {
		sum += max(c, 0)
	}
	for i := range x.lists {
		c := 0
		if i < len(caps) {
			c = max(caps[i], 0)
		}
		if sum > x.max {
			c = int(float64(c) / float64(sum) * float64(x.max))
		}
		x.lists[i].cap = uint32(c)
		x.shrink(int32(i), uint32(c))
	}
}

// RemoveEndpoint frees every record of slot. Its capacity stays.
func (x *Index) RemoveEndpoint(slot int32) {
	if int(slot) >= len(x.lists) {
		return
	}
	before := x.evicted
	x.shrink(slot, 0)
	x.evicted = before
}

// Flush empties the index. Memory and capacities stay.
func (x *Index) Flush() {
	clear(x.table.slots)
	clear(x.shared.slots)
	x.table.n, x.shared.n = 0, 0
	clear(x.entries) // a memo entry must not look alive
	clear(x.bits)
	x.freeEntry, x.freeRec, x.usedEntry, x.usedRec, x.records = 0, 0, 1, 1, 0
	for i := range x.lists {
		x.lists[i] = lru{cap: x.lists[i].cap}
	}
}

// Holds reports whether slot is believed to hold the block with this chain hash.
func (x *Index) Holds(key uint64, slot int32) bool {
	e := x.find(key)
	return e != 0 && x.held(e, uint32(slot))
}

// growSlots makes room for n slots, widening all bitsets by doubling if needed.
func (x *Index) growSlots(n int) {
	if n <= len(x.lists) {
		return
	}
	x.lists = append(x.lists, make([]lru, n-len(x.lists))...)
	words := x.words
	for words*wordBits < n {
		words *= 2
	}
	if words == x.words {
		return
	}
	wide := make([]uint64, len(x.entries)*words)
	for e := 1; e < x.usedEntry; e++ {
		copy(wide[e*words:], x.bits[e*x.words:(e+1)*x.words])
	}
	x.bits, x.words = wide, words
	x.alive, x.live = make([]uint64, words), make([]int32, words)
}
