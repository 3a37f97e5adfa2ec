// Package prefixindex is the approximate prefix index of one worker: which endpoint is believed to hold which prefix block.
// It is fed with what was routed (Record) and asked how much of a prompt each endpoint holds (Match).
//
// A block is known by its chain hash, so that equal hashes mean equal prefixes. Up to MaxRun blocks that follow each other and
// that no prompt leaves in between are one run, so that most of what is done for a block is done for many, and a long prompt
// touches few places in memory. A prompt that leaves a run in the middle splits it. All holders of a run stand in one bitset,
// which makes a lookup over a thousand endpoints a few word operations per run. Each endpoint has its own capacity in blocks
// and evicts its least recently used block; within one prompt the tail counts as older than the head, because a tail without
// its head is worth nothing.
//
//	table     open addressing, first chain hash of a run → run
//	runs      chain hashes, length, holders, owner; the next part of the run
//	records   (run, slot, blocks held) in the recency list of the slot
//	bits      run × W words, bit = slot of a holder; of up to 64 slots, in the run
//	shared    open addressing, (run, slot) → record, for records that are not their run's owner
//
// A holder has the first blocks of a run: all of them but for one whose last ones were evicted or withdrawn. The next prompt that
// uses these splits the run there.
//
// Everything is flat and pointer-free. Memory grows by doubling, up to what the bound of records allows, and for the last time when
// the index is half full, if the rest of what it gets is like the first half. The index assumes a single thread, and that a chain
// hash stands for the whole prefix before it; chains with forged hashes, and dumps with gaps, cost accuracy only.
package prefixindex

const (
	wordBits  = 64
	firstSize = 1024 // records and runs allocated at first use

	// MaxRun is the most blocks of a run.
	MaxRun = 15 * partKeys

	partKeys = 8 // chain hashes that stand in the run or in a part of it: a line of the cache
)

// run is up to MaxRun consecutive blocks, and those that are more than partKeys stand in further runs, its parts, of which nothing
// but the hashes counts. Run 0 is not used. What a look at a run needs stands together, as it is likely to be in no cache.
type run struct {
	_ [0]func() // not comparable, for the size of the module

	keys    [partKeys]uint64 // chain hashes, as many as there are blocks
	bits    [1]uint64        // holders, by slot, where there are at most 64 slots
	next    uint32           // next part, of which there are as few as possible, or next one in the free list
	holders uint32           // endpoints that hold the first block; 0 marks a free run, or a part
	shape   uint32           // how many of these do not hold all, and number of blocks, as many as the holder with the most has
	rec     uint32           // record of the owner, the one holder that is not in the shared table; 0 if none
}

const partialMask = 1<<lenShift - 1 // of run.shape

func (r *run) len() uint32 { return r.shape >> lenShift }

func (r *run) setLen(n uint32) { r.shape = r.shape&partialMask | n<<lenShift }

// partial returns how many holders do not hold all. It may be counted in shape.
func (r *run) partial() uint32 { return r.shape & partialMask }

// record says that the endpoint in slot holds the first blocks of a run. Record 0 is not used.
type record struct {
	run        uint32
	what       uint32 // slot, number of blocks and marks
	prev, next uint32 // recency list of the slot, towards more and less recently used; next is the free list link if free
}

// Parts of record.what.
const (
	slotMask = 1<<lenShift - 1
	lenShift = 22
	lenMask  = 0x7f << lenShift
	onPath   = 1 << 31 // it is of the chain being recorded
	parent   = 1 << 30 // the slot was given a block behind the last one
	fork     = 1 << 29 // the slot was given a second one, or what it has behind the last one is not known
	children = parent | fork
)

func (r *record) slot() uint32 { return r.what & slotMask }

func (r *record) len() uint32 { return r.what & lenMask >> lenShift }

func (r *record) setLen(n uint32) { r.what = r.what&^lenMask | n<<lenShift }

// lru is the recency list of one slot.
type lru struct {
	_ [0]func() // not comparable, for the size of the module

	head, tail uint32 // most and least recently used record; 0 if empty
	size, cap  uint32 // blocks
	forked     bool   // it is not known of any record what the slot has behind it
}

// Index is an approximate prefix index. The zero value is not usable; see New.
type Index struct {
	words  int // words of a bitset
	max    int // bound of blocks over all slots
	runs   []run
	bits   []uint64 // empty with one word
	recs   []record
	table  table
	shared table
	lists  []lru

	freeRun, freeRec uint32
	usedRun, usedRec int // used or once used, run 0 and record 0 included
	records          int // blocks held, over all slots
	evicted          uint64

	memo   []uint32 // runs of the chain last matched
	memoAt int      // index in the chain at which the last of these begins
	alive  []uint64 // scratch of Match
	live   []int32  // scratch of Match: words of alive that are not zero
	path   []place  // scratch of Record
}

// New returns an empty index of at most maxRecords (endpoint, block) records. It allocates nothing big.
func New(maxRecords int) *Index {
	return &Index{
		words: 1, max: max(maxRecords, 0),
		runs: make([]run, 1), recs: make([]record, 1),
		usedRun: 1, usedRec: 1,
		alive: make([]uint64, 1), live: make([]int32, 1),
		table: emptyTable(), shared: emptyTable(),
	}
}

// Slots returns the number of slots made known by SetCapacities.
func (x *Index) Slots() int { return len(x.lists) }

// Len returns the number of (endpoint, block) records held.
func (x *Index) Len() int { return x.records }

// Evicted returns the number of records evicted for want of capacity since the index was made.
func (x *Index) Evicted() uint64 { return x.evicted }

// SlotLen returns the number of blocks that slot holds.
func (x *Index) SlotLen(slot int32) int { return int(x.lists[slot].size) }

// Bytes returns the bytes of memory that the index has allocated.
func (x *Index) Bytes() int {
	return (8*partKeys+24)*cap(x.runs) + 8*cap(x.bits) + 16*cap(x.recs) + x.table.bytes() + x.shared.bytes() +
		24*cap(x.lists) + 4*(cap(x.memo)+cap(x.live)) + 16*cap(x.path) + 8*cap(x.alive)
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
	clear(x.runs) // a run of the memo must not look alive
	clear(x.bits)
	x.freeRun, x.freeRec, x.usedRun, x.usedRec, x.records = 0, 0, 1, 1, 0
	for i := range x.lists {
		x.lists[i] = lru{cap: x.lists[i].cap}
	}
}

// bitset returns the holders of run e.
func (x *Index) bitset(e uint32) []uint64 {
	if x.words == 1 {
		return x.runs[e].bits[:]
	}
	return x.bits[int(e)*x.words : int(e+1)*x.words]
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
	if words != x.words {
		x.grow(len(x.runs), words)
		x.alive, x.live = make([]uint64, words), make([]int32, words)
	}
}
