package lifecycletest

import (
	"strconv"
	"testing"
	"time"

	"github.com/zerohop/zerohop/filter/hosttest"
	"github.com/zerohop/zerohop/shared/names"
	"github.com/zerohop/zerohop/shared/plan"
	"github.com/zerohop/zerohop/shared/report"
	"github.com/zerohop/zerohop/shared/snapshot"
)

// told is a report, decoded.
type told struct {
	process uint64
	workers map[int]toldWorker // by worker number
}

// toldWorker is what one worker says.
type toldWorker struct {
	report.Worker
	ageMs     uint32
	endpoints map[uint64]report.Endpoint
	fallbacks map[string]uint64
}

// listen makes an agent that publishes endpoints and keeps the newest report that was not empty.
func (w *world) listen(endpoints ...int) *told {
	last := new(told)
	w.Agent = &hosttest.Agent{Version: 1, Blob: Snapshot(1, endpoints...), NotModifiedAfterMs: 100}
	w.Agent.OnPoll = func(c *hosttest.Call) {
		if c.Node != w.Node {
			w.t.Errorf("a poll of node %q, want %q", c.Node, w.Node)
		}
		if len(c.Body) > 0 {
			*last = w.decode(c.Body)
		}
	}
	return last
}

func (w *world) decode(body []byte) told {
	w.t.Helper()
	v, err := report.Open(body)
	if err != nil {
		w.t.Fatalf("a report cannot be read: %v", err)
	}
	out := told{process: v.Process(), workers: map[int]toldWorker{}}
	for it := v.Records(); it.Next(); {
		one := toldWorker{ageMs: it.AgeMs, endpoints: map[uint64]report.Endpoint{}, fallbacks: map[string]uint64{}}
		it.Record.Worker(&one.Worker)
		for i := range it.Record.Len() {
			var e report.Endpoint
			it.Record.Endpoint(i, &e)
			one.endpoints[e.ID] = e
		}
		for _, f := range v.Fallbacks(nil, it.Record) {
			if f.Count > 0 {
				one.fallbacks[f.Name] = f.Count
			}
		}
		if _, twice := out.workers[int(one.Number)]; twice {
			w.t.Errorf("two workers have number %d", one.Number)
		}
		out.workers[int(one.Number)] = one
	}
	return out
}

// sum adds up what all workers say of an endpoint.
func (r *told) sum(i int) (all report.Endpoint) {
	all.ID = endpointID(i)
	for _, k := range r.workers {
		e := k.endpoints[endpointID(i)]
		all.InFlight += e.InFlight
		all.InFlightTokens += e.InFlightTokens
		all.Picks += e.Picks
		all.Fallbacks += e.Fallbacks
		all.Failures += e.Failures
		all.Flags |= e.Flags
	}
	return all
}

func endpointID(i int) uint64 { return snapshot.EndpointID([]byte(name(i)), []byte(Address(i))) }

// workersReport asserts that what workers did arrives at the agent: per endpoint, per worker and per reason.
func workersReport(t *testing.T, s Subject) {
	eachMode(t, s, 0, func(w *world) {
		last := w.listen(1, 2, 3)
		leader, a, b := w.worker(), w.worker(), w.worker()
		w.Run(time.Second)
		chat, models := Chat(ChatBody(short)), Models()
		open := a.Open(&chat)
		open.Receive()
		for range 10 {
			w.do(a, &chat, hosttest.ToEndpoint)
			w.do(b, &models, hosttest.ToEndpoint)
			w.Advance(time.Millisecond)
		}
		w.Run(time.Second)
		w.wantWorkers(last, leader)
		all := report.Endpoint{}
		for i := 1; i <= 3; i++ {
			e := last.sum(i)
			all.Picks, all.Fallbacks, all.InFlight = all.Picks+e.Picks, all.Fallbacks+e.Fallbacks, all.InFlight+e.InFlight
			all.InFlightTokens += e.InFlightTokens
		}
		if all.Picks != 21 || all.Fallbacks != 10 || all.InFlight != 1 || all.InFlightTokens == 0 {
			w.t.Errorf("reported %+v; want 21 picks, 10 of them fallbacks, and one request in flight with its tokens", all)
		}
		open.Forward()
		open.Close()
		w.Run(time.Second)
		for i := 1; i <= 3; i++ {
			if e := last.sum(i); e.InFlight != 0 || e.InFlightTokens != 0 {
				w.t.Errorf("endpoint %d: %+v; want nothing in flight", i, e)
			}
		}
	})
}

// wantWorkers asserts what the three workers of workersReport say of themselves.
func (w *world) wantWorkers(last *told, leader *hosttest.Worker) {
	w.t.Helper()
	if len(last.workers) != 3 || last.process == 0 {
		w.t.Fatalf("process %x, %d workers; want 3", last.process, len(last.workers))
	}
	picks := []uint64{0, 11, 10} // numbers are leased in the order of the first ticks
	epochs := map[uint64]bool{}
	for n, k := range last.workers {
		if k.Revision != w.plan.RevisionID() || k.Snapshot != w.Agent.Version || k.PlanMin != plan.MinVersion || k.PlanMax != plan.Version {
			w.t.Errorf("worker %d: %+v", n, k.Worker)
		}
		if leads := k.Flags&report.Leading != 0; leads != (n == 0) {
			w.t.Errorf("worker %d: leading %v", n, leads)
		}
		if k.Picks != picks[n] || k.ageMs > 1300 {
			w.t.Errorf("worker %d: %d picks, want %d; age %d ms", n, k.Picks, picks[n], k.ageMs)
		}
		epochs[k.Epoch] = true
	}
	if len(epochs) != 3 {
		w.t.Errorf("%d epochs, want 3", len(epochs))
	}
	if f := last.workers[2].fallbacks; len(f) != 1 || f["unknown_path"] != 10 {
		w.t.Errorf("fallbacks %v, want 10 times unknown_path", f)
	}
	if len(leader.Calls()) != 1 {
		w.t.Errorf("the leader has %d polls open", len(leader.Calls()))
	}
}

// failuresReported asserts that attempts without an answer and answers of 500 and above count at their endpoint, and that
// it shows as cooling down.
func failuresReported(t *testing.T, s Subject) {
	eachMode(t, s, 0, func(w *world) {
		last := w.listen(1, 2)
		k := w.worker()
		k.Others = []string{Address(1), Address(2)}
		w.Run(time.Second)
		first, second := "", ""
		refused := Chat(ChatBody(short))
		refused.Reply = func(addr string, attempt int) hosttest.Reply {
			if attempt == 0 {
				first = addr
				return hosttest.Reply{Fail: true}
			}
			second = addr
			return hosttest.Reply{Status: 500, Chunks: 1}
		}
		w.do(k, &refused, hosttest.ToEndpoint)
		w.Run(450 * time.Millisecond) // the cool-down lasts 500 ms
		for i := 1; i <= 2; i++ {
			e := last.sum(i)
			switch Address(i) {
			case first:
				if e.Picks != 1 || e.Failures != 1 || e.Flags&report.CoolingDown == 0 {
					w.t.Errorf("the endpoint that refused: %+v", e)
				}
			case second:
				if e.Picks != 0 || e.Failures != 1 || e.Flags != 0 {
					w.t.Errorf("the endpoint that answered 500: %+v", e)
				}
			}
		}
		if k := last.workers[0]; k.Picks != 1 || k.Retries != 1 || k.Failures != 2 {
			w.t.Errorf("worker: %+v", k.Worker)
		}
	})
}

// recordsAreRare counts the stores of records: about one a second without traffic, at most four with.
func recordsAreRare(t *testing.T, s Subject) {
	w := single(t, s, 0)
	w.listen(1, 2)
	k := w.worker()
	w.Run(time.Second)
	stores := 0
	w.OnStore = func(key string) {
		if key == names.KeyWorker(0) {
			stores++
		}
	}
	w.Run(10 * time.Second)
	if stores < 9 || stores > 11 {
		t.Errorf("%d records in 10 s without traffic, want about 10", stores)
	}
	stores = 0
	r := Chat(ChatBody(short))
	for range 1000 {
		w.do(k, &r, hosttest.ToEndpoint)
		w.Run(10 * time.Millisecond)
	}
	if stores < 25 || stores > 41 {
		t.Errorf("%d records in 10 s of traffic, want 25 to 40", stores)
	}
	w.OnStore = nil
	w.check()
}

// reportsTakeTurns fills shared data with records of more bytes than a report may have: every worker is reported within a
// few polls.
func reportsTakeTurns(t *testing.T, s Subject) {
	w := single(t, s, 0)
	w.listen(1)
	w.worker()
	w.Run(time.Second)
	const others, endpoints = 100, 400
	eps := make([]report.Endpoint, endpoints)
	for i := range eps {
		eps[i] = report.Endpoint{ID: uint64(i + 1), Picks: 1}
	}
	seen := map[uint64]bool{}
	w.Agent.OnPoll = func(c *hosttest.Call) {
		if len(c.Body) == 0 {
			return
		}
		for _, k := range w.decode(c.Body).workers {
			seen[k.Epoch] = true
		}
	}
	for range 3 {
		for i := 1; i <= others; i++ {
			rec, err := report.AppendRecord(nil, &report.Worker{Epoch: uint64(i), At: uint64(w.Now()), Number: uint16(i)}, eps, nil)
			if err != nil {
				t.Fatal(err)
			}
			w.Put(names.KeyWorker(i), rec)
		}
		w.Run(time.Second)
	}
	if len(seen) != others+1 {
		t.Errorf("%d workers were reported, want %d", len(seen), others+1)
	}
	w.check()
}

// brokenRecords puts garbage where records stand: it is not reported, and its number is free.
func brokenRecords(t *testing.T, s Subject) {
	w := single(t, s, 0)
	last := w.listen(1)
	w.Put(names.KeyWorker(0), []byte("nonsense"))
	w.Put(names.KeyWorker(1), []byte{})
	w.Put(names.KeyWorker(2), []byte(report.MagicRecord))
	w.Put(names.KeyProcess, []byte("no number"))
	w.worker()
	w.Run(time.Second)
	if len(last.workers) != 0 {
		t.Errorf("reported %+v without a process", last)
	}
	w.Put(names.KeyProcess, []byte("8 bytes."))
	w.worker()
	w.Run(time.Second)
	if len(last.workers) != 2 || last.workers[0].Epoch == 0 || last.workers[1].Epoch == 0 {
		t.Errorf("reported %+v, want workers 0 and 1", last.workers)
	}
	w.check()
}

// newRevisionReported asserts that the revision in a report is that of the plan in force.
func newRevisionReported(t *testing.T, s Subject) {
	w := single(t, s, 0)
	last := w.listen(1)
	k := w.worker()
	w.Run(time.Second)
	old := w.plan.RevisionID()
	if got := last.workers[0].Revision; got != old {
		t.Errorf("revision %x, want %x", got, old)
	}
	for i, revision := range []string{"00000000000000aa", "ffffffffffffffff", ""} {
		w.plan.Revision = revision
		k.Load(names.RootDownstream, plan.Append(nil, w.plan))
		w.Run(time.Second)
		if got := last.workers[0].Revision; got != w.plan.RevisionID() {
			t.Errorf("change %s: revision %x, want %x", strconv.Itoa(i), got, w.plan.RevisionID())
		}
	}
	w.check()
}
