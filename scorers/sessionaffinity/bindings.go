package sessionaffinity

import (
	"slices"

	"github.com/cespare/xxhash/v2"

	"github.com/zerohop/zerohop/scorers"
	"github.com/zerohop/zerohop/scorers/sessiontable"
)

// Bindings remember which endpoint each session was sent to. The id of a session is hashed and never kept.
type Bindings struct {
	sources []source
	profile profile
	idle    uint64 // ns
	period  uint64 // ns in which Sweep looks at every session

	table sessiontable.Table
	gen   []uint32 // by slot: generation of the endpoint that a session was bound to; 0 after that has gone
	swept uint64   // when Sweep was last called

	last lookup
	out  scorers.Event // what the last pick changed; Key 0 for nothing
}

// lookup is what Choose found for the cycle in progress.
type lookup struct {
	_ [0]func() // not comparable, for the size of the module

	hash   uint64 // of the session; 0 if there is none
	at     uint64 // time of the cycle
	absent bool   // the session is bound, and not to one of the candidates
}

// NewBindings returns what the parameters ask for.
func NewBindings(u *scorers.Setup) (*Bindings, error) {
	sources, err := sourcesOf(u)
	return &Bindings{
		sources: sources, profile: profileOf(u), idle: seconds(u, paramIdle, defaultIdle), period: seconds(u, paramSweep, defaultSweep),
		table: sessiontable.New(u.MaxSessions),
	}, err
}

// Choose returns the index of the session's endpoint in cand; -1 if the request has no session, or one that is not bound to a
// candidate.
func (b *Bindings) Choose(c *scorers.Cycle, cand []int32) int {
	hash := b.session(c)
	i, bound := -1, false
	if hash != 0 {
		var at sessiontable.Binding
		if at, bound = b.table.Get(hash); bound && b.valid(at) {
			i = slices.Index(cand, at.Slot)
		}
	}
	if !c.Dry {
		b.last = lookup{hash: hash, at: c.Now, absent: bound && i < 0}
	}
	return i
}

// session returns the hash of the request's session, which is 0 if the request has none.
func (b *Bindings) session(c *scorers.Cycle) uint64 {
	for i := range b.sources {
		if id := b.sources[i].id(c); len(id) > 0 {
			return max(xxhash.Sum64(id), 1)
		}
	}
	return 0
}

// valid reports whether the endpoint of a binding still exists.
func (b *Bindings) valid(at sessiontable.Binding) bool {
	return int(at.Slot) < len(b.gen) && b.gen[at.Slot] == at.Gen
}

// Picked implements scorers.PickWatcher.
func (b *Bindings) Picked(c *scorers.Cycle, slot int32, gen uint32) {
	last := b.last
	b.last, b.out = lookup{}, scorers.Event{}
	if !b.profile.is(c.Profile) {
		return
	}
	hash := b.session(c)
	if hash == 0 {
		return
	}
	b.bind(scorers.Event{Key: hash, At: c.Now, Slot: slot, Gen: gen}, last.absent && last.hash == hash && last.at == c.Now)
}

// bind binds an unbound session, renews a binding that was followed, and moves one whose endpoint could not be had. A session
// that was sent elsewhere although its endpoint was a candidate keeps its binding as it is.
func (b *Bindings) bind(e scorers.Event, rebind bool) {
	if int(e.Slot) >= len(b.gen) {
		return
	}
	at, bound := b.table.Get(e.Key)
	if bound && b.valid(at) && at.Slot != e.Slot && !rebind {
		return
	}
	b.put(e)
	b.out = e
}

func (b *Bindings) put(e scorers.Event) {
	b.gen[e.Slot] = e.Gen
	b.table.Put(e.Key, sessiontable.Binding{Slot: e.Slot, Gen: e.Gen, Used: e.At})
}

// TakeEvent implements scorers.Sharer.
func (b *Bindings) TakeEvent() (scorers.Event, bool) {
	e := b.out
	b.out = scorers.Event{}
	return e, e.Key != 0
}

// Apply implements scorers.Sharer. Of what several workers did with a session the newest counts, so that they come to agree.
func (b *Bindings) Apply(e scorers.Event) {
	if int(e.Slot) >= len(b.gen) {
		return
	}
	if at, bound := b.table.Get(e.Key); !bound || !b.valid(at) || e.At > at.Used {
		b.put(e)
	}
}

// Events implements scorers.Sharer.
func (b *Bindings) Events() int { return b.table.Places() }

// Event implements scorers.Sharer.
func (b *Bindings) Event(i int) (scorers.Event, bool) {
	hash, at, ok := b.table.Place(i)
	return scorers.Event{Key: hash, At: at.Used, Slot: at.Slot, Gen: at.Gen}, ok && b.valid(at)
}

// Grow implements scorers.SlotWatcher.
func (b *Bindings) Grow(slots int) {
	for len(b.gen) < slots {
		b.gen = append(b.gen, 0)
	}
}

// Facts implements scorers.SlotWatcher.
func (b *Bindings) Facts(int32, *scorers.Facts) {}

// Forget implements scorers.SlotWatcher. What was bound to the slot is not any more.
func (b *Bindings) Forget(slot int32) {
	if int(slot) < len(b.gen) {
		b.gen[slot] = 0
	}
}

// Adopt implements scorers.Keeper. An old instance with the other strategy has nothing to take over.
func (b *Bindings) Adopt(old any) {
	if o, ok := old.(interface{ bindings() *Bindings }); ok {
		from := o.bindings()
		b.table.Adopt(&from.table)
		b.gen, b.swept = slices.Clone(from.gen), from.swept
	}
}

// bindings is what Adopt finds in a plugin that embeds Bindings.
func (b *Bindings) bindings() *Bindings { return b }

// Sweep implements scorers.Sweeper.
func (b *Bindings) Sweep(now uint64) {
	if now <= b.swept {
		return
	}
	b.table.Expire(now, b.idle, float64(now-b.swept)/float64(b.period))
	b.swept = now
}

// Sessions returns the number of sessions that are bound, and how many have given way to others for want of room.
func (b *Bindings) Sessions() (bound int, replaced uint64) { return b.table.Len(), b.table.Replaced() }

// Bytes returns the memory that the bindings have allocated.
func (b *Bindings) Bytes() int { return b.table.Bytes() + 4*cap(b.gen) }
