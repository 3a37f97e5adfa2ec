package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/zerohop/zerohop/e2e/harness"
	"github.com/zerohop/zerohop/e2e/vllmsim/simserver"
)

const (
	// restPatience is how long counts may take to be zero after the last request: a report of the filters travels with a poll,
	// which lasts up to two seconds, and a record of a VM that is gone lives for three.
	restPatience = 15 * time.Second

	sayEvery = 10 * time.Second
)

// Rest is a time without load in which all counts have to become zero.
type Rest struct {
	At    time.Time
	Took  time.Duration
	Error string // what was not zero
}

// record is all that a run has seen.
type record struct {
	opts     options
	schedule Schedule
	start    time.Time
	end      time.Time
	names    map[string]string // of endpoints by address

	outcomes []Outcome
	details  map[string]string // of requests that Envoy answered with an error: its response code details
	faults   []Fault
	edits    []Edit
	agents   []span
	samples  []Sample
	rests    []Rest
	journal  map[string][]simserver.JournalEntry // by address
	decoys   []string
	notes    []string
	panics   int // of the filter, recovered
	logs     string
}

// torture makes the run.
func torture(ctx context.Context, o options, plan Schedule) (*record, error) {
	o.say("seed %d, %v, %d requests per second, %d faults; starting %d endpoints and Envoy", o.seed, o.length, o.rate, len(plan.Faults), members+2)
	b, err := newBed(ctx, o)
	if err != nil {
		return nil, err
	}
	rec := &record{opts: o, schedule: plan, start: time.Now(), names: map[string]string{"": "all endpoints"}}
	for _, e := range b.endpoints {
		rec.names[e.addr] = e.name
	}
	err = b.work(ctx, rec)
	if err == nil {
		err = b.gather(ctx, rec)
	}
	if err != nil {
		err = fmt.Errorf("%w\n%s", err, b.logs())
	}
	return rec, errors.Join(err, b.close())
}

// work runs load, faults, rests and samples until the schedule's end.
func (b *bed) work(ctx context.Context, rec *record) error {
	all, stop := context.WithCancel(ctx)
	defer stop()
	var running, sampling sync.WaitGroup
	var gate sync.RWMutex
	sampleCtx, stopSamples := context.WithCancel(ctx)
	defer stopSamples()
	sampling.Go(func() { rec.samples = b.sample(sampleCtx) })
	running.Go(func() { b.load.run(all) })
	running.Go(func() { b.lanes(all, rec.schedule, rec.start, &gate) })
	running.Go(func() { b.progress(all, rec.start) })
	err := b.rests(all, rec, &gate)
	stop()
	running.Wait()
	stopSamples()
	sampling.Wait()
	rec.end = time.Now()
	return err
}

// rests pauses load and faults at the schedule's times.
func (b *bed) rests(ctx context.Context, rec *record, gate *sync.RWMutex) error {
	for _, at := range rec.schedule.Rests {
		for !time.Now().After(rec.start.Add(at)) {
			if !wait(ctx, 100*time.Millisecond) {
				return ctx.Err()
			}
			if err := b.stack.Envoy.Exited(); err != nil {
				return err
			}
		}
		gate.Lock()
		b.load.paused.Store(true)
		r := Rest{At: time.Now()}
		restCtx, cancel := context.WithTimeout(ctx, restPatience)
		if err := harness.Until(restCtx, "all counts to be zero", func() error { return b.idle(ctx) }); err != nil {
			r.Error = err.Error()
		}
		cancel()
		r.Took = time.Since(r.At)
		rec.rests = append(rec.rests, r)
		b.opts.say("%3.0f s: at rest after %v %s", time.Since(rec.start).Seconds(), r.Took.Round(time.Millisecond), r.Error)
		if at != rec.schedule.Rests[len(rec.schedule.Rests)-1] {
			b.load.paused.Store(false)
		}
		gate.Unlock()
	}
	return nil
}

// idle returns what is not zero.
func (b *bed) idle(ctx context.Context) error {
	s := b.look(ctx, false)
	for addr, n := range s.Endpoints {
		if n != 0 {
			return fmt.Errorf("endpoint %s has %d requests", addr, n)
		}
	}
	for addr, n := range s.Agent {
		if n != 0 {
			return fmt.Errorf("the filters have %d requests at %s", n, addr)
		}
	}
	switch {
	case s.Clients != 0:
		return fmt.Errorf("%d clients wait", s.Clients)
	case s.Agent == nil:
		return errors.New("the agent does not tell")
	case len(s.Agent) == 0:
		return errors.New("no filter has reported to the agent")
	case s.Tokens != 0:
		return fmt.Errorf("the filters have %d tokens in flight", s.Tokens)
	}
	stats, err := b.stack.Envoy.Stats(ctx, `^(cluster\.zerohop_(destination|endpoints|fallback)\.upstream_rq_active|http\.clients\.downstream_rq_active)$`)
	if err != nil {
		return err
	}
	if n := stats.Sum("_active"); n != 0 {
		return fmt.Errorf("requests in Envoy: %v", stats)
	}
	return nil
}

// progress says how the run goes.
func (b *bed) progress(ctx context.Context, start time.Time) {
	for wait(ctx, sayEvery) {
		counts := b.load.tally()
		good := counts[Success] + counts[Left]
		var bad []string
		for c, n := range counts {
			if c != Success && c != Left {
				bad = append(bad, fmt.Sprintf("%d %s", n, c))
			}
		}
		slices.Sort(bad)
		b.mu.Lock()
		var now []string
		for _, f := range b.faults {
			if f.End.IsZero() {
				now = append(now, fmt.Sprint(f.Kind))
			}
		}
		b.mu.Unlock()
		b.opts.say("%3.0f s: %d good, errors %v, %d in flight, faults now %v", time.Since(start).Seconds(), good, bad, b.load.inFlight.Load(), now)
	}
}

// gather collects what the processes have written down.
func (b *bed) gather(ctx context.Context, rec *record) error {
	rec.outcomes, rec.faults, rec.edits, rec.agents = b.load.outcomes, b.faults, b.edits, b.agents
	rec.journal = map[string][]simserver.JournalEntry{}
	for _, e := range b.endpoints {
		entries, err := e.readJournal()
		if err != nil {
			return err
		}
		rec.journal[e.addr] = entries
	}
	stats, err := b.stack.Envoy.Stats(ctx, `zerohop_panics_total`)
	if err != nil {
		return err
	}
	rec.panics = int(stats.Sum("zerohop_panics_total"))
	rec.decoys = b.hits
	for _, d := range b.decoys {
		rec.decoys = append(rec.decoys, d.close()...)
	}
	rec.notes, rec.logs = b.notes, b.logs()
	return rec.readDetails(b.stack.Envoy)
}

// readDetails looks up in the access log why Envoy answered requests as it did.
func (rec *record) readDetails(e *harness.Envoy) error {
	rec.details = map[string]string{}
	wanted := map[string]bool{}
	for i := range rec.outcomes {
		if c := rec.outcomes[i].Class; c != Success && c != Left {
			wanted[rec.outcomes[i].ID] = true
		}
	}
	b, err := e.Stdout()
	if err != nil {
		return fmt.Errorf("read access log: %w", err)
	}
	sc := bufio.NewScanner(bytes.NewReader(b))
	sc.Buffer(nil, 1<<20)
	for sc.Scan() {
		var line struct{ Path, Details, Flags string }
		if json.Unmarshal(sc.Bytes(), &line) != nil {
			continue
		}
		if _, id, ok := bytes.Cut([]byte(line.Path), []byte("?id=")); ok && wanted[string(id)] {
			rec.details[string(id)] = line.Details + " " + line.Flags
		}
	}
	for i := range rec.outcomes {
		rec.outcomes[i].resolve(rec.details[rec.outcomes[i].ID])
	}
	return sc.Err()
}
