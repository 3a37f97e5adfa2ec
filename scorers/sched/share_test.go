package sched

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zerohop/zerohop/shared/loads"
	"github.com/zerohop/zerohop/shared/picklog"
	"github.com/zerohop/zerohop/shared/plan"
)

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
