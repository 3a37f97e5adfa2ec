package publish

import (
	"cmp"
	"slices"
	"time"

	"github.com/zerohop/zerohop/shared/report"
)

// Loads returns the load of every published endpoint, by id (snapshot.EndpointID). The map belongs to the caller.
func (f *Fleet) Loads() map[uint64]Load {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sync()
	f.sweep(time.Now())
	out := make(map[uint64]Load, len(f.slots))
	for id, slot := range f.slots {
		out[id] = f.loads[slot]
	}
	return out
}

// Totals are the sums over all workers that ever reported. They never fall.
type Totals struct {
	Picks, Retries, Failures uint64
	Fallbacks                map[string]uint64 // requests that were not scored, by reason
}

// Totals returns the sums. The map belongs to the caller.
func (f *Fleet) Totals() Totals {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := Totals{Picks: f.totals.picks, Retries: f.totals.retries, Failures: f.totals.failures, Fallbacks: make(map[string]uint64, len(f.reasons))}
	for name, at := range f.reasons {
		out.Fallbacks[name] = f.totals.fallbacks[at]
	}
	return out
}

// Envoy is an Envoy process that reports.
type Envoy struct {
	Node    string   `json:"node"`
	Process uint64   `json:"process"`
	Workers []Worker `json:"workers"`
}

// Worker is a worker of an Envoy. Its counts are those since its VM began.
type Worker struct {
	Number   uint16 `json:"number"`
	Epoch    uint64 `json:"epoch"`
	Leading  bool   `json:"leading"`
	AgeMs    int64  `json:"ageMs"`    // of its newest record
	Revision uint64 `json:"revision"` // of the plan in force
	Snapshot uint64 `json:"snapshot"` // version in use, 0 if none
	PlanMin  uint16 `json:"planMin"`  // plan versions that the module reads
	PlanMax  uint16 `json:"planMax"`
	Picks    uint64 `json:"picks"`
	Retries  uint64 `json:"retries"`
	Failures uint64 `json:"failures"`
}

// Envoys returns the Envoys that reported lately, by node id, with their live workers by number.
func (f *Fleet) Envoys() []Envoy {
	now := time.Now()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sweep(now)
	var out []Envoy
	for key, e := range f.envoys {
		var workers []Worker
		for _, w := range e.workers {
			if w.counted {
				workers = append(workers, w.status(now))
			}
		}
		if workers == nil {
			continue
		}
		slices.SortFunc(workers, func(a, b Worker) int { return cmp.Or(cmp.Compare(a.Number, b.Number), cmp.Compare(a.Epoch, b.Epoch)) })
		out = append(out, Envoy{Node: key.node, Process: key.process, Workers: workers})
	}
	slices.SortFunc(out, func(a, b Envoy) int { return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.Process, b.Process)) })
	return out
}

// status returns what w said last.
func (w *worker) status(now time.Time) Worker {
	n := &w.newest
	return Worker{
		Number: n.Number, Epoch: n.Epoch, Leading: n.Flags&report.Leading != 0, AgeMs: max(now.Sub(w.written).Milliseconds(), 0),
		Revision: n.Revision, Snapshot: n.Snapshot, PlanMin: n.PlanMin, PlanMax: n.PlanMax,
		Picks: n.Picks, Retries: n.Retries, Failures: n.Failures,
	}
}
