package sched

import (
	"slices"
	"testing"

	"github.com/zerohop/zerohop/scorers"
	"github.com/zerohop/zerohop/scorers/fleet"
	"github.com/zerohop/zerohop/shared/loads"
	"github.com/zerohop/zerohop/shared/plan"
)

// memory is a log that keeps everything.
type memory struct {
	records [][]byte
	fetch   func(block uint64) bool // nil if no record waits
}

// Append implements Log. Few records wait.
func (m *memory) Append(record []byte) bool {
	m.records = append(m.records, slices.Clone(record))
	return len(m.records)%8 == 0
}

func (m *memory) Fetch(block uint64) bool { return m.fetch != nil && m.fetch(block) }

// process is several schedulers of one Envoy with what stands in its shared data.
type process struct {
	t       testing.TB
	plan    *plan.Plan
	s       []*Scheduler
	log     []*memory
	vector  [][]byte
	seen    [][]int // by reader, then by writer: records of its log that were folded or lost
	results map[FoldResult]int
}

// newProcess returns n schedulers that have the endpoints of p in different slots.
func newProcess(t testing.TB, n int, p *plan.Plan) *process {
	x := &process{t: t, plan: p, results: map[FoldResult]int{}}
	for i := range n {
		x.s = append(x.s, nil)
		x.log, x.vector, x.seen = append(x.log, nil), append(x.vector, nil), append(x.seen, make([]int, n))
		x.rebuild(i)
	}
	return x
}

// rebuild makes worker i anew, as after a trap.
func (x *process) rebuild(i int) {
	x.s[i], x.log[i] = newScheduler(x.t, rotated(x.plan, i)), &memory{}
	x.s[i].ShareWith(x.log[i], uint64(100+i))
	clear(x.seen[i])
	for reader := range x.seen {
		if x.seen[reader] != nil {
			x.seen[reader][i] = 0
		}
	}
	x.write(i, 1)
}

// rotated returns p with its endpoints in another order, which puts them into other slots.
func rotated(p *plan.Plan, by int) *plan.Plan {
	out := *p
	by %= len(p.Endpoints)
	out.Endpoints = append(slices.Clone(p.Endpoints[by:]), p.Endpoints[:by]...)
	return &out
}

// write puts the vector of worker i into shared data.
func (x *process) write(i int, now uint64) { x.vector[i] = slices.Clone(x.s[i].Vector(now, 1)) }

// hear has worker i merge the vector of one peer.
func (x *process) hear(i, peer int) {
	v, err := loads.Open(x.vector[peer])
	if err != nil {
		x.t.Fatal(err)
	}
	x.s[i].Merge(peer, &v)
}

// fold has worker i fold at most limit records of one peer.
func (x *process) fold(i, peer, limit int) {
	for ; x.seen[i][peer] < len(x.log[peer].records) && limit > 0; limit-- {
		x.results[x.s[i].Fold(x.log[peer].records[x.seen[i][peer]])]++
		x.seen[i][peer]++
	}
}

// look has worker i learn all that stands in shared data.
func (x *process) look(i int) {
	for peer := range x.s {
		if peer != i {
			x.hear(i, peer)
			x.fold(i, peer, 1<<30)
		}
	}
}

// exchange has everybody tell everything to all.
func (x *process) exchange(now uint64) {
	for i := range x.s {
		x.write(i, now)
	}
	for i := range x.s {
		x.look(i)
	}
}

// request is a request under way.
type request struct {
	worker int
	d      Decision
}

// send decides and commits a request on worker i. A session may be empty.
func (x *process) send(i int, now uint64, ids []uint64, session string) *request {
	s, r := x.s[i], &request{worker: i}
	p := promptOf(slices.Clone(ids))
	w := s.Wants().Headers
	p.Headers.Reset(len(w))
	for h := range w {
		if session != "" {
			p.Headers.Set(scorers.HeaderID(h), []byte(session), 1000)
		}
	}
	s.Decide(now, p, &r.d)
	s.Commit(now, p, &r.d)
	x.write(i, now)
	return r
}

// at returns the letter of the endpoint that has r.
func (x *process) at(r *request) string { return string(x.s[r.worker].Name(r.d.Cur)[3:]) }

// blocks returns by endpoint what an index holds, most recently used first.
func blocks(s *Scheduler) map[string][]uint64 {
	out := map[string][]uint64{}
	for _, slot := range s.fleet.Live() {
		if held, _ := s.index.AppendRuns(nil, nil, slot, 0, 0, 0, 1<<30); len(held) > 0 {
			out[string(s.Name(slot)[3:])] = held
		}
	}
	return out
}

// sorted returns m with its lists in order.
func sorted(m map[string][]uint64) map[string][]uint64 {
	for _, list := range m {
		slices.Sort(list)
	}
	return m
}

// event is one event of a plugin's state without slots.
type event struct {
	Endpoint string
	Key, At  uint64
}

// events returns what the plugins of s remember, by instance.
func events(s *Scheduler) map[uint64][]event {
	out := map[uint64][]event{}
	for i := range s.set.sharers {
		h := &s.set.sharers[i]
		for k := range h.Events() {
			if e, ok := h.Event(k); ok {
				out[h.id] = append(out[h.id], event{string(s.Name(e.Slot)[3:]), e.Key, e.At})
			}
		}
		slices.SortFunc(out[h.id], func(a, b event) int { return int(a.At) - int(b.At) })
	}
	return out
}

// health returns by endpoint what is known of those that are impaired.
func health(s *Scheduler) map[string]fleet.Health {
	out := map[string]fleet.Health{}
	for _, slot := range s.fleet.Live() {
		if h := s.fleet.Health(slot); h.Level > 0 {
			out[string(s.Name(slot)[3:])] = h
		}
	}
	return out
}

// sane fails if anything that plugins read of load is below zero.
func sane(t interface{ Fatalf(string, ...any) }, s *Scheduler) {
	v := s.View()
	for _, slot := range s.fleet.Live() {
		if v.InFlight[slot] < 0 || v.InFlightTokens[slot] < 0 || v.Waiting[slot] < 0 {
			t.Fatalf("%s has %d in flight, %d tokens, %v waiting", s.Name(slot), v.InFlight[slot], v.InFlightTokens[slot], v.Waiting[slot])
		}
	}
}
