package simserver

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zerohop/zerohop/e2e/engine"
)

// minSleep is the shortest wait worth a timer. Virtual time may run ahead of the clock by this much; a sleep that took too
// long is made up for by the next steps, so that the average speed holds however short a step is.
const minSleep = time.Millisecond

// driver runs an engine against the clock: one goroutine, asleep while the engine is idle.
type driver struct {
	speed float64
	epoch time.Time
	wake  chan struct{} // capacity 1: there is work

	mu     sync.Mutex // guards the rest
	engine *engine.Engine
	hist   *histograms
	jobs   map[uint64]*job
	lastID uint64
	now    time.Duration // virtual; end of the last step
	end    time.Duration // of the step on its way
	busy   bool          // a step is on its way
	idle   bool          // the goroutine waits for wake

	finishedStop, finishedLength, finishedAbort uint64
}

// job is one prompt in the engine and the mailbox of the handler that waits for it.
type job struct {
	id       uint64
	prompt   int
	max      int
	seed     uint64
	interval int           // tokens between notifications after the first
	natural  bool          // ends by itself, not at the limit that the client set
	notify   chan struct{} // capacity 1
	notified int           // tokens at the last notification; driver's

	generated atomic.Int64
	cached    atomic.Int64
}

func newDriver(e *engine.Engine, speed float64, h *histograms) *driver {
	return &driver{
		speed: speed, epoch: time.Now(), wake: make(chan struct{}, 1),
		engine: e, hist: h, jobs: make(map[uint64]*job),
	}
}

// virtual returns the virtual time that belongs to the present instant.
func (d *driver) virtual() time.Duration {
	return time.Duration(float64(time.Since(d.epoch)) * d.speed)
}

// untilReal returns how long the clock still needs to reach a virtual instant.
func (d *driver) untilReal(t time.Duration) time.Duration {
	return time.Duration(float64(t)/d.speed) - time.Since(d.epoch)
}

// submit queues a job. Its notify channel receives until generated equals max, unless it is cancelled before.
func (d *driver) submit(j *job, p engine.Prompt) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	arrival := max(d.virtual(), d.now)
	if d.busy {
		// The engine may lag behind the clock; nothing waits a negative time for the next step.
		arrival = min(arrival, d.end)
	} else {
		d.now = arrival
	}
	d.lastID++
	j.id, j.seed = d.lastID, p.OutputSeed()
	j.prompt = p.Tokens()
	j.notify = make(chan struct{}, 1)
	if err := d.engine.Submit(arrival, engine.Request{ID: j.id, Prompt: p, MaxTokens: j.max}); err != nil {
		return err
	}
	d.jobs[j.id] = j
	if d.idle {
		d.idle = false
		d.wake <- struct{}{}
	}
	return nil
}

// cancel drops a job that is not finished.
func (d *driver) cancel(j *job) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.jobs[j.id] == nil {
		return
	}
	delete(d.jobs, j.id)
	d.engine.Cancel(j.id)
	d.finishedAbort++
}

// run drives the engine until ctx ends.
func (d *driver) run(ctx context.Context) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for ctx.Err() == nil {
		if !d.begin() {
			select {
			case <-d.wake:
			case <-ctx.Done():
			}
			continue
		}
		if wait := d.untilReal(d.end); wait > minSleep { // only this goroutine writes d.end
			timer.Reset(wait)
			select {
			case <-timer.C:
			case <-ctx.Done():
			}
		}
		d.finish()
	}
}

// begin starts a step, or marks the driver idle and returns false.
func (d *driver) begin() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	computed := d.engine.Stats().ComputedTokens
	end, ok := d.engine.Begin(d.now)
	if !ok {
		d.idle = true
		return false
	}
	d.end, d.busy = end, true
	d.hist.step.observe(float64(d.engine.Stats().ComputedTokens - computed))
	return true
}

// finish ends the step and notifies the handlers.
func (d *driver) finish() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.busy, d.now = false, d.end
	for _, o := range d.engine.End() {
		j := d.jobs[o.ID]
		if j == nil {
			continue // cancelled during the step
		}
		d.hist.output(j, o)
		j.cached.Store(int64(o.CachedTokens))
		j.generated.Store(int64(o.Generated))
		if o.Finished {
			delete(d.jobs, o.ID)
			if j.natural {
				d.finishedStop++
			} else {
				d.finishedLength++
			}
		}
		if o.Finished || o.Generated == 1 || o.Generated-j.notified >= j.interval {
			j.notified = o.Generated
			select {
			case j.notify <- struct{}{}:
			default: // the handler has not yet seen the last one and will see both
			}
		}
	}
}

// resetCache empties the prefix cache.
func (d *driver) resetCache() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.engine.ResetCache()
}

// restart replaces the engine by a fresh one; it returns false if requests are in it.
func (d *driver) restart(h *histograms) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.busy || len(d.jobs) > 0 {
		return false
	}
	e, err := engine.New(d.engine.Config())
	if err != nil {
		panic(err) // the same configuration was accepted before
	}
	d.engine, d.hist = e, h
	d.finishedStop, d.finishedLength, d.finishedAbort = 0, 0, 0
	return true
}
