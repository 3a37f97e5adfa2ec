package filter

import (
	"github.com/zerohop/zerohop/shared/names"
	"github.com/zerohop/zerohop/shared/picklog"
)

// How much others let wait: few enough for a digest to tell them from other prompts, and many enough for the work that comes with
// the first record to be shared by many.
const (
	dueRecords = 64
	dueBytes   = 32 << 10
)

// ring is the log of this VM: what others are to know of its picks. Record n stands in slot (n-1)/picklog.SlotRecords, of
// which the newest names.LogSlots are in shared data. It implements sched.Log.
type ring struct {
	vm    *VM
	limit int // most bytes in shared data

	slot  []byte // the newest slot
	count int    // records since all were due
	bytes int    // of these
	first uint64 // sequence number of its first record; 0 before the first record
	dirty bool   // it has records that are not in shared data

	number int // worker number that keys and sizes are of
	keys   logKeys
	sizes  [names.LogSlots]int32 // bytes of each slot in shared data
	total  int                   // their sum
}

// logKeys are the shared-data keys of a ring.
type logKeys struct {
	_ [0]func() // not comparable, for the size of the module

	all string // one after the other
	len int    // of one
}

func newLogKeys(number int) logKeys {
	all := names.LogKeys(number)
	return logKeys{all: all, len: len(all) / names.LogSlots}
}

func (k *logKeys) at(slot uint64) string {
	i := int(slot%names.LogSlots) * k.len
	return k.all[i : i+k.len]
}

// slotOf returns the slot that record seq stands in, counted from 0.
func slotOf(seq uint64) uint64 { return (seq - 1) / picklog.SlotRecords }

// Append implements sched.Log. The record gets into shared data with the end of the callback. One that the ring cannot hold
// leaves a gap, as one does that was overwritten. So that few are, others take over all that were appended as soon as it is a
// part of what the ring holds.
func (r *ring) Append(record []byte) (due bool) {
	seq := picklog.Seq(record)
	if r.first == 0 || slotOf(seq) != slotOf(r.first) {
		r.flush()
		r.slot = picklog.AppendSlot(r.slot[:0], r.vm.epoch, seq)
		r.first = seq
	}
	if len(r.slot)+picklog.RecordHeader+len(record) > r.limit {
		record = nil
	}
	r.slot = picklog.AddRecord(r.slot, record)
	r.dirty = true
	r.count++
	r.bytes += len(record)
	if due = r.count >= dueRecords || r.bytes >= min(dueBytes, r.limit/4); due {
		r.count, r.bytes = 0, 0
	}
	return due
}

// Fetch implements sched.Log. What is left to be read of records that do not wait is read by look, a part before each decision.
func (r *ring) Fetch(block uint64) (found bool) {
	v := r.vm
	for i := range v.share.peers {
		if p := &v.share.peers[i]; p.next <= p.head && p.next >= p.digest.First() && p.epoch != 0 && i != v.worker.number && p.digest.MayName(block) {
			v.foldPeer(p, i, decisionBytes)
			found = true
		}
	}
	return found
}

// flush writes the newest slot into shared data, and empties the oldest ones for which there is no room.
func (r *ring) flush() {
	v := r.vm
	if !r.dirty || !v.hasNumber(v.share.now) {
		return
	}
	r.dirty = false
	if r.keys.len == 0 || r.number != v.worker.number {
		r.inherit()
	}
	slot := slotOf(r.first)
	r.store(slot, r.slot)
	if r.total > r.limit {
		r.makeRoom(slot + 1)
	}
}

// makeRoom empties slots from old on, which are the oldest, until the ring is within its bound.
//
//go:noinline
func (r *ring) makeRoom(old uint64) {
	for end := old + names.LogSlots - 1; r.total > r.limit && old < end; old++ {
		if r.sizes[old%names.LogSlots] > 0 {
			r.store(old, nil)
		}
	}
}

// inherit begins to log under another number. It counts what a VM that had the number before has left in shared data: its slots
// are older than all that follow.
//
//go:noinline
func (r *ring) inherit() {
	r.number, r.keys = r.vm.worker.number, newLogKeys(r.vm.worker.number)
	clear(r.sizes[:])
	r.total = 0
	if !r.vm.worker.heir {
		return
	}
	for k := range r.sizes {
		b, _ := r.vm.host.Shared(r.keys.at(uint64(k)))
		r.sizes[k] = int32(len(b))
		r.total += len(b)
	}
}

// store writes a slot.
func (r *ring) store(slot uint64, b []byte) {
	v := r.vm
	v.stats.n[cSharedBytes] += int64(len(b))
	v.host.SetShared(r.keys.at(slot), b, 0)
	size := &r.sizes[slot%names.LogSlots]
	r.total += len(b) - int(*size)
	*size = int32(len(b))
}
