package filter

import (
	"encoding/binary"
	"strconv"

	"github.com/zerohop/zerohop/shared/names"
	"github.com/zerohop/zerohop/shared/snapshot"
)

// Times of the snapshot path, in nanoseconds.
const (
	leaseNs      = 1500e6 // a leader that does not renew for this long is replaced
	lookEveryNs  = 4e6    // how often a busy worker looks at the version key
	maxBackOffNs = 1000e6 // longest pause between failing polls
	minBackOffNs = 100e6
)

// maxPolls bounds the polls between two ticks. An agent publishes every 10 ms at most, which makes 10 of them. Without a bound
// an agent that answers everything at once, or two with different versions behind one cluster, would keep the leader busy
// with nothing else. It is odd, so that of two that take turns not always the same gets what comes with the first poll after a
// tick: the report.
const maxPolls = 23

// noToken is a compare-and-set token that no stored value has: the store succeeds only if nobody else created the key.
const noToken = ^uint32(0)

// stampLen is the length of the values of names.KeySnapshotVersion and names.KeyLeader: two little-endian u64.
const stampLen = 16

// intake is the snapshot path of one VM: it adopts what stands in shared data and, where this VM holds the lease, polls
// the agent and writes shared data.
type intake struct {
	version  uint64 // version adopted; 0 if none
	recvAt   uint64 // when that version was received
	lookedAt uint64

	confirmedAt uint64 // when the agent last had nothing newer, as far as this VM knows
	old         bool   // what outdated found last

	leading  bool
	inFlight bool
	token    uint32
	failures uint
	retryAt  uint64
	polls    int // since the last tick

	whole bool // the next poll asks for a whole snapshot

	stamp  [stampLen]byte
	path   []byte
	delta  []byte // as received
	merged []byte // the snapshot that it gave
}

// reset forgets the call in flight: Envoy drops the calls of an old root context without a word. Without an agent the
// snapshot is forgotten too.
func (in *intake) reset(agent bool) {
	in.inFlight, in.retryAt, in.lookedAt = false, 0, 0
	if !agent {
		in.version, in.leading, in.old = 0, false, false
	}
}

// ageMs is the time since the adopted snapshot was received.
func (in *intake) ageMs(now uint64) uint64 {
	if in.version == 0 || now < in.recvAt {
		return 0
	}
	return (now - in.recvAt) / 1e6
}

// refresh adopts a newer snapshot from shared data if there is one. It looks at most every lookEveryNs.
func (v *VM) refresh(now uint64) {
	in := &v.intake
	if v.plan.Agent.Cluster == "" || now-in.lookedAt < lookEveryNs {
		return
	}
	in.lookedAt = now
	if v.plan.Agent.MaxAgeMs > 0 {
		if b, _ := v.host.Shared(names.KeyConfirmed); len(b) == 8 {
			in.confirmedAt = binary.LittleEndian.Uint64(b)
		}
	}
	b, _ := v.host.Shared(names.KeySnapshotVersion)
	if len(b) != stampLen {
		return
	}
	version, recvAt := binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])
	if version == in.version {
		return
	}
	in.version = version // also when it turns out to be broken, so that it is read once
	blob, _ := v.host.Shared(names.KeySnapshot)
	view, err := snapshot.Open(blob)
	if err != nil {
		v.stats.n[cSnapshotErrors]++
		return
	}
	in.recvAt = recvAt
	v.sched.Apply(view, recvAt, now)
	v.stats.n[cSnapshots]++
}

// outdated reports whether the agent has not confirmed for too long what this VM has of it. Without a snapshot it has nothing.
func (v *VM) outdated(now uint64) bool {
	in := &v.intake
	last := max(in.recvAt, in.confirmedAt)
	in.old = v.plan.Agent.MaxAgeMs > 0 && v.plan.Agent.Cluster != "" && in.version != 0 && now > last && (now-last)/1e6 > uint64(v.plan.Agent.MaxAgeMs)
	return in.old
}

// confirm notes for all workers that the agent is there and has nothing newer.
func (v *VM) confirm(now uint64) {
	st := v.intake.stamp[:8]
	binary.LittleEndian.PutUint64(st, now)
	v.host.SetShared(names.KeyConfirmed, st, 0)
	v.intake.confirmedAt = now
}

// lead takes or renews the lease, and where there is an agent keeps one poll open while this VM holds it.
func (v *VM) lead(now uint64) {
	in := &v.intake
	if !v.numbered() {
		return
	}
	was := in.leading
	in.leading, in.polls = v.holdLease(names.KeyLeader, now), 0
	if in.leading && !was {
		v.stats.n[cLeases]++
	}
	if in.leading && !in.inFlight && now >= in.retryAt && v.plan.Agent.Cluster != "" {
		v.poll()
	}
}

// holdLease reports whether this VM holds the lease of a key, after taking or renewing it where it may.
func (v *VM) holdLease(key string, now uint64) bool {
	b, cas := v.host.Shared(key)
	if len(b) == stampLen {
		holder, until := binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])
		if holder != v.epoch && now < until {
			return false
		}
	} else {
		cas = noToken
	}
	st := v.intake.stamp[:]
	binary.LittleEndian.PutUint64(st, v.epoch)
	binary.LittleEndian.PutUint64(st[8:], now+leaseNs)
	return v.host.SetShared(key, st, cas)
}

// poll asks the agent for a snapshot that is newer than the one in shared data.
func (v *VM) poll() {
	in := &v.intake
	in.polls++
	have := in.version
	if in.whole {
		have = 0
	}
	in.path = append(in.path[:0], names.PathSnapshot+"?v="...)
	in.path = strconv.AppendUint(in.path, have, 10)
	body := v.report(v.host.Now())
	token, ok := v.host.Post(v.plan.Agent.Cluster, in.path, v.nodeID(), body, v.plan.Agent.PollTimeoutMs)
	if !ok {
		v.pollFailed()
		return
	}
	in.inFlight, in.token = true, token
}

func (v *VM) pollFailed() {
	in := &v.intake
	v.stats.n[cPollErrors]++
	pause := uint64(maxBackOffNs)
	if in.failures < 4 {
		pause = minBackOffNs << in.failures
	}
	in.failures++
	in.retryAt = v.host.Now() + pause
}

// CallDone handles proxy_on_http_call_response for a call of root context id with size bytes of body.
func (v *VM) CallDone(id, token uint32, size int) {
	in := &v.intake
	if id != v.active || !in.inFlight || token != in.token {
		return
	}
	in.inFlight = false
	if !in.leading {
		return // another VM leads by now, and may have stored something newer
	}
	switch statusCode(v.host.CallStatus()) {
	case 200:
		if !v.receive(v.host.Now(), v.host.CallBody(size)) {
			v.pollFailed()
			return
		}
	case 304: // nothing newer within the poll's time
		v.confirm(v.host.Now())
	default:
		v.pollFailed()
		return
	}
	in.failures, in.retryAt = 0, 0
	if in.polls < maxPolls {
		v.poll()
	} // else the next tick does
}

// receive takes the answer of a poll: a snapshot, or a delta from the one in shared data. It reports false if nothing came of
// it and the next poll has to wait. A delta that does not fit is followed by a poll for the whole at once.
func (v *VM) receive(now uint64, b []byte) bool {
	in := &v.intake
	if !snapshot.IsDelta(b) {
		in.whole = false
		ok := v.store(now, b)
		if !ok {
			v.stats.n[cSnapshotErrors]++
		}
		return ok
	}
	asked := in.whole
	in.delta = append(in.delta[:0], b...) // the next host call takes b away
	base, _ := v.host.Shared(names.KeySnapshot)
	var err error
	if in.merged, err = snapshot.ApplyDelta(in.merged[:0], base, in.delta); err == nil && v.store(now, in.merged) {
		in.whole = false
		return true
	}
	v.stats.n[cDeltaErrors]++
	in.whole = true
	return !asked
}

// store writes a received snapshot to shared data for all workers, the blob before its version.
func (v *VM) store(now uint64, blob []byte) bool {
	view, err := snapshot.Open(blob)
	if err != nil {
		return false
	}
	version := view.Version()
	v.host.SetShared(names.KeySnapshot, blob, 0)
	st := v.intake.stamp[:]
	binary.LittleEndian.PutUint64(st, version)
	binary.LittleEndian.PutUint64(st[8:], now)
	v.host.SetShared(names.KeySnapshotVersion, st, 0)
	v.intake.lookedAt = 0
	v.refresh(now)
	return true
}
