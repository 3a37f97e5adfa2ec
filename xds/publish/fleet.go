package publish

import (
	"cmp"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/zerohop/zerohop/shared/report"
)

const (
	// silentAfter is the age of a worker's newest record at which its requests in flight stop counting. A live worker writes
	// one at least each second.
	silentAfter = 6 * time.Second
	// forgetAfter is the age at which a worker's counts are forgotten. If it reported again, they would count twice, so it is
	// far longer than an agent and an Envoy can lose sight of each other in practice.
	forgetAfter = 30 * time.Minute
	// sweepEvery is the least time between two searches for silent workers by reports.
	sweepEvery = time.Second
	// maxWorkers and maxCells bound the memory: 400 Envoys of 8 workers with 1,000 endpoints are 3,200 workers and 3.2
	// million cells of 40 bytes.
	maxWorkers = 16 << 10
	maxCells   = 4 << 20
	// maxReasons bounds the fallback reasons that all modules together can name.
	maxReasons = 256
)

// ErrFull says that more workers report than the agent has room for.
var ErrFull = errors.New("more workers and endpoints report than the agent keeps")

// Load is what all filters together say of one endpoint. The counts never fall while the endpoint is published: a worker
// whose VM is rebuilt begins from zero, which adds to them what it counts from there.
type Load struct {
	InFlight       uint64 `json:"inFlight"`
	InFlightTokens uint64 `json:"inFlightTokens"`
	CoolingDown    int    `json:"coolingDown"` // workers that avoid it
	Picks          uint64 `json:"picks"`
	Fallbacks      uint64 `json:"fallbacks"`
	Failures       uint64 `json:"failures"`
}

// Fleet adds up the reports of all Envoys. It knows the endpoints of the store's newest version and ignores all others, so
// that a report can neither add an endpoint nor keep one. Several goroutines may use it.
type Fleet struct {
	store                *Store
	maxWorkers, maxCells int

	mu      sync.Mutex
	members *members         // that slots are of
	slots   map[uint64]int32 // by endpoint id
	loads   []Load           // by slot
	free    []int32
	envoys  map[envoyKey]*envoy
	workers int
	cells   int
	reasons map[string]int // index into fallbacks, by name
	totals  totals
	swept   time.Time
}

type totals struct {
	picks, retries, failures uint64
	fallbacks                []uint64
}

// envoyKey tells processes apart, also those that share a node id.
type envoyKey struct {
	node    string
	process uint64
}

type envoy struct {
	workers map[uint64]*worker // by epoch
	holders map[uint16]*worker // by number: those that count
}

// worker is one VM of an Envoy.
type worker struct {
	newest    report.Worker
	written   time.Time // when its newest record was
	counted   bool      // its gauges are in loads
	cells     []cell    // by slot
	fallbacks []uint64  // by index of the reason
}

// cell is what a worker said of one endpoint: the highest counts, and gauges if it is counted.
type cell struct {
	tokens, picks, fallbacks, failures uint64
	inFlight                           uint32
	cooling                            bool
}

// NewFleet returns a Fleet for the endpoints that store publishes.
func NewFleet(store *Store) *Fleet {
	return &Fleet{
		store: store, maxWorkers: maxWorkers, maxCells: maxCells,
		slots: make(map[uint64]int32), envoys: make(map[envoyKey]*envoy), reasons: make(map[string]int),
	}
}

// Report takes a report of the Envoy with the given node id. It keeps nothing of the view. ErrFull leaves the records out
// that there is no room for.
func (f *Fleet) Report(node string, v report.View) error {
	now := time.Now()
	names := v.Reasons()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sync()
	if now.Sub(f.swept) >= sweepEvery {
		f.sweep(now)
	}
	reasons := f.reasonsOf(names)
	key := envoyKey{node, v.Process()}
	var err error
	for it := v.Records(); it.Next(); {
		if w := f.worker(key, it.Record); w != nil {
			e := f.envoys[key]
			if e.holders[w.newest.Number] == w {
				delete(e.holders, w.newest.Number)
			}
			f.take(w, it.Record, now.Add(-time.Duration(it.AgeMs)*time.Millisecond), reasons)
			f.settle(e, w)
		} else {
			err = ErrFull
		}
	}
	return err
}

// sync follows the store's endpoints: those that are gone lose their slot, others get one.
func (f *Fleet) sync() {
	m := f.store.newest.Load().members
	if m == f.members {
		return
	}
	f.members = m
	published := make(map[uint64]bool, len(m.ids))
	for _, id := range m.ids {
		published[id] = true
	}
	for id, slot := range f.slots {
		if published[id] {
			continue
		}
		delete(f.slots, id)
		f.loads[slot] = Load{}
		f.free = append(f.free, slot)
		f.eachWorker(func(w *worker) {
			if int(slot) < len(w.cells) {
				w.cells[slot] = cell{}
			}
		})
	}
	for _, id := range m.ids {
		if _, ok := f.slots[id]; ok {
			continue
		}
		if n := len(f.free); n > 0 {
			f.slots[id] = f.free[n-1]
			f.free = f.free[:n-1]
			continue
		}
		f.slots[id] = int32(len(f.loads))
		f.loads = append(f.loads, Load{})
	}
}

func (f *Fleet) eachWorker(do func(*worker)) {
	for _, e := range f.envoys {
		for _, w := range e.workers {
			do(w)
		}
	}
}

// reasonsOf returns the index of each name in fallbacks, -1 if there are too many reasons.
func (f *Fleet) reasonsOf(names []string) []int {
	out := make([]int, len(names))
	for i, name := range names {
		at, ok := f.reasons[name]
		switch {
		case ok:
		case len(f.reasons) == maxReasons:
			at = -1
		default:
			at = len(f.reasons)
			f.reasons[name] = at
			f.totals.fallbacks = append(f.totals.fallbacks, 0)
		}
		out[i] = at
	}
	return out
}

// worker returns the worker that r is of, with a cell for every slot, or nil if there is no room.
func (f *Fleet) worker(key envoyKey, r report.Record) *worker {
	var head report.Worker
	r.Worker(&head)
	w := f.find(key, head.Epoch)
	known := w != nil
	if !known {
		w = &worker{}
	}
	need := len(f.loads)
	if r.Len() == 0 {
		need = 0 // no traffic, as on the main thread
	}
	workers, cells := 1, max(need-len(w.cells), 0)
	if known {
		workers = 0
	}
	if !f.room(workers, cells, w) {
		return nil
	}
	if !known {
		e := f.envoys[key]
		if e == nil {
			e = &envoy{workers: make(map[uint64]*worker), holders: make(map[uint16]*worker)}
			f.envoys[key] = e
		}
		e.workers[head.Epoch] = w
		f.workers++
	}
	if cells > 0 {
		grown := make([]cell, need) // no spare room: there are millions of cells
		copy(grown, w.cells)
		w.cells = grown
		f.cells += cells
	}
	return w
}

func (f *Fleet) find(key envoyKey, epoch uint64) *worker {
	if e := f.envoys[key]; e != nil {
		return e.workers[epoch]
	}
	return nil
}

// room reports whether more workers and cells can be kept, for w. Other workers that are silent make room, the longest
// silent ones first.
func (f *Fleet) room(workers, cells int, w *worker) bool {
	fits := func() bool { return f.workers+workers <= f.maxWorkers && f.cells+cells <= f.maxCells }
	if fits() {
		return true
	}
	type silent struct {
		key     envoyKey
		epoch   uint64
		written time.Time
	}
	var all []silent
	for key, e := range f.envoys {
		for epoch, other := range e.workers {
			if !other.counted && other != w {
				all = append(all, silent{key, epoch, other.written})
			}
		}
	}
	slices.SortFunc(all, func(a, b silent) int { return cmp.Or(a.written.Compare(b.written), cmp.Compare(a.epoch, b.epoch)) })
	for _, s := range all {
		if f.forget(s.key, s.epoch); fits() {
			return true
		}
	}
	return false
}

// forget drops a worker. What it added to the counts stays.
func (f *Fleet) forget(key envoyKey, epoch uint64) {
	e := f.envoys[key]
	w := e.workers[epoch]
	f.withdraw(w)
	f.workers--
	f.cells -= len(w.cells)
	if e.holders[w.newest.Number] == w {
		delete(e.holders, w.newest.Number)
	}
	if delete(e.workers, epoch); len(e.workers) == 0 {
		delete(f.envoys, key)
	}
}

// sweep takes out what silent workers have in flight, and forgets those that are silent for long.
func (f *Fleet) sweep(now time.Time) {
	f.swept = now
	for key, e := range f.envoys {
		for epoch, w := range e.workers {
			switch age := now.Sub(w.written); {
			case age >= forgetAfter:
				f.forget(key, epoch)
			case age >= silentAfter:
				f.withdraw(w)
			}
		}
	}
}

// settle decides who counts under the number of w: the VM with the newest record. A VM takes a number only when the one that
// held it is gone, which is known by that long before it has been silent for silentAfter.
func (f *Fleet) settle(e *envoy, w *worker) {
	number := w.newest.Number
	switch holder := e.holders[number]; {
	case !w.counted:
		return
	case holder == nil || holder == w:
	case holder.newest.At > w.newest.At:
		f.withdraw(w)
		return
	default:
		f.withdraw(holder)
	}
	e.holders[number] = w
}

// withdraw takes a worker's gauges out of the loads.
func (f *Fleet) withdraw(w *worker) {
	if !w.counted {
		return
	}
	w.counted = false
	for slot := range w.cells {
		c, l := &w.cells[slot], &f.loads[slot]
		l.InFlight -= uint64(c.inFlight)
		l.InFlightTokens -= c.tokens
		if c.cooling {
			l.CoolingDown--
		}
		c.inFlight, c.tokens, c.cooling = 0, 0, false
	}
}
