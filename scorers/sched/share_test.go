package sched

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/zerohop/zerohop/scorers"
	"github.com/zerohop/zerohop/scorers/fleet"
	"github.com/zerohop/zerohop/shared/loads"
	"github.com/zerohop/zerohop/shared/picklog"
	"github.com/zerohop/zerohop/shared/plan"
)

// memory is a log that keeps everything.
type memory struct{ records [][]byte }

func (m *memory) Append(record []byte) { m.records = append(m.records, slices.Clone(record)) }

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
		if held := s.index.AppendHashes(nil, slot, 0, 1<<30); len(held) > 0 {
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

// TestWorkersComeToAgree has workers route requests and tell each other in any order. In the end each holds in its index what one
// scheduler would that saw all picks, the plugins remember the same, and each believes the sum of what is in flight.
func TestWorkersComeToAgree(t *testing.T) {
	p := sessionPlan(4, "session_id", "no-hit-lru-scorer")
	rapid.Check(t, func(r *rapid.T) {
		const n = 3
		x := newProcess(t, n, p)
		one := newScheduler(t, p)
		var live []*request
		now, lossy := uint64(1000*ms), false
		worker := func(r *rapid.T) int { return rapid.IntRange(0, n-1).Draw(r, "worker") }
		r.Repeat(map[string]func(*rapid.T){
			"send": func(r *rapid.T) {
				now += ms
				ids := rapid.SliceOfN(rapid.Uint64Range(1, 3), 0, 5).Draw(r, "blocks")
				q := x.send(worker(r), now, ids, rapid.SampledFrom([]string{"", "s", "t", "u"}).Draw(r, "session"))
				live = append(live, q)
				chain := promptOf(ids)
				one.lookUp(chain)
				one.index.Record(chain.IDs, slotOf(t, one, x.at(q)))
			},
			"first byte": func(r *rapid.T) {
				if len(live) > 0 {
					q := rapid.SampledFrom(live).Draw(r, "request")
					x.s[q.worker].FirstByte(&q.d)
					x.write(q.worker, now)
				}
			},
			"end": func(r *rapid.T) {
				if len(live) > 0 {
					i := rapid.IntRange(0, len(live)-1).Draw(r, "request")
					q := live[i]
					x.s[q.worker].Done(now, &q.d, false)
					x.s[q.worker].Done(now, &q.d, false)
					x.write(q.worker, now)
					live = slices.Delete(live, i, i+1)
				}
			},
			"hear": func(r *rapid.T) {
				if i, peer := worker(r), worker(r); i != peer {
					x.hear(i, peer)
				}
			},
			"fold": func(r *rapid.T) {
				if i, peer := worker(r), worker(r); i != peer {
					x.fold(i, peer, rapid.IntRange(1, 4).Draw(r, "records"))
				}
			},
			"lose": func(r *rapid.T) {
				if i, peer := worker(r), worker(r); i != peer && rapid.IntRange(0, 9).Draw(r, "rarely") == 0 && x.seen[i][peer] < len(x.log[peer].records) {
					x.seen[i][peer]++
					lossy = true
				}
			},
			"peer is silent": func(r *rapid.T) {
				if i, peer := worker(r), worker(r); i != peer {
					x.s[i].Leave(peer)
				}
			},
			"": func(r *rapid.T) {
				for _, s := range x.s {
					sane(r, s)
				}
			},
		})
		x.exchange(now)
		want, first := sorted(blocks(one)), events(x.s[0])
		truth := map[string]load{}
		for _, q := range live {
			l := truth[x.at(q)]
			l.InFlight++
			if q.d.State&holdsPrefill != 0 {
				l.Tokens += int64(q.d.Charged)
			}
			truth[x.at(q)] = l
		}
		for i, s := range x.s {
			if got := sorted(blocks(s)); !lossy {
				if diff := cmp.Diff(want, got); diff != "" {
					r.Fatalf("index of worker %d (-one scheduler +got):\n%s", i, diff)
				}
				if diff := cmp.Diff(first, events(s)); diff != "" {
					r.Fatalf("plugins of worker %d (-worker 0 +got):\n%s", i, diff)
				}
			} else {
				for name, held := range got {
					for _, h := range held {
						if !slices.Contains(want[name], h) {
							r.Fatalf("worker %d believes that %s holds %x, which nobody sent there", i, name, h)
						}
					}
				}
			}
			if diff := cmp.Diff(truth, booked(s)); diff != "" {
				r.Fatalf("in flight at worker %d (-true sum +got):\n%s", i, diff)
			}
		}
		for _, q := range live {
			x.s[q.worker].Done(now, &q.d, false)
		}
		x.exchange(now)
		for i, s := range x.s {
			if left := booked(s); len(left) > 0 {
				r.Fatalf("worker %d at rest: %v", i, left)
			}
		}
		if x.results[Folded] > 0 && len(x.results) > 1 {
			r.Fatalf("results of folding: %v", x.results)
		}
	})
}

// TestFoldedInOrder folds picks in the order in which they were made, in an index that has to evict: order and evictions are
// those of one scheduler that saw all.
func TestFoldedInOrder(t *testing.T) {
	p := testPlan(3)
	p.Prefix.LRUCapacityPerServer = 7
	rapid.Check(t, func(r *rapid.T) {
		x, one := newProcess(t, 3, p), newScheduler(t, p)
		for i := range rapid.IntRange(1, 40).Draw(r, "requests") {
			now := uint64(i+1) * ms
			ids := rapid.SliceOfN(rapid.Uint64Range(1, 3), 1, 5).Draw(r, "blocks")
			q := x.send(rapid.IntRange(0, 2).Draw(r, "worker"), now, ids, "")
			chain := promptOf(ids)
			one.lookUp(chain)
			one.index.Record(chain.IDs, slotOf(t, one, x.at(q)))
			x.s[q.worker].Done(now, &q.d, false)
			x.exchange(now)
		}
		for i, s := range x.s {
			if diff := cmp.Diff(blocks(one), blocks(s)); diff != "" {
				r.Fatalf("index of worker %d (-one scheduler +got):\n%s", i, diff)
			}
		}
	})
}

// TestHealthIsShared has endpoints fail, recover and be probed on several workers.
func TestHealthIsShared(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		x := newProcess(t, 3, testPlan(3))
		now := uint64(1000 * ms)
		for range rapid.IntRange(1, 25).Draw(r, "requests") {
			now += rapid.Uint64Range(1, 900).Draw(r, "ms") * ms
			i := rapid.IntRange(0, 2).Draw(r, "worker")
			if rapid.Bool().Draw(r, "look") {
				x.look(i)
			}
			q := x.send(i, now, []uint64{1}, "")
			now += ms
			switch rapid.IntRange(0, 3).Draw(r, "end") {
			case 0:
				x.s[i].Done(now, &q.d, true)
			case 1:
				x.s[i].Done(now, &q.d, false)
			default:
				x.s[i].Status(now, &q.d, rapid.SampledFrom([]int{200, 500}).Draw(r, "status"))
				now++
				x.s[i].Done(now, &q.d, false)
			}
		}
		x.exchange(now)
		for i, s := range x.s {
			if diff := cmp.Diff(health(x.s[0]), health(s)); diff != "" {
				r.Fatalf("health at worker %d (-worker 0 +got):\n%s", i, diff)
			}
			usable := 0
			for _, slot := range s.fleet.Live() {
				if !s.fleet.Usable(now, slot) {
					usable++
				}
			}
			if cand, _ := s.fleet.Candidates(now, nil); usable < len(s.fleet.Live()) && len(cand) == 0 {
				r.Fatalf("worker %d has no candidates", i)
			}
		}
	})
}

// TestOnlyPicksAreLogged counts the records of what happens to a worker.
func TestOnlyPicksAreLogged(t *testing.T) {
	p := sessionPlan(2, "session_id", "no-hit-lru-scorer")
	x := newProcess(t, 2, p)
	logged := func() int { return len(x.log[0].records) }
	steps := []struct {
		name string
		do   func()
		want int
	}{
		{"a cold pick of a session: pick, binding, order", func() { x.send(0, 1000*ms, []uint64{1}, "s") }, 3},
		{"a dry run", func() {
			var d Decision
			dry := promptOf([]uint64{1})
			dry.Dry = true
			x.s[0].Decide(1001*ms, dry, &d)
			x.s[0].Commit(1001*ms, dry, &d)
		}, 0},
		{"what a peer did", func() {
			x.send(1, 1002*ms, []uint64{2}, "t")
			x.look(0)
		}, 0},
		{"an unknown prompt", func() { x.send(0, 1003*ms, nil, "") }, 1}, // the order of cold requests
		{"a failure", func() {
			q := x.send(0, 1004*ms, nil, "")
			before := logged()
			x.s[0].Done(1005*ms, &q.d, true)
			if n := logged() - before; n < 1 {
				t.Errorf("a failure makes %d records", n)
			}
		}, -1},
		{"alone", func() {
			x.s[0].ShareWith(nil, 0)
			x.s[0].Decide(1006*ms, promptOf([]uint64{3}), &Decision{})
			q := &request{}
			pr := promptOf([]uint64{3})
			x.s[0].Decide(1006*ms, pr, &q.d)
			x.s[0].Commit(1006*ms, pr, &q.d)
			x.s[0].Done(1007*ms, &q.d, true)
		}, 0},
	}
	for _, st := range steps {
		before := logged()
		if st.do(); st.want >= 0 && logged()-before != st.want {
			t.Errorf("%s: %d records, want %d", st.name, logged()-before, st.want)
		}
	}
}

// TestNumbersOfRecords turns sharing off and on: numbers begin at 1 in each epoch, and never stand for two records.
func TestNumbersOfRecords(t *testing.T) {
	x := newProcess(t, 1, testPlan(2))
	s, l := x.s[0], x.log[0]
	pick := func() {
		q := x.send(0, 1000*ms, []uint64{1}, "")
		s.Done(1001*ms, &q.d, false)
	}
	head := func() uint64 {
		v, err := loads.Open(s.Vector(1002*ms, 1))
		if err != nil {
			t.Fatal(err)
		}
		return v.Head
	}
	pick()
	s.ShareWith(nil, 0)
	p := promptOf([]uint64{1})
	var d Decision
	s.Decide(1003*ms, p, &d)
	s.Commit(1003*ms, p, &d)
	s.ShareWith(l, 100)
	pick()
	if n := head(); n != 2 || picklog.Seq(l.records[1]) != 2 {
		t.Errorf("head %d after two picks with peers", n)
	}
	s.ShareWith(l, 200)
	if n := head(); n != 0 {
		t.Errorf("head %d in an epoch without records", n)
	}
	pick()
	if n := head(); n != 1 || picklog.Seq(l.records[2]) != 1 {
		t.Errorf("head %d after the first pick of an epoch", n)
	}
}

func TestFoldResults(t *testing.T) {
	p := sessionPlan(2, "session_id")
	x := newProcess(t, 2, p)
	x.send(0, 1000*ms, []uint64{1, 2}, "s")
	var pick, binding []byte
	for _, r := range x.log[0].records {
		if r[2] == 1 {
			pick = r
		} else {
			binding = r
		}
	}
	changed := func(b []byte, at int, v byte) []byte { b = slices.Clone(b); b[at] ^= v; return b }
	tests := []struct {
		name   string
		record []byte
		want   FoldResult
	}{
		{"a pick", pick, Folded},
		{"the same again", pick, Folded},
		{"a binding", binding, Folded},
		{"an endpoint that is not known", changed(pick, 32, 1), UnknownSubject},
		{"a plugin that is not known", changed(binding, 40, 1), UnknownSubject},
		{"a kind that is not known", changed(pick, 2, 0x40), UnknownSubject},
		{"another block size", changed(pick, 4, 1), OtherBlockSize},
		{"no record", pick[:20], BrokenRecord},
		{"nothing", nil, BrokenRecord},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := x.s[1].Fold(tt.record); got != tt.want {
				t.Errorf("result %d, want %d", got, tt.want)
			}
		})
	}
	if diff := cmp.Diff(blocks(x.s[0]), blocks(x.s[1])); diff != "" {
		t.Errorf("index (-writer +reader):\n%s", diff)
	}
}

// TestUniversalPrefixOfAllWorkers has two workers that see half of the requests each, which share their first blocks. Half of
// them is too few to tell.
func TestUniversalPrefixOfAllWorkers(t *testing.T) {
	x := newProcess(t, 2, testPlan(2))
	for i := range 24 {
		x.send(i%2, uint64(1000+i)*ms, []uint64{1, 2, uint64(100 + i)}, "")
		x.exchange(uint64(1000+i) * ms)
	}
	for i, s := range x.s {
		p := promptOf([]uint64{1, 2, 999})
		var d Decision
		if s.Decide(2000*ms, p, &d); d.Universal != 2 {
			t.Errorf("worker %d leaves out %d blocks, want 2", i, d.Universal)
		}
	}
}

// dumpOf returns the chunks of one whole dump of s.
func dumpOf(t testing.TB, s *Scheduler, limit int) [][]byte {
	t.Helper()
	var out [][]byte
	var c DumpCursor
	for range 100_000 {
		b := s.AppendDump([]byte("before"), 5000*ms, &c, limit)
		if len(b)-len("before") > limit {
			t.Fatalf("a chunk of %d bytes, want at most %d", len(b), limit)
		}
		if out = append(out, b[len("before"):]); c == (DumpCursor{}) {
			return out
		}
	}
	t.Fatal("the dump does not end")
	return nil
}

// TestRestoreOfADump restores a scheduler whose endpoints are in other slots from the chunks of another.
func TestRestoreOfADump(t *testing.T) {
	p := sessionPlan(5, "session_id", "no-hit-lru-scorer")
	p.Prefix.LRUCapacityPerServer = 40
	for _, limit := range []int{120, 400, 64 << 10} {
		t.Run(fmt.Sprint(limit), func(t *testing.T) {
			x := newProcess(t, 1, p)
			rand := scorers.NewRand(5)
			for i := range 200 {
				ids := make([]uint64, 1+rand.Intn(8))
				for b := range ids {
					ids[b] = uint64(1 + rand.Intn(3))
				}
				now := uint64(1000+i) * ms
				q := x.send(0, now, ids, fmt.Sprint(rand.Intn(30)))
				x.s[0].Done(now, &q.d, i%50 == 49)
			}
			if len(health(x.s[0])) == 0 {
				t.Fatal("no endpoint has failed, the test tests less than it should")
			}
			fresh := newScheduler(t, rotated(p, 2))
			restored := 0
			for _, chunk := range dumpOf(t, x.s[0], limit) {
				n, ok := fresh.Restore(chunk)
				if restored += n; !ok {
					t.Fatal("a chunk was refused")
				}
			}
			if restored != x.s[0].index.Len() {
				t.Errorf("%d blocks restored, want %d", restored, x.s[0].index.Len())
			}
			if diff := cmp.Diff(blocks(x.s[0]), blocks(fresh)); diff != "" {
				t.Errorf("index (-dumped +restored):\n%s", diff)
			}
			if diff := cmp.Diff(events(x.s[0]), events(fresh)); diff != "" {
				t.Errorf("plugins (-dumped +restored):\n%s", diff)
			}
			if diff := cmp.Diff(health(x.s[0]), health(fresh)); diff != "" {
				t.Errorf("health (-dumped +restored):\n%s", diff)
			}
		})
	}
}

// TestDumpInParts goes on with requests between the chunks, whose records are folded after the dump: nothing is missing.
func TestDumpInParts(t *testing.T) {
	p := testPlan(2)
	x := newProcess(t, 1, p)
	n := uint64(0)
	send := func() {
		n++
		q := x.send(0, (1000+n)*ms, []uint64{n % 7, n % 5, n, n % 3}, "")
		x.s[0].Done((1000+n)*ms, &q.d, false)
	}
	for range 50 {
		send()
	}
	x.log[0].records = nil // what was logged before the dump began is overwritten
	fresh := newScheduler(t, rotated(p, 1))
	var c DumpCursor
	for done := false; !done; done = c == (DumpCursor{}) {
		if _, ok := fresh.Restore(x.s[0].AppendDump(nil, 5000*ms, &c, 200)); !ok {
			t.Fatal("a chunk was refused")
		}
		send()
	}
	for _, r := range x.log[0].records {
		fresh.Fold(r)
	}
	if diff := cmp.Diff(sorted(blocks(x.s[0])), sorted(blocks(fresh))); diff != "" {
		t.Errorf("index (-dumped +restored):\n%s", diff)
	}
}

func TestRestoreRefuses(t *testing.T) {
	x := newProcess(t, 1, testPlan(2))
	x.send(0, 1000*ms, []uint64{1, 2}, "")
	chunk := dumpOf(t, x.s[0], 1000)[0]
	other := testPlan(2)
	other.Prefix.BlockSizeTokens = 128
	tests := []struct {
		name  string
		plan  *plan.Plan
		chunk []byte
	}{
		{"nothing", testPlan(2), nil},
		{"a chunk that was cut", testPlan(2), chunk[:len(chunk)-1]},
		{"another block size", other, chunk},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newScheduler(t, tt.plan)
			if n, ok := s.Restore(tt.chunk); ok || n != 0 || s.index.Len() != 0 {
				t.Errorf("restored %d blocks, %v", n, ok)
			}
		})
	}
	unknown := testPlan(3)
	unknown.Endpoints = unknown.Endpoints[2:]
	s := newScheduler(t, unknown)
	if n, ok := s.Restore(chunk); !ok || n != 0 {
		t.Errorf("a dump of other endpoints: %d blocks, %v", n, ok)
	}
}

// TestDeadWorker has a worker vanish with requests in flight, and another take its number.
func TestDeadWorker(t *testing.T) {
	x := newProcess(t, 3, testPlan(2))
	for k := range 6 {
		x.send(k%3, uint64(1000+k)*ms, []uint64{uint64(k)}, "")
	}
	x.exchange(1010 * ms)
	sum := func(i int) (n int32) {
		for _, l := range booked(x.s[i]) {
			n += l.InFlight
		}
		return n
	}
	if sum(1) != 6 {
		t.Fatalf("%d in flight, want 6", sum(1))
	}
	x.s[1].Leave(0)
	if sum(1) != 4 {
		t.Errorf("%d in flight without the dead worker, want 4", sum(1))
	}
	x.rebuild(0)
	x.exchange(1020 * ms)
	for i := range x.s {
		if sum(i) != 4 {
			t.Errorf("worker %d: %d in flight after the rebuild, want 4", i, sum(i))
		}
	}
	if st := x.s[1].Stats(1020 * ms); st.InFlight != 2 {
		t.Errorf("Stats has %d in flight, want the 2 of this worker", st.InFlight)
	}
	for _, e := range x.s[1].AppendLoads(1020*ms, nil, 10) {
		if e.InFlight > 2 {
			t.Errorf("the report has %d in flight at one endpoint, more than this worker's", e.InFlight)
		}
	}
}

// TestEndpointsChangeUnderSharedLoad removes an endpoint with open streams on two workers and adds it again, and gives a name
// another address in one update.
func TestEndpointsChangeUnderSharedLoad(t *testing.T) {
	all := testPlan(3)
	x := newProcess(t, 2, all)
	everywhere := func(p *plan.Plan, seq uint32, now uint64) {
		for _, s := range x.s {
			publish(t, s, p, seq, now, make([]metrics, len(p.Endpoints))...)
		}
		x.exchange(now)
	}
	everywhere(all, 1, 1000*ms)
	var open []*request
	for k := range 9 {
		open = append(open, x.send(k%2, uint64(1001+k)*ms, []uint64{uint64(k)}, ""))
		x.exchange(uint64(1001+k) * ms)
	}
	check := func(when string, want int32) {
		t.Helper()
		for i, s := range x.s {
			total := int32(0)
			sane(t, s)
			for _, l := range booked(s) {
				total += l.InFlight
			}
			if total != want {
				t.Errorf("%s: worker %d has %d in flight, want %d", when, i, total, want)
			}
		}
	}
	check("before", 9)
	atB := int32(0)
	for _, q := range open {
		if x.at(q) == "B" {
			atB++
		}
	}
	without := testPlan(3)
	without.Endpoints = slices.Delete(without.Endpoints, 1, 2)
	everywhere(without, 2, 1100*ms)
	check("without B", 9-atB)
	everywhere(all, 3, 1200*ms)
	check("with B again", 9-atB)
	readdressed := testPlan(3)
	readdressed.Endpoints[0].Address = "10.9.9.9:80"
	atA := int32(0)
	for _, q := range open {
		if q.d.Cur >= 0 && x.s[q.worker].fleet.Valid(q.d.Cur, q.d.CurGen) && x.at(q) == "A" {
			atA++
		}
	}
	everywhere(readdressed, 4, 1300*ms)
	check("A has another address", 9-atB-atA)
	for _, q := range open {
		x.s[q.worker].Done(1400*ms, &q.d, false)
		x.exchange(1400 * ms)
		check("while they end", sumOf(x))
	}
	check("at rest", 0)
}

// sumOf returns what all workers have in flight themselves.
func sumOf(x *process) (n int32) {
	for _, s := range x.s {
		n += int32(s.Stats(0).InFlight)
	}
	return n
}
