package filter

import (
	"bytes"

	"github.com/zerohop/zerohop/shared/names"
	"github.com/zerohop/zerohop/shared/plan"
	"github.com/zerohop/zerohop/shared/report"
)

// Times of the report path, in nanoseconds.
const (
	recordEveryNs = 250e6  // least time between two records of a worker, and between two reports
	heartbeatNs   = 1000e6 // a record is written this often even if nothing changed
	recordLifeNs  = 3000e6 // a record that is older is that of a VM that is gone
)

// leaseTries bounds the attempts to get a number when other VMs are faster.
const leaseTries = 8

// reporter is the report path of one VM. Each VM leases a number and writes under it what it did; the leader sends what all
// wrote to the agent. What VMs share has the number in its keys too.
type reporter struct {
	number  int      // leased worker number; -1 if none
	heir    bool     // another VM had the number before
	keys    []string // shared-data keys by worker number, made on demand
	workers int      // worker numbers that are known to exist

	wroteAt   uint64 // when the record was written; 0 if it never was
	refusedAt uint64 // when no number was free; 0 if one always was
	written   []byte // the record
	scratch   []byte
	loads     []report.Endpoint
	fallbacks [reasons - 1]uint64

	gather gatherer
}

// key returns the key of worker number i.
func (r *reporter) key(i int) string {
	for len(r.keys) <= i {
		r.keys = append(r.keys, names.KeyWorker(len(r.keys)))
	}
	return r.keys[i]
}

// numbered reports whether VMs have numbers: for reports to the agent, or for what they share.
func (v *VM) numbered() bool { return v.plan.Agent.Cluster != "" || v.share.on }

// record writes this worker's record if it has changed or is due. The lease of the number is taken, or found to be lost, just
// before.
func (v *VM) record(now uint64) {
	r := &v.worker
	if r.number >= 0 {
		if since := now - r.wroteAt; since < recordEveryNs {
			return
		} else if since < heartbeatNs {
			v.encode(now, r.wroteAt)
			if bytes.Equal(r.scratch, r.written) {
				return
			}
		}
	}
	if !v.numbered() || r.refusedAt != 0 && now-r.refusedAt < recordEveryNs {
		return
	}
	r.refusedAt = 0
	for range leaseTries {
		cas, ok := v.lease(now)
		if !ok {
			r.refusedAt = now
			return
		}
		if v.writeRecord(now, cas) {
			return
		}
	}
}

// writeRecord writes the record under the number that lease returned cas for, and reports false if another VM was faster.
func (v *VM) writeRecord(now uint64, cas uint32) bool {
	r := &v.worker
	v.encode(now, now)
	if !v.host.SetShared(r.key(r.number), r.scratch, cas) {
		r.number = -1
		return false
	}
	r.wroteAt = now
	r.written, r.scratch = r.scratch, r.written
	return true
}

// countWorkers finds out which worker numbers exist. Numbers are taken from 0 on, and none ends to exist.
func (v *VM) countWorkers() {
	r := &v.worker
	for r.workers < names.MaxWorkers {
		if _, cas := v.host.Shared(r.key(r.workers)); cas == 0 {
			return
		}
		r.workers++
	}
}

// lease makes sure that this VM holds a worker number, and returns the token to write its record with. It takes the lowest
// number whose record is not written any more.
func (v *VM) lease(now uint64) (cas uint32, ok bool) {
	r := &v.worker
	if r.number >= 0 {
		b, cas := v.host.Shared(r.key(r.number))
		if epoch, _ := recordOwner(b); epoch == v.epoch {
			return cas, true
		}
		r.number = -1 // lost while this VM stood still
	}
	for i := range names.MaxWorkers {
		b, cas := v.host.Shared(r.key(i))
		if cas == 0 {
			r.number, r.heir = i, false
			v.leaveNumber()
			return noToken, true
		}
		if epoch, at := recordOwner(b); epoch == 0 || now > at+recordLifeNs {
			r.number, r.heir = i, true
			v.leaveNumber()
			return cas, true
		}
	}
	return 0, false
}

// recordOwner returns who wrote a record and when; zeros if it cannot be read.
func recordOwner(b []byte) (epoch, at uint64) {
	rec, err := report.OpenRecord(b)
	if err != nil {
		return 0, 0
	}
	var w report.Worker
	rec.Worker(&w)
	return w.Epoch, w.At
}

// encode writes the record into scratch, as of now and stamped at.
func (v *VM) encode(now, at uint64) {
	r := &v.worker
	w := report.Worker{
		Epoch: v.epoch, Revision: v.plan.RevisionID(), Snapshot: v.intake.version, At: at,
		PlanMin: plan.MinVersion, PlanMax: plan.Version, Number: uint16(max(r.number, 0)),
		Picks: uint64(v.stats.n[cPicks]), Retries: uint64(v.stats.n[cRetries]), Failures: v.sched.Failures(),
	}
	if v.intake.leading {
		w.Flags |= report.Leading
	}
	r.loads = v.sched.AppendLoads(now, r.loads[:0], report.MaxEndpoints)
	for i := range r.fallbacks {
		r.fallbacks[i] = uint64(v.stats.fallback[i+1])
	}
	r.scratch, _ = report.AppendRecord(r.scratch[:0], &w, r.loads, r.fallbacks[:]) // no bound is exceeded, no id is 0
}
