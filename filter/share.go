package filter

import (
	"encoding/binary"

	"github.com/zerohop/zerohop/shared/loads"
	"github.com/zerohop/zerohop/shared/names"
	"github.com/zerohop/zerohop/shared/plan"
)

// Times of sharing, in nanoseconds.
const (
	loadLifeNs = 1000e6 // a load vector that is older is that of a VM that is gone, and does not count
	confirmNs  = 2000e6 // a number whose record is older may have been taken by another VM
	forgetNs   = 10e9   // the log of a VM that has been gone for so long is emptied: all have taken it over, and the dump has it
)

// busyPicks is by how many picks the pace of a VM is known: it is busy if there are two an interval.
const busyPicks = 8

// rollIntervals is for how many intervals a VM that knows of others does not look whether there are more.
const rollIntervals = 4

// startRequests is how many requests a VM writes everything of, whether it knows of other VMs with requests or not: those that get
// their first ones at the same time are to know of each other.
const startRequests = 1000

// Bounds of the work that one callback does for what other VMs wrote, in bytes of log records. What is left is for the next.
const (
	decisionBytes = 64 << 10
	tickBytes     = 1 << 20
)

// sharing is what a VM has of what the VMs of one process tell each other by shared data. Under its number each writes its
// load vector and a ring of log records, and reads those of all others before a decision. One of them writes a dump, from which
// a VM that knows nothing starts. A VM that never had a request, as the main thread's, takes over no records: it would keep an
// index that nobody asks.
type sharing struct {
	on       bool
	interval uint64 // least time between two looks at the others, ns
	now      uint64 // newest time that was read from the clock
	lookedAt uint64
	wroteAt  uint64 // when the vector was written last
	alone    bool   // no other VM has requests

	picked uint64            // picks
	picks  [busyPicks]uint64 // when the newest ones were made

	ring   ring
	peers  []peer // by worker number, this VM's own included
	turn   int    // peer to begin the next folding with
	behind bool   // the last folding has left records
	live   int    // peers whose load counts

	roll    []byte // scratch
	rollCas uint32 // token of the roll last read
	rollAt  uint64 // when it was
	entered int    // number that this VM has entered there
	first   bool   // its vector said by then that it has had no request

	dump dump
}

// configureSharing takes over what the plan says. What was shared before goes on to count until its writers say otherwise.
func (v *VM) configureSharing(p *plan.Plan) {
	s, how := &v.share, p.Sharing.InForce()
	on := how.Mode == plan.SharingProcess
	s.interval = uint64(how.IntervalUs) * 1000
	s.ring.limit = how.LogBytes
	if on == s.on {
		return
	}
	s.on = on
	if !on {
		v.sched.ShareWith(nil, 0)
		*s = sharing{interval: s.interval, entered: -1}
		v.worker.heir = true // of itself
		return
	}
	s.ring.vm = v
	v.sched.ShareWith(&s.ring, v.epoch)
}

// clock reads the time.
func (v *VM) clock() uint64 {
	v.share.now = v.host.Now()
	return v.share.now
}

// hasNumber reports whether this VM holds its number, after taking or confirming it where that is due. now is the time.
func (v *VM) hasNumber(now uint64) bool {
	r := &v.worker
	return r.number >= 0 && now-r.wroteAt < confirmNs || v.takeNumber(now)
}

func (v *VM) takeNumber(now uint64) bool {
	v.record(now)
	return v.worker.number >= 0
}

// look takes over what other VMs have written, if the last look is long enough ago.
func (v *VM) look(now uint64) {
	s := &v.share
	if !s.on {
		return
	}
	s.now = now
	if age := now - s.lookedAt; s.lookedAt != 0 && (age < s.interval || age < s.patience() && s.upToDate() && s.few(now)) {
		return
	}
	if v.readVectors(now, false) && v.serving() {
		v.fold(decisionBytes, false)
	}
	if !s.dump.restored {
		v.restore(decisionChunks)
	}
}

// serving reports whether this VM has had a request.
func (v *VM) serving() bool { return v.serial != 0 }

// publish writes what this VM's callbacks changed: log records before the vector that says that they are there. A busy VM writes
// twice an interval, and when its last request ends: its next callback is near. Where no other VM has requests, ticks write, and the
// log does when it has a full slot: another one that gets a request says so.
func (v *VM) publish() {
	s := &v.share
	if !s.on || s.alone && v.serial > startRequests {
		return
	}
	if s.busy(s.now, busyPicks/2*s.interval) && s.now-s.wroteAt < s.interval/2 && v.open > 0 {
		return
	}
	if s.ring.dirty || v.sched.VectorChanged() {
		v.write(s.now)
	}
}

// publishPick is publish for a pick.
func (v *VM) publishPick(now uint64) {
	s := &v.share
	s.picks[s.picked%busyPicks] = now
	s.picked++
	v.publish()
}

// patience is how long a VM that makes many picks does without a look at the others until it has made busyPicks, ns. A look costs a
// host call for each of them, in which Envoy does more than the VM does with the answer.
func (s *sharing) patience() uint64 { return s.interval * 5 / 2 }

// upToDate reports whether the last look has left nothing to be read.
func (s *sharing) upToDate() bool { return s.dump.restored && !s.behind }

// few reports whether this VM makes busyPicks picks within its patience, but has not made as many since its last look.
func (s *sharing) few(now uint64) bool {
	return s.busy(now, s.patience()) && s.picks[s.picked%busyPicks] < s.lookedAt
}

// busy reports whether the last few picks were made within a time.
func (s *sharing) busy(now, within uint64) bool { return now-s.picks[s.picked%busyPicks] < within }

// write writes the newest log slot and the vector.
func (v *VM) write(now uint64) {
	s := &v.share
	if !v.hasNumber(now) {
		return
	}
	if s.ring.dirty {
		s.ring.flush()
	}
	still := now - s.wroteAt
	s.wroteAt = now
	b := v.sched.Vector(now, v.intake.version)
	number := v.worker.number
	if number >= len(s.peers) {
		v.meet(number + 1)
	}
	own := &s.peers[number]
	own.vectorLen = len(b)
	v.stats.n[cSharedBytes] += int64(len(b))
	v.host.SetShared(own.loadKey, b, 0)
	if s.entered != number || s.first && v.sched.Decided() || still >= loadLifeNs {
		v.enter()
	}
}

// enter has the others look who is there.
//
//go:noinline
func (v *VM) enter() {
	s := &v.share
	s.entered, s.first = v.worker.number, !v.sched.Decided()
	s.roll = binary.LittleEndian.AppendUint64(s.roll[:0], v.epoch)
	v.put(names.KeyRoll, s.roll)
}

// put writes a value for other VMs.
func (v *VM) put(key string, b []byte) {
	v.stats.n[cSharedBytes] += int64(len(b))
	v.host.SetShared(key, b, 0)
}

// meet makes room for n worker numbers.
//
//go:noinline
func (v *VM) meet(n int) {
	s := &v.share
	for len(s.peers) < n {
		s.peers = append(s.peers, newPeer(len(s.peers)))
	}
}

// shareTick does by tick what no decision has done, and keeps the vector from growing old.
func (v *VM) shareTick(now uint64) {
	s := &v.share
	if !s.on {
		return
	}
	s.now = now
	if v.readVectors(now, true); v.serving() {
		v.fold(tickBytes, true)
	}
	v.write(now)
	if !v.serving() {
		return
	}
	v.restore(tickChunks)
	s.dump.writes = s.dump.restored && v.holdLease(names.KeyDumper, now)
	if s.dump.writes {
		v.writeDump(now)
		v.tidy(now)
	}
}

// leaveNumber forgets what the VM that had this VM's number before wrote.
func (v *VM) leaveNumber() {
	if i := v.worker.number; i < len(v.share.peers) && v.share.peers[i].counts {
		v.share.peers[i].counts = false
		v.share.live--
		v.sched.Leave(i)
	}
}

// vms is the number of VMs that share, this one included.
func (s *sharing) vms() int {
	if !s.on {
		return 0
	}
	return s.live + 1
}

// sharedBytes estimates the bytes that all VMs hold in shared data for each other.
func (s *sharing) sharedBytes() int {
	n := s.dump.bytes() + s.ring.total
	for i := range s.peers {
		n += s.peers[i].bytes()
	}
	return n
}

// bytes is what this VM holds for sharing, beside the scheduler.
func (s *sharing) bytes() int {
	const perPeer = 2*8 + 2*8 + 7*8 + loads.DigestLen + 4*names.LogSlots
	n := cap(s.ring.slot) + len(s.ring.keys.all) + cap(s.dump.buf) + perPeer*cap(s.peers) + (4+16+24)*cap(s.dump.sizes)
	for i := range s.peers {
		n += len(s.peers[i].loadKey) + len(s.peers[i].keys.all)
	}
	return n
}

// entryBytes is what Envoy holds for a shared-data value beside the value.
const entryBytes = 128
