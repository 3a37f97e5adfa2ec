package fleet

import (
	"slices"

	"github.com/cespare/xxhash/v2"

	"github.com/zerohop/zerohop/shared/plan"
	"github.com/zerohop/zerohop/shared/snapshot"
)

// source is a list of endpoints: a snapshot, or the endpoints of a plan.
type source interface {
	Len() int
	Endpoint(i int, e *snapshot.Endpoint)
}

// Change says what an Apply did.
type Change struct {
	Removed  []int32 // slots whose endpoints are gone; valid until the next Apply
	Facts    []int32 // slots with a new endpoint, or with other facts than before; valid until the next Apply
	Capacity bool    // endpoints came or went, or report other block sizes or numbers
}

// Apply takes over a snapshot that was received at recvAt, and the facts that it carries, or nil. Both are read during the
// call only.
func (t *Table) Apply(v snapshot.View, f Facts, recvAt, now uint64) Change {
	t.facts = f
	t.from = v // a copy in an interface would be allocated
	return apply(t, &t.from, recvAt, now)
}

// ApplyPlan takes over the endpoints of a plan, which have no metrics.
func (t *Table) ApplyPlan(eps []plan.Endpoint, now uint64) Change {
	t.facts, t.known.read = factsOf(eps), false
	return apply(t, static(eps), now, now)
}

// apply makes the table agree with src: known endpoints are updated, missing ones removed, and then new ones added, so
// that a full table has room for them.
func apply(t *Table, src source, recvAt, now uint64) Change {
	c := Change{Removed: t.removed[:0]}
	n := src.Len()
	for len(t.order) < n {
		t.order = append(t.order, -1)
	}
	t.order = t.order[:n]
	e := &t.scratch
	known := 0
	for i := range n {
		src.Endpoint(i, e)
		if t.locate(i, e.ID) {
			known++
			c.Capacity = t.update(t.order[i], e, recvAt) || c.Capacity
		}
	}
	if known < len(t.live) {
		c.Removed = t.removeOthers(c.Removed)
	}
	t.removed = c.Removed
	t.overflow = 0
	if known < n {
		c.Capacity = add(t, src, recvAt) || c.Capacity
	}
	fresh := known < n || len(c.Removed) > 0
	if fresh {
		c.Capacity = true
		rewrite(t, src)
		t.remap()
	}
	c.Facts = t.takeFacts(t.facts, fresh, t.changed[:0])
	t.changed, t.facts = c.Facts, nil
	t.scratch, t.from = snapshot.Endpoint{}, snapshot.View{}
	t.expires = 0 // Waiting is to be computed anew
	t.Refresh(now)
	return c
}

// locate finds the slot of endpoint i, for which the order of the last snapshot is a good guess.
func (t *Table) locate(i int, id uint64) bool {
	if s := t.order[i]; s >= 0 && t.view.ID[s] == id {
		return true
	}
	s, ok := t.byID[id]
	if !ok {
		s = -1
	}
	t.order[i] = s
	return ok
}

// removeOthers removes the endpoints whose slots are not in order.
func (t *Table) removeOthers(removed []int32) []int32 {
	keep := make([]bool, len(t.places)) // membership changes are rare
	for _, s := range t.order {
		if s >= 0 {
			keep[s] = true
		}
	}
	t.live = slices.DeleteFunc(t.live, func(s int32) bool {
		if keep[s] {
			return false
		}
		if t.impairedSlot(s) {
			t.impaired--
		}
		delete(t.byID, t.view.ID[s])
		t.clearSlot(s)
		t.free = append(t.free, s)
		removed = append(removed, s)
		return true
	})
	return removed
}

// add gives slots to the endpoints that have none, up to the limit. It reports whether there were any.
func add(t *Table, src source, recvAt uint64) bool {
	e := &t.scratch
	added := false
	for i, s := range t.order {
		if s >= 0 {
			continue
		}
		src.Endpoint(i, e)
		if s, ok := t.byID[e.ID]; ok { // a plan that lists an endpoint twice
			t.order[i] = s
			continue
		}
		if len(t.live) >= t.limit {
			t.overflow++
			continue
		}
		if len(t.free) == 0 {
			t.grow(min(max(8, len(t.places)), t.limit-len(t.live)))
		}
		s = t.free[len(t.free)-1]
		t.free = t.free[:len(t.free)-1]
		t.order[i] = s
		t.view.ID[s], t.places[s].id = e.ID, e.ID
		t.view.NameHash[s] = xxhash.Sum64(e.Name)
		t.byID[e.ID] = s
		t.live = append(t.live, s)
		t.update(s, e, recvAt)
		added = true
	}
	return added
}

// update takes over flags and metrics of one endpoint. It reports whether what determines its capacity changed.
func (t *Table) update(s int32, e *snapshot.Endpoint, recvAt uint64) bool {
	was := t.impairedSlot(s)
	t.places[s].draining = e.Flags&snapshot.Draining != 0
	if is := t.impairedSlot(s); is != was {
		if is {
			t.impaired++
		} else {
			t.impaired--
		}
	}
	if e.ScrapeAgeMs == snapshot.NeverScraped {
		return false // a restarted agent: what was known of the endpoint still holds
	}
	v := &t.view
	changed := v.BlockSize[s] != e.BlockSize || v.NumBlocks[s] != e.NumBlocks
	v.BlockSize[s], v.NumBlocks[s] = e.BlockSize, e.NumBlocks
	t.scraped[s] = float64(e.Waiting)
	v.Running[s] = float64(e.Running)
	v.KVUsage[s] = float64(e.KVUsage)
	// The same scrape in a later snapshot keeps its time, which the age in milliseconds only approximates.
	if !v.Scraped[s] || t.seq[s] != e.ScrapeSeq {
		age := uint64(e.ScrapeAgeMs) * 1e6
		v.ScrapedAt[s] = recvAt - min(age, recvAt)
	}
	v.Scraped[s], t.seq[s] = true, e.ScrapeSeq
	return changed
}

// rewrite copies names and addresses of all endpoints into the arena.
func rewrite(t *Table, src source) {
	e := &t.scratch
	t.arena = t.arena[:0]
	for i, s := range t.order {
		if s < 0 {
			continue
		}
		src.Endpoint(i, e)
		t.text[s] = text{uint32(len(t.arena)), uint32(len(e.Name)), uint32(len(e.Address))}
		t.arena = append(append(t.arena, e.Name...), e.Address...)
	}
}

// Refresh notices numbers that have become stale. It is cheap unless some have.
func (t *Table) Refresh(now uint64) {
	if now >= t.expires {
		t.refresh(now)
	}
}

// refresh finds which numbers are stale, and computes anew what depends on that.
func (t *Table) refresh(now uint64) {
	t.expires = ^uint64(0)
	for _, s := range t.live {
		until := t.view.ScrapedAt[s] + t.stale
		t.view.Fresh[s] = t.view.Scraped[s] && now < until
		if t.view.Fresh[s] {
			t.expires = min(t.expires, until)
		}
	}
	t.assume(now)
	t.recount()
	t.recountPeers()
	for _, s := range t.live {
		t.view.Queue[s] = t.believed(s)
		t.book(s, 0, 0, 0, 0)
	}
}
