// Package sessiontable remembers which endpoint a session is bound to, for a bounded number of sessions. Sessions are known by
// a hash, endpoints by slot and generation. It holds no pointers, assumes a single thread, and takes memory as it fills.
package sessiontable

import "math"

const (
	firstPlaces = 64
	// maxProbe is how far from its home a session may be. In a table that is at most half full, sessions whose hashes nobody
	// chose stay far below; hashes that somebody did choose cannot make a look-up slow.
	maxProbe = 64
	// sampled is how many sessions are compared to find an old one, and searched among how many places, of which at least
	// every fourth is taken then.
	sampled  = 8
	searched = 256

	placeBytes = 24
)

// Binding says where a session is bound.
type Binding struct {
	Slot int32
	Gen  uint32 // generation of the slot at that time
	Used uint64 // time of the last use
}

// place holds one session. Hash 0 marks a free place.
type place struct {
	hash uint64
	used uint64
	slot int32
	gen  uint32
}

// Table is the memory of sessions: open addressing over a power of two of places, at most half of them taken. The zero value
// holds nothing; see New.
type Table struct {
	places   []place
	limit    int // most sessions
	count    int
	cursor   int // where Expire goes on
	replaced uint64
}

// New returns an empty table for at most limit sessions. It allocates nothing yet; a full table has 48 to 96 bytes for each
// session.
func New(limit int) Table { return Table{limit: max(limit, 1)} }

// Len returns the number of sessions.
func (t *Table) Len() int { return t.count }

// Replaced returns how many sessions have given way to others.
func (t *Table) Replaced() uint64 { return t.replaced }

// Bytes returns the memory that the table has allocated.
func (t *Table) Bytes() int { return placeBytes * cap(t.places) }

// Get returns the binding of a session. 0 is a hash as any other.
func (t *Table) Get(hash uint64) (Binding, bool) {
	hash = stored(hash)
	if i := t.find(hash); i >= 0 && t.places[i].hash == hash {
		p := &t.places[i]
		return Binding{p.slot, p.gen, p.used}, true
	}
	return Binding{}, false
}

// Places returns the number of places for sessions, taken or not, that Place can be asked for.
func (t *Table) Places() int { return len(t.places) }

// Place returns the session in place i and its binding; false if the place is free.
func (t *Table) Place(i int) (hash uint64, b Binding, ok bool) {
	p := &t.places[i]
	return p.hash, Binding{p.slot, p.gen, p.used}, p.hash != 0
}

// Put binds a session. If there is no room, the one of a few others that has not been used for longest is forgotten.
func (t *Table) Put(hash uint64, b Binding) {
	if 2*(t.count+1) > len(t.places) && t.count < t.limit {
		t.grow()
	}
	p := place{hash: stored(hash), used: b.Used, slot: b.Slot, gen: b.Gen}
	i := t.find(p.hash)
	switch {
	case i >= 0 && t.places[i].hash == p.hash:
		t.places[i] = p
	case i >= 0 && t.count < t.limit:
		t.places[i] = p
		t.count++
	default:
		t.replaced++
		t.replace(i < 0, p)
	}
}

// replace puts p in the stead of another session. full says that all places that it could have are taken.
func (t *Table) replace(full bool, p place) {
	switch old := t.oldest(p.hash); {
	case old < 0: // only hashes that somebody chose leave so many places free; p is what is forgotten
	case full:
		t.places[old] = p
	default:
		t.remove(old)
		t.places[t.find(p.hash)] = p // a removal never makes the way to a free place longer
		t.count++
	}
}

// Expire forgets the sessions that have not been used for more than idle, in this share of the table. It goes on where the
// call before ended.
func (t *Table) Expire(now, idle uint64, share float64) {
	mask := len(t.places) - 1
	for range int(math.Ceil(min(share, 1) * float64(len(t.places)))) {
		t.cursor &= mask
		p := &t.places[t.cursor]
		for p.hash != 0 && now > p.used && now-p.used > idle {
			t.remove(t.cursor) // which may move another one here
		}
		t.cursor++
	}
}

// Adopt takes over the sessions of old, which must not be used afterwards. If they are more than the limit, some of those that
// have not been used for longer are forgotten.
func (t *Table) Adopt(old *Table) {
	if old.limit == t.limit {
		*t = *old
		return
	}
	t.places, t.count, t.replaced = nil, 0, old.replaced
	for _, p := range old.places {
		if p.hash != 0 {
			t.Put(p.hash, Binding{p.slot, p.gen, p.used})
		}
	}
}

// stored returns the hash that stands for hash in the table.
func stored(hash uint64) uint64 {
	if hash == 0 {
		return 1
	}
	return hash
}

// home returns the place at which the search for a hash begins.
func (t *Table) home(hash uint64) int { return int(hash & uint64(len(t.places)-1)) }

// find returns the place of a session, or else the free one that it would get; -1 if there is neither.
func (t *Table) find(hash uint64) int {
	mask := len(t.places) - 1
	i := t.home(hash)
	for range min(maxProbe, len(t.places)) {
		if h := t.places[i].hash; h == hash || h == 0 {
			return i
		}
		i = (i + 1) & mask
	}
	return -1
}

// oldest returns the place of the session that was not used for longest, among the first few from the home of hash on; -1 if
// there is none nearby. If all places that hash could have are taken, it is one of them.
func (t *Table) oldest(hash uint64) int {
	mask := len(t.places) - 1
	best, seen := -1, 0
	i := t.home(hash)
	for range min(searched, len(t.places)) {
		if p := &t.places[i]; p.hash != 0 {
			if best < 0 || p.used < t.places[best].used {
				best = i
			}
			if seen++; seen == sampled {
				break
			}
		}
		i = (i + 1) & mask
	}
	return best
}

// remove frees place i and moves up what was put behind it for want of that place.
func (t *Table) remove(i int) {
	mask := len(t.places) - 1
	for j := (i + 1) & mask; t.places[j].hash != 0; j = (j + 1) & mask {
		if (j-t.home(t.places[j].hash))&mask >= (j-i)&mask {
			t.places[i] = t.places[j]
			i = j
		}
	}
	t.places[i] = place{}
	t.count--
}

// grow doubles the places.
func (t *Table) grow() {
	old := t.places
	t.places = make([]place, max(firstPlaces, 2*len(old)))
	t.count = 0
	for _, p := range old {
		if p.hash == 0 {
			continue
		}
		if i := t.find(p.hash); i >= 0 {
			t.places[i] = p
			t.count++
		} else {
			t.replaced++
		}
	}
}
