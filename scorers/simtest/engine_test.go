package simtest

import (
	"container/heap"
	"slices"
	"strconv"
	"time"

	"github.com/zerohop/zerohop/e2e/engine"
	"github.com/zerohop/zerohop/scorers/sched"
	"github.com/zerohop/zerohop/shared/snapshot"
)

// world is a fleet of modelled engines behind one policy, in virtual time.
type world struct {
	engines []*engine.Engine
	events  events
	snaps   []snapshot.Endpoint
	flight  map[uint64]*flight
	now     time.Duration

	requests, uncached []float64
	ttft               []time.Duration
}

// flight is a request on its way.
type flight struct {
	arrived time.Duration
	worker  int // whose scheduler decided
	d       sched.Decision
	first   bool
}

// team has the schedulers of all workers.
type team []*sched.Scheduler

// event is something that happens to an engine: a step ends, or it is scraped.
type event struct {
	at   time.Duration
	kind int
	who  int
}

const (
	stepEnds = iota
	scraped
	arrives
)

type events []event

func (e events) Len() int           { return len(e) }
func (e events) Less(i, j int) bool { return e[i].at < e[j].at }
func (e events) Swap(i, j int)      { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)        { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	last := len(*e) - 1
	x := (*e)[last]
	*e = (*e)[:last]
	return x
}

// policy picks an endpoint for a request.
type policy interface {
	pick(w *world, r *request, f *flight) int
}

func newWorld(capacity int) *world {
	w := &world{
		flight: map[uint64]*flight{}, requests: make([]float64, endpoints), uncached: make([]float64, endpoints),
	}
	for i := range endpoints {
		e, err := engine.New(engine.Config{CapacityTokens: capacity})
		if err != nil {
			panic(err)
		}
		w.engines = append(w.engines, e)
		name, address := []byte("ns/ep-"+strconv.Itoa(i)), []byte("10.0.0."+strconv.Itoa(i+1)+":8000")
		w.snaps = append(w.snaps, snapshot.Endpoint{
			ID: snapshot.EndpointID(name, address), Name: name, Address: address,
			BlockSize: engine.DefaultBlockTokens, NumBlocks: uint32(capacity / engine.DefaultBlockTokens),
			ScrapeAgeMs: snapshot.NeverScraped,
		})
	}
	return w
}

// run sends the requests through p. Each engine is scraped every interval, at its own phase; 0 means never.
func (w *world) run(reqs []request, p policy, workers team, interval time.Duration) outcome {
	for i := range endpoints {
		if interval > 0 {
			heap.Push(&w.events, event{interval * time.Duration(i) / endpoints, scraped, i})
		}
	}
	heap.Push(&w.events, event{reqs[0].At, arrives, 0})
	left := len(reqs)
	for left > 0 || len(w.flight) > 0 {
		ev := heap.Pop(&w.events).(event)
		w.now = ev.at
		switch ev.kind {
		case scraped:
			w.scrape(ev.who, workers)
			heap.Push(&w.events, event{ev.at + interval, scraped, ev.who})
		case arrives:
			w.arrive(uint64(ev.who), &reqs[ev.who], p)
			left--
			if ev.who+1 < len(reqs) {
				heap.Push(&w.events, event{reqs[ev.who+1].At, arrives, ev.who + 1})
			}
		case stepEnds:
			w.finish(ev.who, workers)
		}
	}
	return w.outcome()
}

func (w *world) scrape(i int, workers team) {
	st := w.engines[i].Stats()
	e := &w.snaps[i]
	e.Waiting, e.Running, e.KVUsage = uint32(st.Waiting), uint32(st.Running), float32(st.KVUsage())
	e.ScrapeSeq++
	e.ScrapeAgeMs = 2
	for _, s := range workers {
		s.Apply(w.view(), w.nanos(), w.nanos())
	}
}

func (w *world) nanos() uint64 { return uint64(w.now) + 1e9 }

// view encodes the endpoints as the agent does.
func (w *world) view() snapshot.View {
	sorted := slices.Clone(w.snaps)
	slices.SortFunc(sorted, func(a, b snapshot.Endpoint) int {
		if a.ID < b.ID {
			return -1
		}
		return 1
	})
	b, err := snapshot.Append(nil, 1, sorted)
	if err != nil {
		panic(err)
	}
	v, err := snapshot.Open(b)
	if err != nil {
		panic(err)
	}
	return v
}

func (w *world) arrive(id uint64, r *request, p policy) {
	f := &flight{arrived: w.now}
	i := p.pick(w, r, f)
	w.requests[i]++
	w.flight[id] = f
	if err := w.engines[i].Submit(w.now, engine.Request{ID: id, Prompt: r.prompt, MaxTokens: max(1, r.OutputTokens)}); err != nil {
		panic(err)
	}
	w.step(i)
}

// step starts a step unless one is on its way.
func (w *world) step(i int) {
	if w.busy(i) {
		return
	}
	if end, ok := w.engines[i].Begin(w.now); ok {
		heap.Push(&w.events, event{end, stepEnds, i})
	}
}

func (w *world) busy(i int) bool {
	for _, e := range w.events {
		if e.kind == stepEnds && e.who == i {
			return true
		}
	}
	return false
}

func (w *world) finish(i int, workers team) {
	for _, o := range w.engines[i].End() {
		f := w.flight[o.ID]
		if o.Token && !f.first {
			f.first = true
			w.ttft = append(w.ttft, w.now-f.arrived)
			if len(workers) > 0 {
				s := workers[f.worker]
				s.Status(w.nanos(), &f.d, 200)
				s.FirstByte(&f.d)
			}
		}
		if o.Finished {
			if len(workers) > 0 {
				workers[f.worker].Done(w.nanos(), &f.d, false)
			}
			delete(w.flight, o.ID)
		}
	}
	w.step(i)
}

func (w *world) outcome() outcome {
	var queries, hits float64
	for i, e := range w.engines {
		st := e.Stats()
		queries += float64(st.PrefixQueries)
		hits += float64(st.PrefixHits)
		w.uncached[i] = float64(st.PrefixQueries - st.PrefixHits)
	}
	slices.Sort(w.ttft)
	return outcome{
		hit: hits / queries, busiest: imbalance(w.requests), uncached: imbalance(w.uncached),
		ttft50: w.ttft[len(w.ttft)/2], ttft90: w.ttft[len(w.ttft)*9/10],
	}
}
