package filter

import (
	"github.com/zerohop/zerohop/scorers/sched"
	"github.com/zerohop/zerohop/shared/loads"
	"github.com/zerohop/zerohop/shared/names"
	"github.com/zerohop/zerohop/shared/picklog"
)

// peer is what this VM has read of another one, which holds or held a worker number.
type peer struct {
	_ [0]func() // not comparable, for the size of the module

	loadKey   string
	keys      logKeys
	vectorLen int

	cas     uint32 // token of the vector last read
	at      uint64 // when that was written
	epoch   uint64 // of the VM that wrote it
	counts  bool   // its load counts
	serving bool   // it has had a request

	head   uint64 // newest record of its log
	next   uint64 // first record that was not taken over
	met    bool   // a record of this VM was read: what is missing from then on is lost
	tidy   bool   // its log was emptied after it was lost
	digest loads.Digest

	sizes [names.LogSlots]int32 // bytes of the log's slots, as last read
	total int
}

func newPeer(number int) peer { return peer{loadKey: names.KeyLoad(number)} }

// bytes is what the VM holds in shared data, as far as it was read.
func (p *peer) bytes() int {
	n := p.vectorLen + p.total + 2*entryBytes
	if p.total > 0 {
		n += names.LogSlots * entryBytes
	}
	return n
}

// readVectors reads the vectors of others: of those that count and have requests, and of all by tick and soon after one has said that
// it is there. Most of the rest are of VMs that were lost, and there may be many. It reports whether there are records that must not
// wait.
func (v *VM) readVectors(now uint64, all bool) (due bool) {
	s := &v.share
	s.lookedAt = max(now, 1)
	if s.alone || all || now-s.rollAt >= rollIntervals*s.interval {
		s.rollAt = now
		if _, cas := v.host.Shared(names.KeyRoll); cas != s.rollCas || all {
			s.rollCas, all = cas, true
			v.countWorkers()
			v.meet(v.worker.workers)
		}
	}
	serving := 0
	for i := range s.peers {
		p := &s.peers[i]
		if i == v.worker.number {
			continue
		}
		if all || p.counts && p.serving {
			v.readVector(now, i)
		}
		if p.counts && p.serving {
			serving++
		}
		due = due || p.next <= p.head && p.next < p.digest.First()
	}
	s.alone = serving == 0
	v.sched.SetPeers(serving)
	return due
}

// readVector makes the vector of worker number i count as it is, or no more if it is too old.
func (v *VM) readVector(now uint64, i int) {
	p := &v.share.peers[i]
	b, cas := v.host.Shared(p.loadKey)
	if cas == 0 {
		return
	}
	fresh := cas != p.cas
	if !fresh && !p.counts {
		return
	}
	var view loads.View
	if fresh {
		var err error
		switch view, err = loads.Open(b); {
		case err != nil || view.Epoch == v.epoch:
			p.cas, p.at = cas, 0 // broken, or this VM's own under a number that it has lost
		case p.counts && view.Epoch != p.epoch && now >= view.At+loadLifeNs:
			p.cas, fresh = cas, false // of a VM that has not noticed yet that it has lost the number
		default:
			p.read(cas, len(b), &view)
		}
	}
	switch alive := p.at != 0 && now < p.at+loadLifeNs; {
	case alive && fresh:
		if !p.counts {
			p.counts = true
			v.share.live++
		}
		v.sched.Merge(i, &view)
	case !alive && p.counts:
		p.counts = false
		v.share.live--
		v.sched.Leave(i)
	}
}

// read takes over what a vector says of its VM. Of a VM that was not known before, the log is read from its oldest slot on. That of
// a known one may have been read further than this vector says, to the end of a slot: a busy VM writes it more often.
func (p *peer) read(cas uint32, size int, view *loads.View) {
	p.cas, p.vectorLen, p.at, p.head = cas, size, view.At, view.Head
	view.Digest(&p.digest)
	p.serving = view.Serving || view.Head > 0
	if p.epoch == view.Epoch && p.next <= p.head+picklog.SlotRecords {
		return
	}
	p.epoch, p.met, p.tidy = view.Epoch, false, false
	p.next = 1
	p.skip()
}

// skip passes over the records whose slots have been used again, and returns how many they are.
func (p *peer) skip() (n uint64) {
	if newest := slotOf(max(p.head, 1)); newest >= names.LogSlots {
		if oldest := (newest-names.LogSlots+1)*picklog.SlotRecords + 1; p.next < oldest {
			n = oldest - p.next
			p.next = oldest
		}
	}
	return n
}

// fold takes over log records of all others, limit bytes of them and what is left of a slot: all records, or of those others that
// have some that must not wait. The first others get their turn when those before are done.
func (v *VM) fold(limit int, all bool) {
	s := &v.share
	s.behind = false
	for n := len(s.peers); n > 0; n-- {
		if s.turn >= len(s.peers) {
			s.turn = 0
		}
		p := &s.peers[s.turn]
		if s.turn != v.worker.number && p.epoch != 0 && p.next <= p.head && (all || p.next < p.digest.First()) {
			if limit -= v.foldPeer(p, s.turn, limit); p.next <= p.head {
				s.behind = true
				return // this one is next
			}
		}
		s.turn++
	}
}

// foldPeer takes over records of a peer until limit bytes of slots were read, and returns how many were.
func (v *VM) foldPeer(p *peer, number, limit int) (n int) {
	if p.keys.len == 0 {
		p.keys = newLogKeys(number)
	}
	if lost := p.skip(); p.met {
		v.stats.n[cLostRecords] += int64(lost)
	}
	for p.next <= p.head && n < limit {
		slot := slotOf(p.next)
		b, _ := v.host.Shared(p.keys.at(slot))
		n += len(b) + picklog.SlotHeaderLen // an empty one is not for nothing
		size := &p.sizes[slot%names.LogSlots]
		p.total += len(b) - int(*size)
		*size = int32(len(b))
		v.foldSlot(p, slot, b)
	}
	return n
}

// foldSlot takes over the records of a slot from next on. b is what stands there, which may be another VM's or too new.
func (v *VM) foldSlot(p *peer, slot uint64, b []byte) {
	end := (slot+1)*picklog.SlotRecords + 1 // first record of the next slot
	x, err := picklog.OpenSlot(b)
	if err == nil && x.Epoch == p.epoch && slotOf(x.First) == slot {
		for seq := x.First; ; seq++ {
			record := x.Next()
			if record == nil {
				break
			}
			if seq < p.next {
				continue
			}
			if p.met {
				v.stats.n[cLostRecords] += int64(seq - p.next)
			}
			p.next, p.met = seq+1, true
			v.foldRecord(record)
		}
	}
	if p.next > p.head {
		return
	}
	if lost := min(end, p.head+1); p.next < lost {
		if p.met {
			v.stats.n[cLostRecords] += int64(lost - p.next)
		}
		p.next = lost
	}
}

// foldRecord takes over one record.
func (v *VM) foldRecord(record []byte) {
	switch v.sched.Fold(record) {
	case sched.Folded:
		v.stats.n[cFoldedRecords]++
	case sched.BrokenRecord:
		v.stats.n[cLostRecords]++
	default:
		v.stats.n[cSkippedRecords]++
	}
}

// tidy empties the log of one VM that is gone for long. VMs that are lost again and again would leave one each.
func (v *VM) tidy(now uint64) {
	for i := range v.share.peers {
		p := &v.share.peers[i]
		if p.counts || p.tidy || p.epoch == 0 || i == v.worker.number || now < p.at+forgetNs || p.next <= p.head {
			continue
		}
		p.tidy = v.emptyLog(now, i)
		return
	}
}

// emptyLog empties the log of worker number i, and reports false if a VM has the number.
func (v *VM) emptyLog(now uint64, i int) bool {
	p := &v.share.peers[i]
	if p.keys.len == 0 {
		p.keys = newLogKeys(i)
	}
	for slot := range uint64(names.LogSlots) {
		b, cas := v.host.Shared(p.keys.at(slot))
		if len(b) > 0 {
			// A VM that takes the number writes its record before it writes to the log.
			record, _ := v.host.Shared(v.worker.key(i))
			if epoch, at := recordOwner(record); epoch != 0 && now <= at+recordLifeNs {
				return false
			}
			v.host.SetShared(p.keys.at(slot), nil, cas)
		}
		p.total -= int(p.sizes[slot])
		p.sizes[slot] = 0
	}
	return true
}
