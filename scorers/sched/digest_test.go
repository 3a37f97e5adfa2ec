package sched

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/zerohop/zerohop/shared/loads"
	"github.com/zerohop/zerohop/shared/plan"
)

// waiting is what a worker has read of a peer whose records may wait.
type waiting struct {
	head   int // records
	digest loads.Digest
}

// patient are workers that let the records of others wait.
type patient struct {
	*process
	known [][]waiting // by reader, then by writer
}

func newPatient(t testing.TB, n, endpoints int) *patient {
	x := &patient{process: newProcess(t, n, testPlan(endpoints))}
	for i := range n {
		x.known = append(x.known, make([]waiting, n))
		x.log[i].fetch = func(block uint64) bool { return x.fetch(i, block) }
	}
	return x
}

// look has worker i read the vectors of all, and fold what must not wait.
func (x *patient) look(i int) {
	for peer := range x.s {
		v, err := loads.Open(x.vector[peer])
		if err != nil {
			x.t.Fatal(err)
		}
		if peer == i {
			continue
		}
		k := &x.known[i][peer]
		k.head = int(v.Head)
		if v.Digest(&k.digest); x.seen[i][peer] < int(k.digest.First())-1 {
			x.fold(i, peer, k.head-x.seen[i][peer])
		}
	}
}

func (x *patient) fetch(i int, block uint64) (found bool) {
	for peer := range x.s {
		if k := &x.known[i][peer]; x.seen[i][peer] < k.head && k.digest.MayName(block) {
			x.fold(i, peer, k.head-x.seen[i][peer])
			found = true
		}
	}
	return found
}

// TestFetch has a worker ask for what waits: it reads the records that name the prompt, and no others.
func TestFetch(t *testing.T) {
	x := newPatient(t, 4, 3)
	a, b := []uint64{1, 2, 3}, []uint64{1, 2, 3, 4, 5}
	first := x.send(0, 1000*ms, a, "")
	x.look(1)
	x.send(1, 1001*ms, b, "") // goes on where the other one ended
	x.send(2, 1002*ms, []uint64{7, 8}, "")
	x.look(3)
	if x.seen[3][0]+x.seen[3][1]+x.seen[3][2] != 0 {
		t.Fatalf("read before it was asked for: %v", x.seen[3])
	}
	last := x.send(3, 1003*ms, []uint64{1, 2, 3, 4, 5, 6}, "")
	if x.at(first) != x.at(last) || last.d.Matched != 5 {
		t.Errorf("%d blocks matched at %s, want 5 at %s", last.d.Matched, x.at(last), x.at(first))
	}
	if x.seen[3][0] != 1 || x.seen[3][1] != 1 || x.seen[3][2] != 0 {
		t.Errorf("records read of the others: %v, want one of each of the first two", x.seen[3][:3])
	}
}

// TestFetchMoved asks for a prompt that was moved when the endpoint that had it went.
func TestFetchMoved(t *testing.T) {
	x := newPatient(t, 2, 3)
	chain := []uint64{1, 2, 3}
	q, s := x.send(0, 1000*ms, chain, ""), x.s[0]
	for k := range 7 {
		x.send(0, 1000*ms, []uint64{uint64(100 + k)}, "")
	}
	x.look(1) // all of these, for they are many
	left := *x.plan
	left.Endpoints = slices.DeleteFunc(slices.Clone(left.Endpoints), func(e plan.Endpoint) bool { return e.Name[len(e.Name)-1:] == x.at(q) })
	for i := range x.s {
		if err := x.s[i].Reconfigure(&left); err != nil {
			t.Fatal(err)
		}
	}
	next := s.Next(1001*ms, &q.d)
	s.Retry(1001*ms, &q.d, next, s.Gen(next))
	x.write(0, 1001*ms)
	x.look(1)
	last := x.send(1, 1002*ms, chain, "")
	if x.at(q) != x.at(last) || last.d.Matched != 3 {
		t.Errorf("%d blocks matched at %s, want 3 at %s", last.d.Matched, x.at(last), x.at(q))
	}
}

// TestUrgentRecords counts what a worker reads without asking: all up to a record that is no pick, and all of many.
func TestUrgentRecords(t *testing.T) {
	x := newPatient(t, 2, 3)
	var open []*request
	for k := range 3 {
		open = append(open, x.send(0, 1000*ms, []uint64{uint64(k), 9}, ""))
	}
	if x.look(1); x.seen[1][0] != 0 {
		t.Errorf("%d picks were read", x.seen[1][0])
	}
	x.s[0].Done(1001*ms, &open[0].d, true)
	x.write(0, 1001*ms)
	if x.look(1); x.seen[1][0] != len(x.log[0].records) || x.seen[1][0] < 5 {
		t.Errorf("%d records were read after a failure, of %d", x.seen[1][0], len(x.log[0].records))
	}
	for k := len(x.log[0].records); k%8 != 7; k++ {
		x.send(0, 1002*ms, []uint64{uint64(100 + k)}, "")
	}
	seen := x.seen[1][0]
	if x.look(1); x.seen[1][0] != seen {
		t.Errorf("%d picks were read", x.seen[1][0]-seen)
	}
	x.send(0, 1002*ms, []uint64{99}, "")
	if x.look(1); x.seen[1][0] != len(x.log[0].records) {
		t.Errorf("%d records were read of %d, when many waited", x.seen[1][0], len(x.log[0].records))
	}
}

// TestNothingMissed has workers send prompts that share beginnings, as few others wait for and as many: one that looks before its
// decision knows as many blocks of its prompt as one that reads everything at once, but for less than a stride.
func TestNothingMissed(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		const n = 3
		x, all := newPatient(t, n, 2), newScheduler(t, testPlan(2))
		for k := range rapid.IntRange(1, 30).Draw(r, "requests") {
			var ids []uint64
			for range rapid.IntRange(1, 4).Draw(r, "parts") {
				part := rapid.Uint64Range(1, 3).Draw(r, "part")
				for i := range rapid.SampledFrom([]uint64{1, 3, 20}).Draw(r, "length") {
					ids = append(ids, part<<8+i)
				}
			}
			i, now := rapid.IntRange(0, n-1).Draw(r, "worker"), uint64(1000+k)*ms
			x.look(i)
			chain := promptOf(append([]uint64(nil), ids...))
			x.s[i].request(now, chain)
			x.s[i].lookUp(chain, &Decision{})
			got, want := x.s[i].index.Known(chain.IDs), all.index.Known(chain.IDs)
			if got < want && nextStride(got) < want {
				r.Fatalf("worker %d knows %d blocks, others know %d", i, got, want)
			}
			q := x.send(i, now, ids, "")
			all.index.Record(chain.IDs, slotOf(t, all, x.at(q)))
		}
	})
}
