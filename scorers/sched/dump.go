package sched

import (
	"github.com/zerohop/zerohop/scorers"
	"github.com/zerohop/zerohop/scorers/fleet"
	"github.com/zerohop/zerohop/scorers/prefixindex"
	"github.com/zerohop/zerohop/shared/picklog"
)

// dumpSteps bounds how many free places of plugins one chunk skips.
const dumpSteps = 1 << 14

// DumpCursor says where a dump goes on. The zero value is at the beginning.
type DumpCursor struct {
	slot    int32  // next endpoint; past the last one the plugins follow
	gen     uint32 // of it, while it is written in parts
	skipped uint32 // blocks of it that stand in earlier chunks
	last    uint64 // first block of the last run of these
	lastLen int    // number of its blocks
	sharer  int    // next plugin; past the last one the health of endpoints follows
	place   int    // next of its places, or next slot
}

// AppendDump appends to dst one chunk (see shared/picklog) of at most limit bytes of what this scheduler knows, which Restore of
// another understands without the chunks before, and moves c on. After the last endpoint and plugin it begins anew. A chunk
// without sections says that nothing is known, or that the limit leaves no room: a section of prefixindex.MaxRun blocks is the least.
func (s *Scheduler) AppendDump(dst []byte, now uint64, c *DumpCursor, limit int) []byte {
	start := len(dst)
	dst = picklog.AppendChunk(dst, &picklog.ChunkHeader{BlockTokens: uint32(s.blockTokens), Epoch: max(s.share.epoch, 1), At: now})
	end := start + limit
	dst = s.dumpBlocks(dst, c, end)
	if int(c.slot) < s.fleet.Slots() {
		return dst
	}
	dst = s.dumpEvents(dst, c, end)
	if c.sharer < len(s.set.sharers) {
		return dst
	}
	dst = s.dumpHealth(dst, c, end)
	if c.place >= s.fleet.Slots() {
		*c = DumpCursor{}
	}
	return dst
}

// dumpBlocks appends blocks of endpoints until dst has end bytes.
func (s *Scheduler) dumpBlocks(dst []byte, c *DumpCursor, end int) []byte {
	view := s.fleet.View()
	for int(c.slot) < s.fleet.Slots() {
		if c.gen != s.fleet.Gen(c.slot) {
			c.gen, c.skipped = s.fleet.Gen(c.slot), 0
		}
		room := (end - len(dst) - picklog.SectionHeaderLen) / (picklog.BlockLen + 1) // at most one run for each block
		if room < prefixindex.MaxRun {
			break
		}
		x := &s.share
		if view.ID[c.slot] != 0 {
			x.hashes, x.runs = s.index.AppendRuns(x.hashes[:0], x.runs[:0], c.slot, int(c.skipped), c.last, c.lastLen, room)
			if n := len(x.hashes); n > 0 {
				at := len(dst)
				dst = picklog.AppendSection(dst, picklog.SectionBlocks, view.ID[c.slot], c.skipped)
				dst = picklog.AppendBlocks(dst, x.hashes, x.runs)
				picklog.CloseSection(dst, at, n)
				c.lastLen = int(x.runs[len(x.runs)-1])
				c.last = x.hashes[n-c.lastLen]
				if c.skipped += uint32(n); int(c.skipped) < s.index.SlotLen(c.slot) {
					break
				}
			}
		}
		c.slot, c.gen, c.skipped, c.last = c.slot+1, 0, 0, 0
	}
	return dst
}

// dumpEvents appends the state of plugins until dst has end bytes.
func (s *Scheduler) dumpEvents(dst []byte, c *DumpCursor, end int) []byte {
	steps := dumpSteps
	for c.sharer < len(s.set.sharers) && steps > 0 {
		h := &s.set.sharers[c.sharer]
		at := len(dst)
		if end-at < picklog.SectionHeaderLen+picklog.EventLen {
			break
		}
		dst = picklog.AppendSection(dst, picklog.SectionEvents, h.id, 0)
		n := h.Events()
		for ; c.place < n && steps > 0 && end-len(dst) >= picklog.EventLen; c.place++ {
			steps--
			if e, ok := h.Event(c.place); ok && s.fleet.Valid(e.Slot, e.Gen) {
				dst = picklog.AppendStateEvent(dst, picklog.StateEvent{ID: s.fleet.View().ID[e.Slot], Key: e.Key, At: e.At})
			}
		}
		if len(dst) == at+picklog.SectionHeaderLen {
			dst = dst[:at]
		} else {
			picklog.CloseSection(dst, at, (len(dst)-at-picklog.SectionHeaderLen)/picklog.EventLen)
		}
		if c.place < n {
			break
		}
		c.sharer, c.place = c.sharer+1, 0
	}
	return dst
}

// dumpHealth appends the endpoints that have failed until dst has end bytes.
func (s *Scheduler) dumpHealth(dst []byte, c *DumpCursor, end int) []byte {
	at := len(dst)
	if end-at < picklog.SectionHeaderLen+picklog.HealthLen {
		return dst
	}
	dst = picklog.AppendSection(dst, picklog.SectionHealth, 0, 0)
	for ; c.place < s.fleet.Slots() && end-len(dst) >= picklog.HealthLen; c.place++ {
		slot := int32(c.place)
		h := s.fleet.Health(slot)
		if id := s.fleet.View().ID[slot]; id != 0 && h.Level > 0 {
			dst = picklog.AppendStateHealth(dst, &picklog.StateHealth{ID: id, At: s.fleet.HeardAt(slot), Health: picklog.Health(h)})
		}
	}
	if len(dst) == at+picklog.SectionHeaderLen {
		return dst[:at]
	}
	picklog.CloseSection(dst, at, (len(dst)-at-picklog.SectionHeaderLen)/picklog.HealthLen)
	return dst
}

// Restore takes over what a chunk of AppendDump tells of endpoints and plugins that are known here, and returns how many blocks
// it added; false if it is no chunk, or one of another block size. What is known here already counts as more recent. Chunks are
// to be restored in the order in which they were written, and before the records that were logged since are folded. The chunk
// is read during the call only.
func (s *Scheduler) Restore(chunk []byte) (blocks int, ok bool) {
	c, err := picklog.OpenChunk(chunk)
	if err != nil || int(c.BlockTokens) != s.blockTokens {
		return 0, false
	}
	for c.Next() {
		switch c.Kind {
		case picklog.SectionBlocks:
			blocks += s.restoreBlocks(&c)
		case picklog.SectionEvents:
			s.restoreEvents(&c)
		case picklog.SectionHealth:
			s.restoreHealth(&c)
		}
	}
	return blocks, true
}

// restoreBlocks takes over one section of blocks.
func (s *Scheduler) restoreBlocks(c *picklog.Chunk) int {
	slot, ok := s.fleet.Slot(c.ID)
	if !ok {
		return 0
	}
	x, added := &s.share, 0
	for {
		if x.hashes = c.AppendRun(x.hashes[:0]); len(x.hashes) == 0 {
			return added
		}
		added += s.index.Restore(slot, x.hashes)
	}
}

// restoreEvents takes over one section of events.
func (s *Scheduler) restoreEvents(c *picklog.Chunk) {
	for i := range c.Len() {
		e := c.Event(i)
		if slot, ok := s.fleet.Slot(e.ID); ok {
			s.foldEvent(c.ID, scorers.Event{Key: e.Key, At: e.At, Slot: slot, Gen: s.fleet.Gen(slot)})
		}
	}
}

// restoreHealth takes over one section of endpoints that have failed.
func (s *Scheduler) restoreHealth(c *picklog.Chunk) {
	var x picklog.StateHealth
	for i := range c.Len() {
		c.Health(i, &x)
		if slot, ok := s.fleet.Slot(x.ID); ok {
			s.fleet.SetHealth(x.At, slot, fleet.Health(x.Health))
		}
	}
}
