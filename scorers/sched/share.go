package sched

import (
	"math/bits"

	"github.com/cespare/xxhash/v2"

	"github.com/zerohop/zerohop/scorers"
	"github.com/zerohop/zerohop/scorers/fleet"
	"github.com/zerohop/zerohop/shared/loads"
	"github.com/zerohop/zerohop/shared/picklog"
)

// Log is what a scheduler has of its peers: it takes the records of what this worker does, and has theirs, which may wait.
type Log interface {
	// Append takes a record, which is valid during the call only. It reports whether peers are to take over all that were
	// appended, since more than a few wait.
	Append(record []byte) (due bool)
	// Fetch has those records of peers folded that may name the block with this chain hash, and reports whether there were any.
	Fetch(block uint64) bool
}

// digestStride is the distance of the blocks of a chain that the digest has beside the first unknown one.
const digestStride = 16

// sharing is what a scheduler has for its peers, the workers that share their knowledge with it.
type sharing struct {
	log    Log    // nil if there are none
	epoch  uint64 // of this VM
	seq    uint64 // number of the newest record
	fresh  bool   // it grew since the vector was last asked for
	digest loads.Digest
	sample uint64 // a power of two, less one: of so many requests and one more, one is looked at for the universal prefix

	tail   uint64 // last hash of the chain that was looked up last; 0 if it has to be looked up again
	known  int    // leading blocks of it that the index has
	record []byte // scratch
	hashes []uint64
	runs   []byte
}

// FoldResult says what became of a peer's record.
type FoldResult uint8

// The results of Fold.
const (
	Folded         FoldResult = iota // applied, or nothing in it is newer than what is known
	UnknownSubject                   // endpoint, plugin instance or kind that is not known here
	OtherBlockSize                   // chains of another block size, which mean nothing here
	BrokenRecord                     // no record
)

// ShareWith has every pick, change of health and event of a plugin from now on appended to l, one record each, numbered from 1
// in the given epoch, and makes Vector and Merge work. A nil Log ends that: the worker is alone, as it is from the start, and
// nothing of its peers counts. Numbers go on if the epoch is the same again.
func (s *Scheduler) ShareWith(l Log, epoch uint64) {
	x := &s.share
	if x.log = l; l != nil && epoch != x.epoch {
		x.seq, x.epoch = 0, epoch
	}
	x.digest.Reset(x.seq + 1)
	x.sample = 0
	s.fleet.Share(l != nil)
	s.fleet.TakeTransitions()
}

// Vector returns this worker's load vector (see shared/loads) as of now. snapshot is the version of the snapshot in use. It is
// valid until the next call that changes something, and may be called between ShareWith and its end only.
func (s *Scheduler) Vector(now, snapshot uint64) []byte {
	x := &s.share
	x.fresh = false
	h := loads.Header{Epoch: x.epoch, At: now, Head: x.seq, Snapshot: snapshot, Serving: s.Decided()}
	return s.fleet.Vector(&h, &x.digest)
}

// Decided reports whether there was a Decide.
func (s *Scheduler) Decided() bool { return s.decided != 0 }

// VectorChanged reports whether the counts in the vector, or the number of the newest record, may have changed since the last
// call of Vector.
func (s *Scheduler) VectorChanged() bool { return s.fleet.VectorChanged() || s.share.fresh }

// Merge makes the vector of the worker with this number count, instead of the one before. Numbers are small. The view is read
// during the call only.
func (s *Scheduler) Merge(peer int, v *loads.View) { s.fleet.Merge(peer, v) }

// Leave says that the worker with this number is gone: nothing that it had in flight counts any more.
func (s *Scheduler) Leave(peer int) { s.fleet.Leave(peer) }

// SetPeers says how many peers have requests. Each of n workers looks at one n-th of the requests of all, the same ones, for the
// universal prefix, so that this costs as much as looking at all of its own. n is rounded down to a power of two.
func (s *Scheduler) SetPeers(n int) { s.share.sample = 1<<bits.Len(uint(n)+1)>>1 - 1 }

// observe looks at a request for the universal prefix, if it is one of the sample. seq is the number of its record.
func (s *Scheduler) observe(chain []uint64, seq uint64) {
	// Numbers that are left out because events have them must not decide who is in the sample.
	if seq*0x9E3779B97F4A7C15>>32&s.share.sample == 0 {
		s.universal.Observe(chain)
	}
}

// header returns the header of the next record, about the endpoint in slot.
func (s *Scheduler) header(now uint64, slot int32) picklog.Header {
	x := &s.share
	x.seq++
	x.fresh = true
	return picklog.Header{BlockTokens: uint32(s.blockTokens), Epoch: x.epoch, Seq: x.seq, At: now, ID: s.fleet.View().ID[slot]}
}

// logPick tells the peers that the prompts of p were sent to slot.
func (s *Scheduler) logPick(now uint64, p *Prompt, slot int32, flags uint8) {
	x := &s.share
	if x.log == nil || len(p.Starts) > picklog.MaxChains {
		return
	}
	h := s.header(now, slot)
	h.Flags = flags
	x.record = picklog.AppendPick(x.record[:0], &h, p.Starts[1:], p.IDs)
	if x.log.Append(x.record) {
		x.digest.Reset(x.seq + 1)
	}
}

// appendUrgent appends what is in the scratch for records, which peers are to take over before their next decision.
func (x *sharing) appendUrgent() {
	x.log.Append(x.record)
	x.digest.Reset(x.seq + 1)
}

// describe adds a chain to the digest whose record is going to be appended. The index does not have it yet.
func (s *Scheduler) describe(chain []uint64) {
	x := &s.share
	d, known := &x.digest, x.known
	if len(chain) > 0 && chain[len(chain)-1] != x.tail {
		known = s.index.Known(chain)
	}
	if known < len(chain) {
		d.Add(chain[known])
	}
	for i := nextStride(known); i < len(chain); i += digestStride {
		d.Add(chain[i])
	}
}

// fetch has those records of peers folded that may name blocks of chain which the index lacks, and reports whether there were any.
func (s *Scheduler) fetch(chain []uint64) bool {
	x, known := &s.share, s.index.Known(chain)
	if known >= len(chain) {
		x.tail = 0
		return false
	}
	x.tail, x.known = chain[len(chain)-1], known
	found := x.log.Fetch(chain[known])
	if i := nextStride(known); i < len(chain) {
		found = x.log.Fetch(chain[i]) || found
	}
	if found {
		x.tail = 0
	}
	return found
}

// nextStride returns the first index behind i that is a multiple of digestStride.
func nextStride(i int) int { return (i/digestStride + 1) * digestStride }

// logEvents tells the peers what the pick of slot changed in plugins.
func (s *Scheduler) logEvents(now uint64, slot int32) {
	for i := range s.set.sharers {
		h := &s.set.sharers[i]
		e, ok := h.TakeEvent()
		if !ok {
			continue
		}
		s.kept.events = append(s.kept.events, h.id, e.Key)
		s.logEvent(now, slot, h.id, e.Key)
	}
}

// logEvent tells the peers that an event made slot what a plugin has for key.
func (s *Scheduler) logEvent(now uint64, slot int32, instance, key uint64) {
	x := &s.share
	if x.log == nil {
		return
	}
	head := s.header(now, slot)
	x.record = picklog.AppendEvent(x.record[:0], &head, picklog.Event{Instance: instance, Key: key})
	x.appendUrgent()
}

// logHealth tells the peers which endpoints have failed, recovered or are being probed since it was called before.
func (s *Scheduler) logHealth(now uint64) {
	x := &s.share
	if x.log == nil {
		return
	}
	for _, slot := range s.fleet.TakeTransitions() {
		if s.fleet.View().ID[slot] == 0 {
			continue
		}
		h := s.header(now, slot)
		x.record = picklog.AppendHealth(x.record[:0], &h, picklog.Health(s.fleet.Health(slot)))
		x.appendUrgent()
	}
}

// Fold applies a record of a peer. It is appended to no log, and counts no load: that comes by vectors only. The record is read
// during the call only.
func (s *Scheduler) Fold(record []byte) FoldResult {
	r, err := picklog.Open(record)
	if err != nil {
		return BrokenRecord
	}
	slot, ok := s.fleet.Slot(r.ID)
	if !ok {
		return UnknownSubject
	}
	switch r.Kind {
	case picklog.KindPick:
		return s.foldPick(&r, slot)
	case picklog.KindWithdrawal:
		return s.foldWithdrawal(&r, slot)
	case picklog.KindEvent:
		e := r.Event()
		return s.foldEvent(e.Instance, scorers.Event{Key: e.Key, At: r.At, Slot: slot, Gen: s.fleet.Gen(slot)})
	case picklog.KindHealth:
		s.fleet.SetHealth(r.At, slot, fleet.Health(r.Health()))
		return Folded
	}
	return UnknownSubject
}

// foldPick records the chains of a peer's pick as Commit does with those of an own one. At most as many blocks are looked at as
// of an own request.
func (s *Scheduler) foldPick(r *picklog.Record, slot int32) FoldResult {
	if int(r.BlockTokens) != s.blockTokens {
		return OtherBlockSize
	}
	for i, from := 0, 0; i < r.Chains() && from < s.maxBlocks; i++ {
		from = s.chainOf(r, i, from)
		s.index.Record(s.share.hashes, slot)
		if i == 0 && r.Flags&picklog.Again == 0 {
			s.observe(s.share.hashes, r.Seq)
		}
	}
	return Folded
}

// chainOf reads chain i of a record, which begins at hash from of the record, into the scratch for hashes. It returns where the
// next one begins. Of all chains together maxBlocks are read.
func (s *Scheduler) chainOf(r *picklog.Record, i, from int) int {
	s.share.hashes, from = r.AppendChain(s.share.hashes[:0], i, from, s.maxBlocks-from)
	return from
}

// foldEvent applies the event of a peer's plugin to the instance of the same type and name.
func (s *Scheduler) foldEvent(instance uint64, e scorers.Event) FoldResult {
	for i := range s.set.sharers {
		if h := &s.set.sharers[i]; h.id == instance {
			h.Apply(e)
			return Folded
		}
	}
	return UnknownSubject
}

// instanceID names a plugin instance to other workers.
func instanceID(typ, name string) uint64 { return xxhash.Sum64String(typ + "\x00" + name) }

// bytes returns the memory of what is kept for peers.
func (x *sharing) bytes() int { return cap(x.record) + 8*cap(x.hashes) + cap(x.runs) }
