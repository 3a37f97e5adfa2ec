package publish

import (
	"errors"
	"math/rand/v2"
	"runtime"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/zerohop/zerohop/shared/report"
	"github.com/zerohop/zerohop/shared/snapshot"
)

// vm is a worker's record in the making.
type vm struct {
	report.Worker
	eps    []report.Endpoint
	counts []uint64
}

var testReasons = []string{"no_body", "not_json"}

// view encodes and opens a report of an Envoy process whose clock is at now (ns).
func view(t testing.TB, process, now uint64, vms ...*vm) report.View {
	t.Helper()
	records := make([][]byte, len(vms))
	for i, w := range vms {
		var err error
		if records[i], err = report.AppendRecord(nil, &w.Worker, w.eps, w.counts); err != nil {
			t.Fatal(err)
		}
	}
	b, n, err := report.AppendReport(nil, process, now, testReasons, records)
	if err != nil || n != len(vms) {
		t.Fatal(n, err)
	}
	v, err := report.Open(b)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func named(i int) Endpoint {
	return Endpoint{Name: "default/e" + strconv.Itoa(i), Address: "10.0." + strconv.Itoa(i/250) + "." + strconv.Itoa(i%250) + ":80"}
}

func idOf(e Endpoint) uint64 { return snapshot.EndpointID([]byte(e.Name), []byte(e.Address)) }

// newFleet returns a Fleet for n published endpoints.
func newFleet(t testing.TB, n int) *Fleet {
	t.Helper()
	s := NewStore(time.Now())
	eps := make([]Endpoint, n)
	for i := range eps {
		eps[i] = named(i)
	}
	if err := s.Publish(eps, time.Now()); err != nil {
		t.Fatal(err)
	}
	return NewFleet(s)
}

func mustReport(t testing.TB, f *Fleet, node string, v report.View) {
	t.Helper()
	if err := f.Report(node, v); err != nil {
		t.Fatal(err)
	}
}

func TestFleetAddsUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 2)
		a, b := idOf(named(0)), idOf(named(1))
		first := &vm{Worker: report.Worker{Epoch: 1, At: 5e6, Number: 1, Revision: 7, Snapshot: 8, PlanMin: 1, PlanMax: 2, Picks: 10, Retries: 1, Failures: 2}, eps: []report.Endpoint{
			{ID: a, InFlight: 3, InFlightTokens: 30, Picks: 7, Fallbacks: 1, Failures: 2, Flags: report.CoolingDown},
			{ID: b, Picks: 3},
			{ID: 12345, InFlight: 99, Picks: 99},
		}, counts: []uint64{1, 0}}
		lead := &vm{Worker: report.Worker{Epoch: 2, At: 6e6, Flags: report.Leading}}
		mustReport(t, f, "n1", view(t, 1, 10e6, first, lead))
		// Another process, same node id and same epochs.
		mustReport(t, f, "n1", view(t, 2, 10e6, first))
		want := map[uint64]Load{
			a: {InFlight: 6, InFlightTokens: 60, CoolingDown: 2, Picks: 14, Fallbacks: 2, Failures: 4},
			b: {Picks: 6},
		}
		if d := cmp.Diff(want, f.Loads()); d != "" {
			t.Error(d)
		}
		if d := cmp.Diff(Totals{Picks: 20, Retries: 2, Failures: 4, Fallbacks: map[string]uint64{"no_body": 2, "not_json": 0}}, f.Totals()); d != "" {
			t.Error(d)
		}
		time.Sleep(time.Second)
		worker := Worker{Number: 1, Epoch: 1, AgeMs: 1005, Revision: 7, Snapshot: 8, PlanMin: 1, PlanMax: 2, Picks: 10, Retries: 1, Failures: 2}
		envoys := []Envoy{
			{Node: "n1", Process: 1, Workers: []Worker{{Epoch: 2, Leading: true, AgeMs: 1004}, worker}},
			{Node: "n1", Process: 2, Workers: []Worker{worker}},
		}
		if d := cmp.Diff(envoys, f.Envoys()); d != "" {
			t.Error(d)
		}
	})
}

// TestFleetCounts reports a sequence of one worker's picks of one endpoint.
func TestFleetCounts(t *testing.T) {
	type step struct {
		epoch, at, picks uint64
	}
	tests := []struct {
		name  string
		steps []step
		want  uint64
	}{
		{"rise", []step{{1, 1, 5}, {1, 2, 9}}, 9},
		{"sent twice", []step{{1, 1, 5}, {1, 1, 5}}, 5},
		{"overtaken", []step{{1, 2, 9}, {1, 1, 5}, {1, 3, 10}}, 10},
		{"rebuilt", []step{{1, 1, 5}, {2, 2, 3}}, 8},
		{"rebuilt, then a late record", []step{{1, 1, 5}, {2, 3, 3}, {1, 2, 6}, {2, 4, 4}}, 10},
		{"falls at the end", []step{{1, 1, 5}, {1, 2, 2}}, 5},
		{"falls within an epoch", []step{{1, 1, 5}, {1, 2, 2}, {1, 3, 6}}, 6},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := newFleet(t, 1)
			id := idOf(named(0))
			for _, s := range tt.steps {
				w := &vm{Worker: report.Worker{Epoch: s.epoch, At: s.at * 1e6, Picks: s.picks}, eps: []report.Endpoint{{ID: id, Picks: s.picks}}, counts: []uint64{s.picks}}
				mustReport(t, f, "n", view(t, 1, 9e6, w))
			}
			if got := f.Loads()[id].Picks; got != tt.want {
				t.Errorf("%d picks, want %d", got, tt.want)
			}
			if got := f.Totals(); got.Picks != tt.want || got.Fallbacks["no_body"] != tt.want {
				t.Errorf("totals %+v, want %d", got, tt.want)
			}
		})
	}
}

func TestFleetForgetsTheSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 1)
		id := idOf(named(0))
		w := &vm{Worker: report.Worker{Epoch: 1, At: 1}, eps: []report.Endpoint{{ID: id, InFlight: 5, InFlightTokens: 50, Picks: 9, Flags: report.CoolingDown}}}
		mustReport(t, f, "n", view(t, 1, 1, w))
		time.Sleep(silentAfter - time.Millisecond)
		if l := f.Loads()[id]; l.InFlight != 5 || len(f.Envoys()) != 1 {
			t.Errorf("load %+v just before the worker is silent", l)
		}
		time.Sleep(time.Millisecond)
		if d := cmp.Diff(Load{Picks: 9}, f.Loads()[id]); d != "" || len(f.Envoys()) != 0 {
			t.Errorf("the silent worker counts: %s", d)
		}
		// It was only out of sight: its counts go on where they were.
		w.At, w.eps[0].Picks = 2, 10
		mustReport(t, f, "n", view(t, 1, 2, w))
		if l := f.Loads()[id]; l.Picks != 10 || l.InFlight != 5 || l.CoolingDown != 1 {
			t.Errorf("load %+v after it is back", l)
		}
		// Its newest record is sent again, when it is old: still silent.
		time.Sleep(silentAfter)
		mustReport(t, f, "n", view(t, 1, 2+uint64(silentAfter), w))
		if l := f.Loads()[id]; l.InFlight != 0 || len(f.Envoys()) != 0 {
			t.Errorf("load %+v by an old record", l)
		}
		time.Sleep(forgetAfter)
		if l := f.Loads()[id]; l.Picks != 10 || f.workers != 0 || f.cells != 0 || len(f.envoys) != 0 {
			t.Errorf("load %+v, %d workers, %d cells after all is forgotten", l, f.workers, f.cells)
		}
	})
}

// TestFleetSupersedes has a VM rebuilt: under the same number it takes the place of the one before at once.
func TestFleetSupersedes(t *testing.T) {
	f := newFleet(t, 1)
	id := idOf(named(0))
	record := func(epoch, at uint64, number uint16, inFlight uint32) *vm {
		return &vm{Worker: report.Worker{Epoch: epoch, At: at, Number: number}, eps: []report.Endpoint{{ID: id, InFlight: inFlight, Picks: 1}}}
	}
	tests := []struct {
		name string
		rec  *vm
		want uint64
	}{
		{"first", record(1, 10, 3, 5), 5},
		{"another number", record(2, 20, 4, 7), 12},
		{"rebuilt under the first number", record(3, 30, 3, 1), 8},
		{"late record of the one before", record(1, 15, 3, 6), 8},
		{"overtaken record", record(3, 29, 3, 9), 8},
		{"one that stood still has another number", record(1, 40, 5, 6), 14},
	}
	for _, tt := range tests {
		mustReport(t, f, "n", view(t, 1, 40, tt.rec))
		if got := f.Loads()[id].InFlight; got != tt.want {
			t.Errorf("%s: %d in flight, want %d", tt.name, got, tt.want)
		}
	}
}

func TestFleetFollowsTheEndpoints(t *testing.T) {
	f := newFleet(t, 3)
	w := &vm{Worker: report.Worker{Epoch: 1, At: 1}, eps: []report.Endpoint{
		{ID: idOf(named(0)), InFlight: 1, Picks: 10}, {ID: idOf(named(1)), InFlight: 2, Picks: 20}, {ID: idOf(named(9)), InFlight: 9, Picks: 90},
	}}
	mustReport(t, f, "n", view(t, 1, 1, w))
	// Endpoint 0 goes, 9 comes and may take its slot; same name at another address comes too.
	moved := named(1)
	moved.Address = "10.9.9.9:80"
	if err := f.store.Publish([]Endpoint{named(1), named(2), named(9), moved}, time.Now()); err != nil {
		t.Fatal(err)
	}
	want := map[uint64]Load{idOf(named(1)): {InFlight: 2, Picks: 20}, idOf(named(2)): {}, idOf(named(9)): {}, idOf(moved): {}}
	if d := cmp.Diff(want, f.Loads()); d != "" {
		t.Error(d)
	}
	w.At = 2
	mustReport(t, f, "n", view(t, 1, 2, w))
	want[idOf(named(9))] = Load{InFlight: 9, Picks: 90}
	if d := cmp.Diff(want, f.Loads()); d != "" {
		t.Error(d)
	}
}

func TestFleetIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 10)
		f.maxWorkers, f.maxCells = 3, 25
		id := idOf(named(0))
		one := func(epoch uint64) error {
			w := &vm{Worker: report.Worker{Epoch: epoch, At: 1}, eps: []report.Endpoint{{ID: id, InFlight: 1, Picks: 1}}}
			return f.Report("n", view(t, epoch, 1, w))
		}
		for epoch := range uint64(2) {
			if err := one(epoch + 1); err != nil {
				t.Errorf("worker %d: %v", epoch+1, err)
			}
		}
		if err := one(3); !errors.Is(err, ErrFull) {
			t.Errorf("a worker beyond the bound: %v", err)
		}
		if err := one(1); err != nil {
			t.Errorf("a known worker: %v", err)
		}
		time.Sleep(silentAfter)
		for epoch := uint64(3); epoch < 10; epoch++ {
			if epoch%2 == 1 {
				time.Sleep(silentAfter)
			}
			if err := one(epoch); err != nil {
				t.Errorf("worker %d finds no room though others are silent: %v", epoch, err)
			}
		}
		if f.workers > f.maxWorkers || f.cells > f.maxCells {
			t.Errorf("%d workers, %d cells", f.workers, f.cells)
		}
		if l := f.Loads()[id]; l.Picks != 9 {
			t.Errorf("%d picks of 9 workers", l.Picks)
		}
	})
}

// TestFleetForgetsNotWhoReports has a silent worker come back with more endpoints than there is room for: its counts are
// known all the same.
func TestFleetForgetsNotWhoReports(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 10)
		f.maxCells = 5
		w := &vm{Worker: report.Worker{Epoch: 1, At: 1, Picks: 3}}
		mustReport(t, f, "n", view(t, 1, 1, w))
		time.Sleep(silentAfter)
		f.sweep(time.Now())
		w.At, w.eps = 2, []report.Endpoint{{ID: idOf(named(0)), InFlight: 1}}
		if err := f.Report("n", view(t, 1, 2, w)); !errors.Is(err, ErrFull) {
			t.Errorf("error %v", err)
		}
		w.At, w.eps = 3, nil
		mustReport(t, f, "n", view(t, 1, 3, w))
		if got := f.Totals().Picks; got != 3 {
			t.Errorf("%d picks, want 3", got)
		}
	})
}

// TestFleetProperty runs Envoys whose workers pick, finish, restart, fall silent and come back, while endpoints come and
// go: counts never fall and are exact, and what is in flight is that of the live workers' newest records.
func TestFleetProperty(t *testing.T) {
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) { runFleet(t, rand.New(rand.NewPCG(seed, 0))) })
	}
}

func runFleet(t *testing.T, r *rand.Rand) {
	const envoys, workers, endpoints = 3, 3, 6
	f := newFleet(t, endpoints)
	ids := make([]uint64, endpoints)
	for i := range ids {
		ids[i] = idOf(named(i))
	}
	begin := time.Now()
	var vms [envoys][workers]*vm
	var reported [envoys][workers]*vm // copies of what was last reported
	want := make([]uint64, endpoints) // reported picks
	epoch := uint64(0)
	before := f.Loads()
	for range 300 {
		time.Sleep(time.Duration(r.IntN(3000)) * time.Millisecond)
		at := uint64(time.Since(begin)) + 1
		n := r.IntN(envoys)
		var sent []*vm
		for i := range workers {
			w := vms[n][i]
			if w == nil || r.IntN(20) == 0 { // a VM begins
				epoch++
				w = &vm{Worker: report.Worker{Epoch: epoch, Number: uint16(i)}, eps: make([]report.Endpoint, endpoints)}
				for j := range w.eps {
					w.eps[j].ID = ids[j]
				}
				vms[n][i] = w
			}
			for range r.IntN(5) {
				j := r.IntN(endpoints)
				w.eps[j].Picks++
				w.eps[j].InFlight = r.Uint32N(10)
			}
			if r.IntN(4) == 0 {
				continue // this one is left out of the report
			}
			w.At = at
			last := reported[n][i]
			for j := range w.eps {
				want[j] += w.eps[j].Picks
				if last != nil && last.Epoch == w.Epoch {
					want[j] -= last.eps[j].Picks
				}
			}
			c := *w
			c.eps = append([]report.Endpoint(nil), w.eps...)
			reported[n][i] = &c
			sent = append(sent, w)
		}
		mustReport(t, f, "n"+strconv.Itoa(n), view(t, uint64(n), at, sent...))
		got := f.Loads()
		for j, id := range ids {
			if got[id].Picks < before[id].Picks {
				t.Fatalf("endpoint %d: picks fall from %d to %d", j, before[id].Picks, got[id].Picks)
			}
			if got[id].Picks != want[j] {
				t.Fatalf("endpoint %d: %d picks, want %d", j, got[id].Picks, want[j])
			}
			var live uint64
			for _, e := range reported {
				for _, w := range e {
					if w != nil && at-w.At < uint64(silentAfter) {
						live += uint64(w.eps[j].InFlight)
					}
				}
			}
			if got[id].InFlight != live {
				t.Fatalf("endpoint %d: %d in flight, want %d", j, got[id].InFlight, live)
			}
		}
		before = got
	}
}

// FuzzFleet takes reports of any content, lawful or not: sums never fall, and once all are silent nothing is in flight.
func FuzzFleet(f *testing.F) {
	f.Add(uint64(1), uint8(10))
	f.Add(uint64(2), uint8(200))
	f.Fuzz(func(t *testing.T, seed uint64, steps uint8) {
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 0))
			fleet := newFleet(t, 4)
			fleet.maxWorkers, fleet.maxCells = 8, 30
			number := func() uint64 { return r.Uint64() >> r.IntN(64) }
			var before map[uint64]Load
			var totals Totals
			for range steps {
				var vms []*vm
				for range r.IntN(4) {
					w := &vm{Worker: report.Worker{
						Epoch: 1 + r.Uint64N(6), At: number(), Number: uint16(r.IntN(3)), Picks: number(), Retries: number(), Failures: number(),
					}, counts: []uint64{number()}}
					for range r.IntN(6) {
						w.eps = append(w.eps, report.Endpoint{
							ID: idOf(named(r.IntN(6))), InFlight: uint32(number()), InFlightTokens: number(), Picks: number(),
							Fallbacks: number(), Failures: number(), Flags: uint16(r.IntN(2)),
						})
					}
					vms = append(vms, w)
				}
				if err := fleet.Report("n"+strconv.Itoa(r.IntN(3)), view(t, r.Uint64N(2), number(), vms...)); err != nil && !errors.Is(err, ErrFull) {
					t.Fatal(err)
				}
				time.Sleep(time.Duration(r.Int64N(int64(8 * time.Second))))
				loads, sums := fleet.Loads(), fleet.Totals()
				for id, b := range before {
					if l := loads[id]; l.Picks < b.Picks || l.Fallbacks < b.Fallbacks || l.Failures < b.Failures {
						t.Fatalf("%+v falls to %+v", b, l)
					}
				}
				if sums.Picks < totals.Picks || sums.Retries < totals.Retries || sums.Failures < totals.Failures || sums.Fallbacks["no_body"] < totals.Fallbacks["no_body"] {
					t.Fatalf("%+v falls to %+v", totals, sums)
				}
				if fleet.workers > fleet.maxWorkers || fleet.cells > fleet.maxCells {
					t.Fatalf("%d workers, %d cells", fleet.workers, fleet.cells)
				}
				before, totals = loads, sums
			}
			time.Sleep(silentAfter)
			for _, l := range fleet.Loads() {
				if l.InFlight != 0 || l.InFlightTokens != 0 || l.CoolingDown != 0 {
					t.Errorf("%+v though all are silent", l)
				}
			}
		})
	})
}

// TestFleetMemory holds the memory of many Envoys: 100 of 4 workers with 1,000 endpoints each.
func TestFleetMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("reports 400,000 numbers")
	}
	f := newFleet(t, 1000)
	eps := make([]report.Endpoint, 1000)
	for i := range eps {
		eps[i] = report.Endpoint{ID: idOf(named(i)), InFlight: 1, Picks: 1}
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for n := range uint64(100) {
		var vms []*vm
		for i := range uint64(4) {
			vms = append(vms, &vm{Worker: report.Worker{Epoch: i + 1, At: 1, Number: uint16(i)}, eps: eps})
		}
		mustReport(t, f, "n"+strconv.FormatUint(n, 10), view(t, n, 1, vms...))
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 48*400_000 {
		t.Errorf("%d bytes for 400,000 numbers", grown)
	}
	if l := f.Loads()[idOf(named(7))]; l.InFlight != 400 || l.Picks != 400 {
		t.Errorf("load %+v", l)
	}
}

func BenchmarkFleetReport(b *testing.B) {
	f := newFleet(b, 1000)
	w := &vm{Worker: report.Worker{Epoch: 1}, eps: make([]report.Endpoint, 1000)}
	for i := range w.eps {
		w.eps[i] = report.Endpoint{ID: idOf(named(i)), InFlight: 1, Picks: 1}
	}
	b.ReportAllocs()
	for b.Loop() {
		w.At++
		b.StopTimer()
		v := view(b, 1, w.At, w)
		b.StartTimer()
		if err := f.Report("n", v); err != nil {
			b.Fatal(err)
		}
	}
}
