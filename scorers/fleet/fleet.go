// Package fleet is the endpoint table of one worker: which endpoints exist, what was scraped from them, what this worker and
// its peers have sent them and not seen finished, and whether they answer. A slot keeps its endpoint for as long as that exists; the
// generation of a slot tells a later reader that the slot was given to another endpoint meanwhile, so that load is never
// released twice or from the wrong endpoint. What plugins read is structure of arrays, indexed by slot; what the table alone
// reads of a slot in every request stands together, for the sake of cold caches. The package assumes a single thread, and all
// times are monotonic nanoseconds that the caller passes in.
package fleet

import (
	"github.com/zerohop/zerohop/scorers"
	"github.com/zerohop/zerohop/shared/snapshot"
)

// What a request of our own counts in Waiting, in waiting requests.
const (
	// PickShare counts for a request without a first byte that the newest scrape has not seen. A continuous-batching engine
	// starts most requests at once, so that a pick is a fraction of a waiting request; but without any share a burst
	// between two scrapes would go to one endpoint. On the conversation trace 1/8 to 1/2 give the same first-token times,
	// 28 % below those with no share, and from 1 on prefix hits are lost.
	PickShare = 1.0 / 4
	// AnsweredShare counts for a request whose answer has begun: it makes the engine's steps a little longer. It is small
	// enough to decide between endpoints that are otherwise equal only, which keeps cold requests evenly spread.
	AnsweredShare = 1.0 / 64
)

// Table holds the endpoints. The zero value is not usable; see New. What each request reads comes first.
type Table struct {
	live      []int32 // slots in use
	places    []place // by slot
	ring      []pick  // newest picks, by serial number modulo its length
	expires   uint64  // when the first fresh number becomes stale
	assumedAt uint64  // when assumed would have been scraped
	serial    uint32
	plain     bool // Waiting is what was scraped alone
	impaired  int  // slots that drain or have failed
	view      scorers.Endpoints
	share     share

	limit   int     // most endpoints
	stale   uint64  // ns after which scraped numbers are not believed
	slow    uint64  // ns after which a first byte is late
	assumed float64 // waiting requests of an endpoint that is not fresh

	byID    map[uint64]int32
	free    []int32   // slots not in use, last given first
	order   []int32   // slot of endpoint i of the last snapshot, -1 if it was over the limit
	scraped []float64 // waiting requests as scraped
	seq     []uint32
	tally   []Tally
	text    []text
	arena   []byte // names and addresses

	known     known
	scratch   snapshot.Endpoint // during an Apply only
	from      snapshot.View     // during an Apply only
	facts     Facts             // during an Apply only
	removed   []int32
	changed   []int32
	overflow  int
	coolDowns uint64
}

// place is what requests change of a slot, and what tells whether it takes any.
type place struct {
	_ [0]func() // not comparable, for the size of the module

	id      uint64 // as the view has it; 0 for a free slot
	gen     uint32
	sent    int32 // requests in flight of this worker, which the view has together with those of peers
	booked  int64 // tokens of these
	pending int32 // those of them that have no first byte
	since   int32 // those of these in the ring that the newest scrape has not seen; see seenAt

	peerPending int32 // requests of peers that have no first byte
	peerSince   int32 // those of them that the newest scrape has not seen

	draining bool
	health   health
}

// text says where a slot's name and address, in this order, stand in the arena.
type text struct{ off, name, address uint32 }

// Tally counts what became of requests at an endpoint, since it has had its slot.
type Tally struct {
	Picks     uint64 // requests for which it was picked
	Fallbacks uint64 // picks for another reason than a score
	Failures  uint64 // attempts that it did not answer, or answered with 500 or above
}

// New returns an empty table of at most limit endpoints, whose scraped numbers are believed for staleMs milliseconds.
func New(limit, staleMs int) *Table {
	t := &Table{slow: DefaultSlow, byID: make(map[uint64]int32), ring: make([]pick, ringLen)}
	t.Configure(limit, staleMs)
	return t
}

// Configure changes the bounds. Endpoints above a lower limit stay until a snapshot no longer has them.
func (t *Table) Configure(limit, staleMs int) {
	t.limit, t.stale = limit, uint64(max(staleMs, 0))*1e6
	t.expires = 0
}

// CountOwn says whether requests of our own count in Waiting, as they do from the start.
func (t *Table) CountOwn(on bool) {
	t.plain = !on
	t.expires = 0
}

// View returns the arrays that plugins read. They are valid until the next Apply.
func (t *Table) View() *scorers.Endpoints { return &t.view }

// Slots returns the number of slots, used or free.
func (t *Table) Slots() int { return len(t.places) }

// Live returns the slots in use. The slice is valid until the next Apply.
func (t *Table) Live() []int32 { return t.live }

// Gen returns the generation of slot. It is never 0.
func (t *Table) Gen(slot int32) uint32 { return t.places[slot].gen }

// Valid reports whether slot still holds the endpoint that it held at generation gen.
func (t *Table) Valid(slot int32, gen uint32) bool {
	return slot >= 0 && int(slot) < len(t.places) && t.places[slot].gen == gen && t.places[slot].id != 0
}

// Name returns namespace/name of slot. The slice is valid until the next Apply.
func (t *Table) Name(slot int32) []byte {
	x := t.text[slot]
	return t.arena[x.off : x.off+x.name]
}

// Address returns ip:port of slot. The slice is valid until the next Apply.
func (t *Table) Address(slot int32) []byte {
	x := t.text[slot]
	return t.arena[x.off+x.name : x.off+x.name+x.address]
}

// BlockSize returns the KV block size in tokens that slot reports, and NumBlocks the number of such blocks; 0 if unknown.
func (t *Table) BlockSize(slot int32) int { return int(t.view.BlockSize[slot]) }

// NumBlocks returns the number of KV blocks that slot reports; 0 if unknown.
func (t *Table) NumBlocks(slot int32) int { return int(t.view.NumBlocks[slot]) }

// Tally returns what was counted at slot.
func (t *Table) Tally(slot int32) Tally { return t.tally[slot] }

// Picked counts a pick of slot. fallback says that it had another reason than a score.
func (t *Table) Picked(slot int32, fallback bool) {
	t.tally[slot].Picks++
	if fallback {
		t.tally[slot].Fallbacks++
	}
}

// CoolingDown reports whether slot gets no request at now because it failed.
func (t *Table) CoolingDown(now uint64, slot int32) bool { return t.cooling(now, slot) }

// Overflow returns the number of endpoints of the last snapshot that were ignored for the limit.
func (t *Table) Overflow() int { return t.overflow }

// CoolDowns returns how often an endpoint was cooled down.
func (t *Table) CoolDowns() uint64 { return t.coolDowns }

// Bytes returns the bytes of memory that the table has allocated, without the map of ids.
func (t *Table) Bytes() int {
	const perSlot = 8*10 + 4*5 + 1*2 + // view
		96 + 8 + 4 + 24 + 12 + 4*5
	return perSlot*cap(t.places) + cap(t.arena) + 24*len(t.ring) + t.known.bytes() + optionalBytes(&t.view) + t.share.bytes()
}

// grow adds n free slots.
func (t *Table) grow(n int) {
	v := &t.view
	old := len(t.places)
	extend(&v.ID, old+n)
	extend(&v.Waiting, old+n)
	extend(&v.Running, old+n)
	extend(&v.KVUsage, old+n)
	extend(&v.Fresh, old+n)
	extend(&v.InFlight, old+n)
	extend(&v.InFlightTokens, old+n)
	extend(&v.NameHash, old+n)
	extend(&v.Queue, old+n)
	extend(&v.Scraped, old+n)
	extend(&v.ScrapedAt, old+n)
	extend(&v.Rank, old+n)
	extend(&v.BlockSize, old+n)
	extend(&v.NumBlocks, old+n)
	extend(&t.places, old+n)
	extend(&t.scraped, old+n)
	extend(&t.seq, old+n)
	t.growShare(old + n)
	extend(&t.tally, old+n)
	extend(&t.text, old+n)
	t.growFacts(old + n)
	for s := old + n - 1; s >= old; s-- {
		t.places[s].gen = 1
		t.free = append(t.free, int32(s))
	}
}

// clearSlot resets everything but the generation, which it advances.
func (t *Table) clearSlot(s int32) {
	v := &t.view
	v.ID[s], v.Waiting[s], v.Running[s], v.KVUsage[s], v.Fresh[s] = 0, 0, 0, 0, false
	v.InFlight[s], v.InFlightTokens[s] = 0, 0
	t.places[s] = place{gen: max(t.places[s].gen+1, 1)}
	v.Queue[s], v.Scraped[s], v.ScrapedAt[s] = 0, false, 0
	v.BlockSize[s], v.NumBlocks[s] = 0, 0
	t.scraped[s], t.seq[s] = 0, 0
	t.clearShare(s)
	t.tally[s], t.text[s] = Tally{}, text{}
	t.clearFacts(s)
}

var _ source = (*snapshot.View)(nil)
