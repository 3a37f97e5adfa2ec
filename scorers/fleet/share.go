package fleet

import (
	"bytes"

	"github.com/zerohop/zerohop/shared/loads"
)

// maxCount is the most requests of a peer at one endpoint that are believed. It keeps the sums of all peers in range.
const maxCount = 1 << 24

// share is what a table has for and from its peers, the other workers. The view has the sums of all.
type share struct {
	on      bool
	layout  uint64 // grows whenever a slot is given to another endpoint
	vector  []byte // what this worker has in flight, as shared/loads has it; kept up to date slot by slot
	changed bool   // since the vector was last asked for

	peers []peer // by number; what they have at a slot stands in its place

	recent [recentIDs]int32 // by the low part of an id, which is a hash: the slot at which an id with that part was found last

	heard       []uint64 // by slot: time of the newest change of its health that is known of
	transitions []int32  // slots whose health this worker changed; see TakeTransitions
}

// peer is what another worker has in flight. The zero value is that of no worker.
type peer struct {
	epoch, layout uint64  // of its vector
	at            uint64  // when that was written
	stride        int     // length of its entries
	raw           []byte  // its entries, as written
	slots         []int32 // own slot of each; -1 if the endpoint is not known
	seen          []bool  // of each: the newest scrape has seen the picks that the entry says it has not
}

// recentIDs is how many slots are remembered to find those of most records without a look into the map; a power of two.
const recentIDs = 64

// fewEntries is how many entries are compared at once. Most entries of a vector are what they were.
const fewEntries = 16

// Share says whether there are peers, as there are not from the start. Without peers nothing of them counts.
func (t *Table) Share(on bool) {
	x := &t.share
	if x.on == on {
		return
	}
	x.on = on
	if !on {
		for n := range x.peers {
			t.Leave(n)
		}
		x.vector, x.peers, x.transitions = nil, nil, nil
		return
	}
	t.growShare(len(t.places))
	x.layout++
	for _, s := range t.live {
		t.book(s, 0, 0, 0, 0)
	}
}

// Vector returns what this worker has in flight, with the given header, whose layout is filled in, and digest. It is valid until
// the next call that changes something.
func (t *Table) Vector(h *loads.Header, d *loads.Digest) []byte {
	x := &t.share
	h.Layout = x.layout
	x.changed = false
	return loads.Seal(x.vector, h, d)
}

// VectorChanged reports whether the entries of the vector may have changed since Vector was called.
func (t *Table) VectorChanged() bool { return t.share.changed }

// Slot returns the slot of the endpoint with this id; false if it is not known.
func (t *Table) Slot(id uint64) (int32, bool) {
	recent := &t.share.recent[id%recentIDs]
	// Free slots have id 0. What is remembered may be of an endpoint that is gone: the id in the slot decides.
	if s := *recent; int(s) < len(t.view.ID) && t.view.ID[s] == id && id != 0 {
		return s, true
	}
	s, ok := t.byID[id]
	*recent = s
	return s, ok
}

// Own returns the requests in flight of this worker at slot, and the tokens that they are booked with.
func (t *Table) Own(slot int32) (requests int32, tokens int64) {
	return t.places[slot].sent, t.places[slot].booked
}

// Merge makes the vector of peer n count instead of the one before. n is small. The view is read during the call only.
func (t *Table) Merge(n int, v *loads.View) {
	x := &t.share
	if !x.on {
		return
	}
	extend(&x.peers, n+1)
	p := &x.peers[n]
	if p.epoch != v.Epoch || p.layout != v.Layout || len(p.slots) != v.Len() || p.stride != v.Stride() {
		t.Leave(n)
		t.meet(p, v)
	}
	p.at = v.At
	for i := 0; i < len(p.slots); i += fewEntries {
		k := min(fewEntries, len(p.slots)-i)
		if was, is := p.raw[i*p.stride:(i+k)*p.stride], v.Bytes(i, k); !bytes.Equal(was, is) {
			t.mergeFew(p, i, was, is)
		}
	}
}

// mergeFew makes the entries is count instead of was, which stand in p from entry first on. Of a busy peer most have changed.
func (t *Table) mergeFew(p *peer, first int, was, is []byte) {
	var old, e loads.Entry
	for i := first; len(is) > 0; i++ {
		a, b := was[:p.stride], is[:p.stride]
		was, is = was[p.stride:], is[p.stride:]
		loads.Decode(a, &old)
		if loads.Decode(b, &e); old == e {
			continue
		}
		copy(a, b)
		s := p.slots[i]
		if s < 0 {
			p.seen[i] = false
			continue
		}
		believe(&old, p.seen[i])
		seen := p.at <= t.seenAt(s)
		believe(&e, seen)
		p.seen[i] = seen
		t.count(s, &old, &e)
	}
}

// believe makes the numbers of an entry ones that cannot contradict each other.
func believe(e *loads.Entry, seen bool) {
	e.InFlight = min(e.InFlight, maxCount)
	e.Pending = min(e.Pending, e.InFlight)
	e.Since = min(e.Since, e.Pending)
	if seen {
		e.Since = 0
	}
}

// entry fills e with entry i as it counts, with numbers that cannot contradict each other.
//
//go:noinline
func (p *peer) entry(i int, e *loads.Entry) {
	loads.Decode(p.raw[i*p.stride:], e)
	believe(e, p.seen[i])
}

// meet makes room for the entries of a peer that has none, all of them zero, and finds their slots.
func (t *Table) meet(p *peer, v *loads.View) {
	p.epoch, p.layout, p.stride = v.Epoch, v.Layout, v.Stride()
	extend(&p.slots, v.Len())
	extend(&p.seen, v.Len())
	for i := range p.slots {
		p.slots[i] = t.slotOf(v.ID(i))
	}
	p.raw = append(p.raw, v.Bytes(0, v.Len())...)
	clear(p.raw)
}

// slotOf is Slot with -1 for an id that is not known. It, count and entry are not copied into their callers, for the size of the
// module.
//
//go:noinline
func (t *Table) slotOf(id uint64) int32 {
	if s, ok := t.byID[id]; ok {
		return s
	}
	return -1
}

// count makes e count instead of old at slot s.
//
//go:noinline
func (t *Table) count(s int32, old, e *loads.Entry) {
	p := &t.places[s]
	t.view.InFlight[s] += int32(e.InFlight) - int32(old.InFlight)
	t.view.InFlightTokens[s] += int64(e.Tokens) - int64(old.Tokens)
	p.peerPending += int32(e.Pending) - int32(old.Pending)
	p.peerSince += int32(e.Since) - int32(old.Since)
	t.view.Waiting[s] = t.waiting(p, t.view.Queue[s], t.view.InFlight[s])
}

// Leave says that peer n is gone: nothing that it had in flight counts any more.
func (t *Table) Leave(n int) {
	if n >= len(t.share.peers) {
		return
	}
	p := &t.share.peers[n]
	var old, none loads.Entry
	for i, s := range p.slots {
		if s >= 0 {
			p.entry(i, &old)
			t.count(s, &old, &none)
		}
	}
	*p = peer{raw: p.raw[:0], slots: p.slots[:0], seen: p.seen[:0]}
}

// remap counts the peers anew after endpoints came or went. Waiting is for the caller to compute.
func (t *Table) remap() {
	x := &t.share
	x.layout++
	if len(x.peers) == 0 {
		return
	}
	for s := range t.places {
		t.places[s].peerPending, t.places[s].peerSince = 0, 0
	}
	for _, s := range t.live {
		t.view.InFlight[s], t.view.InFlightTokens[s] = t.places[s].sent, t.places[s].booked
	}
	var none, e loads.Entry
	for n := range x.peers {
		p := &x.peers[n]
		for i := range p.slots {
			p.entry(i, &e)
			if p.slots[i] = t.slotOf(e.ID); p.slots[i] >= 0 {
				t.count(p.slots[i], &none, &e)
			}
		}
	}
}

// recountPeers drops the picks of peers that the newest scrapes have seen. They do not come back with a later vector that says
// the same of them.
func (t *Table) recountPeers() {
	x := &t.share
	var e loads.Entry
	for n := range x.peers {
		p := &x.peers[n]
		for i, s := range p.slots {
			if s >= 0 && !p.seen[i] && p.at <= t.seenAt(s) {
				p.entry(i, &e)
				t.places[s].peerSince -= int32(e.Since)
				p.seen[i] = true
			}
		}
	}
}

// HeardAt returns the time of the newest change of the health of slot that is known of.
func (t *Table) HeardAt(slot int32) uint64 { return t.share.heard[slot] }

// growShare makes room for n slots.
func (t *Table) growShare(n int) {
	x := &t.share
	extend(&x.heard, n)
	if x.on {
		x.vector = loads.Resize(x.vector, n)
	}
}

// clearShare forgets what peers have at slot s, whose endpoint is gone; remap follows.
func (t *Table) clearShare(s int32) {
	x := &t.share
	t.places[s].peerPending, t.places[s].peerSince, x.heard[s] = 0, 0, 0
	if x.on {
		x.changed = true
		loads.SetEntry(x.vector, int(s), &loads.Entry{})
	}
}

// bytes returns the memory that sharing takes.
func (x *share) bytes() int {
	n := cap(x.vector) + 4*cap(x.transitions) + 8*cap(x.heard)
	for i := range x.peers {
		p := &x.peers[i]
		n += cap(p.raw) + 4*cap(p.slots) + cap(p.seen)
	}
	return n
}
