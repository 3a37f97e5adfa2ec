package fleet

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/zerohop/zerohop/shared/loads"
)

// worker is a table with what the test knows of it.
type worker struct {
	tab      *Table
	epoch    uint64
	requests []*sent
	vector   []byte            // as last published
	heard    []map[uint64]load // by peer: what was last merged, by endpoint
}

// load is what a worker has at one endpoint.
type load struct {
	requests, pending int32
	tokens            int64
}

func (a load) plus(b load) load {
	return load{a.requests + b.requests, a.pending + b.pending, a.tokens + b.tokens}
}

func newWorker(workers int, epoch uint64) *worker {
	w := &worker{tab: New(8, stale), epoch: epoch, heard: make([]map[uint64]load, workers)}
	w.tab.Share(true)
	return w
}

// own counts the requests of w by endpoint, without those whose endpoint has been away since.
func (w *worker) own() map[uint64]load {
	out := map[uint64]load{}
	for _, r := range w.requests {
		if !w.tab.Valid(r.slot, r.gen) {
			continue
		}
		l := load{requests: 1, tokens: int64(r.held)}
		if !r.first {
			l.pending, l.tokens = 1, int64(r.tokens)
		}
		out[r.id] = out[r.id].plus(l)
	}
	return out
}

func (w *worker) publish(now uint64) {
	w.vector = slices.Clone(w.tab.Vector(&loads.Header{Epoch: w.epoch, At: now}, nil))
}

// hear has w merge what peer n published last.
func (w *worker) hear(t *rapid.T, n int, vector []byte) {
	v, err := loads.Open(vector)
	if err != nil {
		t.Fatal(err)
	}
	w.tab.Merge(n, &v)
	w.heard[n] = map[uint64]load{}
	for i := range v.Len() {
		var e loads.Entry
		if v.Entry(i, &e); e.ID != 0 {
			w.heard[n][e.ID] = load{int32(e.InFlight), int32(e.Pending), int64(e.Tokens)}
		}
	}
}

// send has w send a request to an endpoint.
func (w *worker) send(now uint64, slot, tokens int32, held bool) {
	r := &sent{slot: slot, gen: w.tab.Gen(slot), tokens: tokens, id: w.tab.View().ID[slot]}
	if held {
		r.held = tokens
	}
	r.serial = w.tab.Begin(now, slot, tokens)
	w.requests = append(w.requests, r)
}

func (w *worker) firstByte(r *sent) {
	if !r.first {
		w.tab.FirstByte(r.slot, r.gen, r.tokens-r.held, r.serial)
		r.first = true
	}
}

func (w *worker) end(i int) {
	r := w.requests[i]
	w.firstByte(r)
	w.tab.End(r.slot, r.gen, r.held)
	w.requests = slices.Delete(w.requests, i, i+1)
}

// check compares what w believes with its own requests and what it was told.
func (w *worker) check(t *rapid.T, now uint64) {
	w.tab.Refresh(now)
	v, own := w.tab.View(), w.own()
	for s := range v.ID {
		id := v.ID[s]
		want := load{}
		if id != 0 {
			want = own[id]
			for _, heard := range w.heard {
				want = want.plus(heard[id])
			}
		}
		got := load{v.InFlight[s], w.tab.places[s].pending + w.tab.places[s].peerPending, v.InFlightTokens[s]}
		if got != want {
			t.Fatalf("slot %d: %+v, want %+v", s, got, want)
		}
		if requests, tokens := w.tab.Own(int32(s)); id != 0 && (requests != own[id].requests || tokens != own[id].tokens) {
			t.Fatalf("slot %d: own %d requests and %d tokens, want %+v", s, requests, tokens, own[id])
		}
		if since := w.tab.places[s].peerSince; since < 0 || since > w.tab.places[s].peerPending || v.Waiting[s] < 0 {
			t.Fatalf("slot %d: %d of %d pending since, waiting %v", s, since, w.tab.places[s].peerPending, v.Waiting[s])
		}
	}
}

// TestSharedLoad has workers send requests to endpoints that come and go, and tell each other about it now and then, while some
// news are lost, late or old and some workers die: each always believes exactly its own requests and what it was told last.
// When all have told all, that is the true sum; when all requests have ended, it is nothing.
func TestSharedLoad(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const n = 3
		all := fleetOf(5)
		var workers [n]*worker
		now, seq, epoch := uint64(10_000*ms), uint32(0), uint64(1)
		for i := range workers {
			workers[i] = newWorker(n, epoch)
			apply(workers[i].tab, all, now, now)
			workers[i].publish(now)
			epoch++
		}
		one := func(t *rapid.T) (int, *worker) {
			i := rapid.IntRange(0, n-1).Draw(t, "worker")
			return i, workers[i]
		}
		request := func(t *rapid.T) (*worker, int) {
			_, w := one(t)
			if len(w.requests) == 0 {
				t.Skip("none")
			}
			return w, rapid.IntRange(0, len(w.requests)-1).Draw(t, "request")
		}
		t.Repeat(map[string]func(*rapid.T){
			"send": func(t *rapid.T) {
				_, w := one(t)
				if live := w.tab.Live(); len(live) > 0 {
					tokens := int32(rapid.IntRange(0, 1000).Draw(t, "tokens"))
					w.send(now, rapid.SampledFrom(live).Draw(t, "slot"), tokens, rapid.Bool().Draw(t, "held"))
				}
			},
			"first byte": func(t *rapid.T) { w, i := request(t); w.firstByte(w.requests[i]) },
			"end":        func(t *rapid.T) { w, i := request(t); w.end(i) },
			"apply": func(t *rapid.T) {
				_, w := one(t)
				var l list
				for _, e := range all {
					if rapid.IntRange(0, 4).Draw(t, "absent") == 0 {
						continue
					}
					if rapid.Bool().Draw(t, "scraped") {
						seq++
						e = scrapedAs(e, seq, uint32(rapid.IntRange(0, 500).Draw(t, "age")), 0)
					}
					l = append(l, e)
				}
				apply(w.tab, l, now, now)
			},
			"publish": func(t *rapid.T) { _, w := one(t); w.publish(now) },
			"hear": func(t *rapid.T) {
				i, w := one(t)
				if peer := rapid.IntRange(0, n-1).Draw(t, "peer"); peer != i {
					w.hear(t, peer, workers[peer].vector)
				}
			},
			"miss": func(t *rapid.T) { // a peer that was silent for too long
				i, w := one(t)
				if peer := rapid.IntRange(0, n-1).Draw(t, "peer"); peer != i {
					w.tab.Leave(peer)
					w.heard[peer] = nil
				}
			},
			"die": func(t *rapid.T) {
				i, _ := one(t)
				workers[i] = newWorker(n, epoch)
				epoch++
				apply(workers[i].tab, all, now, now)
				workers[i].publish(now)
			},
			"alone": func(t *rapid.T) {
				_, w := one(t)
				w.tab.Share(false)
				w.heard = make([]map[uint64]load, n)
				w.check(t, now)
				w.tab.Share(true)
			},
			"time passes": func(t *rapid.T) { now += uint64(rapid.IntRange(1, 1500).Draw(t, "ms")) * ms },
			"": func(t *rapid.T) {
				for _, w := range workers {
					w.check(t, now)
				}
			},
		})
		exchange := func() {
			for _, w := range workers {
				apply(w.tab, all, now, now)
				w.publish(now)
			}
			for i, w := range workers {
				for peer := range workers {
					if peer != i {
						w.hear(t, peer, workers[peer].vector)
					}
				}
			}
		}
		exchange()
		truth := map[uint64]load{}
		for _, w := range workers {
			for id, l := range w.own() {
				truth[id] = truth[id].plus(l)
			}
		}
		for i, w := range workers {
			v := w.tab.View()
			for _, s := range w.tab.Live() {
				got := load{v.InFlight[s], w.tab.places[s].pending + w.tab.places[s].peerPending, v.InFlightTokens[s]}
				if got != truth[v.ID[s]] {
					t.Fatalf("worker %d, slot %d: %+v, want the true sum %+v", i, s, got, truth[v.ID[s]])
				}
			}
		}
		for _, w := range workers {
			for len(w.requests) > 0 {
				w.end(0)
			}
		}
		exchange()
		for i, w := range workers {
			v := w.tab.View()
			for s := range v.ID {
				if v.InFlight[s] != 0 || v.InFlightTokens[s] != 0 || v.Waiting[s] != v.Queue[s] {
					t.Fatalf("worker %d, slot %d at rest: %d requests, %d tokens, %v waiting", i, s, v.InFlight[s], v.InFlightTokens[s], v.Waiting[s])
				}
			}
		}
	})
}

// vectorOf returns the vector of a worker that has the given entries.
func vectorOf(t testing.TB, epoch, layout, at uint64, entries ...loads.Entry) *loads.View {
	t.Helper()
	b := loads.Seal(loads.Resize(nil, len(entries)), &loads.Header{Epoch: epoch, Layout: layout, At: at}, nil)
	for i := range entries {
		loads.SetEntry(b, i, &entries[i])
	}
	v, err := loads.Open(b)
	if err != nil {
		t.Fatal(err)
	}
	return &v
}

// TestPicksOfPeersUntilScraped has a peer whose picks a scrape sees: they count in Waiting until then.
func TestPicksOfPeersUntilScraped(t *testing.T) {
	tab := New(2, stale)
	e := endpoint(1)
	apply(tab, list{scrapedAs(e, 1, 0, 0)}, 1000*ms, 1000*ms)
	tab.Share(true)
	s := tab.Live()[0]
	entry := loads.Entry{ID: e.ID, InFlight: 4, Pending: 4, Since: 4}
	steps := []struct {
		name string
		do   func()
		want float64
	}{
		{"four picks", func() { tab.Merge(3, vectorOf(t, 9, 1, 1010*ms, entry)) }, 4 * PickShare},
		{"a scrape that saw them, and three of them waiting", func() {
			apply(tab, list{scrapedAs(e, 2, 0, 3)}, 1020*ms, 1020*ms)
		}, 3},
		{"the peer has not seen that scrape, its vector is older", func() { tab.Merge(3, vectorOf(t, 9, 1, 1019*ms, entry)) }, 3},
		{"the peer has seen it", func() {
			tab.Merge(3, vectorOf(t, 9, 1, 1030*ms, loads.Entry{ID: e.ID, InFlight: 4, Pending: 4}))
		}, 3},
		{"a pick more", func() {
			tab.Merge(3, vectorOf(t, 9, 1, 1040*ms, loads.Entry{ID: e.ID, InFlight: 5, Pending: 5, Since: 1}))
		}, 3 + PickShare},
		{"all are answered, but not done", func() {
			tab.Merge(3, vectorOf(t, 9, 1, 1050*ms, loads.Entry{ID: e.ID, InFlight: 5}))
		}, 3 + 5*AnsweredShare},
		{"the peer is gone", func() { tab.Leave(3) }, 3},
	}
	for _, st := range steps {
		st.do()
		if got := tab.View().Waiting[s]; got != st.want {
			t.Errorf("%s: waiting %v, want %v", st.name, got, st.want)
		}
	}
}

// TestMergeCases has the changes of endpoints that are easy to get wrong. Slots of the peer are in another order.
func TestMergeCases(t *testing.T) {
	eps := fleetOf(3)
	moved := endpoint(2)
	moved.Address = []byte("10.9.9.9:8000")
	moved.ID = 77 // as its id depends on the address
	tests := []struct {
		name  string
		after list // the endpoints after the merge
		again bool // the peer's vector is merged again then
		want  map[uint64]int32
	}{
		{"all stay", eps, false, map[uint64]int32{eps[0].ID: 2, eps[1].ID: 3, eps[2].ID: 0}},
		{"one goes", eps[1:], false, map[uint64]int32{eps[1].ID: 3, eps[2].ID: 0}},
		{"one goes, and the peer still has it", eps[1:], true, map[uint64]int32{eps[1].ID: 3, eps[2].ID: 0}},
		{"same name, other address", list{eps[0], moved, eps[2]}, true, map[uint64]int32{eps[0].ID: 2, 77: 0, eps[2].ID: 0}},
		{"one comes that the peer knew first", append(slices.Clone(eps), endpoint(4)), false, map[uint64]int32{
			eps[0].ID: 2, eps[1].ID: 3, eps[2].ID: 0, endpoint(4).ID: 5,
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tab := New(8, stale)
			apply(tab, eps, 1, 1)
			tab.Share(true)
			v := vectorOf(t, 5, 1, 2, loads.Entry{ID: eps[1].ID, InFlight: 3}, loads.Entry{}, loads.Entry{ID: endpoint(4).ID, InFlight: 5},
				loads.Entry{ID: eps[0].ID, InFlight: 2})
			tab.Merge(0, v)
			apply(tab, tt.after, 3, 3)
			if tt.again {
				tab.Merge(0, v)
			}
			got := map[uint64]int32{}
			for _, s := range tab.Live() {
				got[tab.View().ID[s]] = tab.View().InFlight[s]
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("in flight (-want +got):\n%s", diff)
			}
			apply(tab, eps, 4, 4)
			tab.Leave(0)
			for _, s := range tab.Live() {
				if n := tab.View().InFlight[s]; n != 0 {
					t.Errorf("the peer is gone and slot %d has %d in flight", s, n)
				}
			}
		})
	}
}

// TestPeerRearranges has a peer whose entries come to stand for other endpoints, and one that was rebuilt under the same number.
func TestPeerRearranges(t *testing.T) {
	a, b := endpoint(1).ID, endpoint(2).ID
	tests := []struct {
		name          string
		epoch, layout uint64
		entries       []loads.Entry
		want          [2]int32
	}{
		{"other layout", 5, 2, []loads.Entry{{ID: b, InFlight: 3}, {ID: a, InFlight: 7}}, [2]int32{7, 3}},
		{"other epoch", 6, 1, []loads.Entry{{ID: b, InFlight: 1}, {}}, [2]int32{0, 1}},
		{"more slots", 5, 2, []loads.Entry{{ID: a, InFlight: 2}, {}, {ID: b, InFlight: 4}}, [2]int32{2, 4}},
		{"none left", 5, 2, nil, [2]int32{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tab := New(8, stale)
			apply(tab, fleetOf(2), 1, 1)
			tab.Share(true)
			tab.Merge(1, vectorOf(t, 5, 1, 2, loads.Entry{ID: a, InFlight: 2}, loads.Entry{ID: b, InFlight: 3}))
			tab.Merge(1, vectorOf(t, tt.epoch, tt.layout, 3, tt.entries...))
			var got [2]int32
			for i, id := range []uint64{a, b} {
				s, _ := tab.Slot(id)
				got[i] = tab.View().InFlight[s]
			}
			if got != tt.want {
				t.Errorf("in flight %v, want %v", got, tt.want)
			}
		})
	}
}

// TestImpossibleVectors merges numbers that contradict each other or are huge, from as many peers as there can be.
func TestImpossibleVectors(t *testing.T) {
	tab := New(2, stale)
	e := endpoint(1)
	apply(tab, list{scrapedAs(e, 1, 0, 0)}, 1*ms, 1*ms)
	tab.Share(true)
	s := tab.Live()[0]
	const huge = ^uint32(0)
	for n := range 64 {
		tab.Merge(n, vectorOf(t, uint64(n+1), 1, 2*ms, loads.Entry{ID: e.ID, Tokens: huge, InFlight: huge, Pending: huge, Since: huge}))
		if v := tab.View(); v.InFlight[s] <= 0 || v.InFlightTokens[s] <= 0 || !(v.Waiting[s] > 0) {
			t.Fatalf("peer %d: %d in flight, %d tokens, %v waiting", n, v.InFlight[s], v.InFlightTokens[s], v.Waiting[s])
		}
	}
	for n := range 64 {
		tab.Merge(n, vectorOf(t, uint64(n+1), 1, 3*ms, loads.Entry{ID: e.ID, Pending: 7, Since: 9}))
	}
	if v := tab.View(); v.InFlight[s] != 0 || v.Waiting[s] != 0 {
		t.Errorf("%d in flight, %v waiting, want none", v.InFlight[s], v.Waiting[s])
	}
}

// TestVectorFollows compares the vector that is kept up to date with the table, and says when it changed.
func TestVectorFollows(t *testing.T) {
	tab := New(8, stale)
	apply(tab, fleetOf(2), 1, 1)
	tab.Share(true)
	read := func() map[uint64]loads.Entry {
		v, err := loads.Open(tab.Vector(&loads.Header{Epoch: 1}, nil))
		if err != nil {
			t.Fatal(err)
		}
		out := map[uint64]loads.Entry{}
		for i := range v.Len() {
			var e loads.Entry
			if v.Entry(i, &e); e.ID != 0 {
				id := e.ID
				e.ID = 0
				out[id] = e
			}
		}
		return out
	}
	a, b, c := endpoint(1).ID, endpoint(2).ID, endpoint(3).ID
	slot, _ := tab.Slot(a)
	gen := tab.Gen(slot)
	var serial uint32
	steps := []struct {
		name string
		do   func()
		want map[uint64]loads.Entry
	}{
		{"idle", func() {}, map[uint64]loads.Entry{a: {}, b: {}}},
		{"one request", func() { serial = tab.Begin(5, slot, 70) }, map[uint64]loads.Entry{a: {Tokens: 70, InFlight: 1, Pending: 1, Since: 1}, b: {}}},
		{"first byte", func() { tab.FirstByte(slot, gen, 60, serial) }, map[uint64]loads.Entry{a: {Tokens: 10, InFlight: 1}, b: {}}},
		{"another endpoint", func() { apply(tab, fleetOf(3)[1:], 6, 6) }, map[uint64]loads.Entry{b: {}, c: {}}},
		{"the end of a request to one that is gone", func() { tab.End(slot, gen, 10) }, map[uint64]loads.Entry{b: {}, c: {}}},
	}
	layouts := map[uint64]bool{}
	for _, st := range steps {
		st.do()
		if diff := cmp.Diff(st.want, read()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", st.name, diff)
		}
		h := loads.Header{Epoch: 1}
		tab.Vector(&h, nil)
		layouts[h.Layout] = true
		if tab.VectorChanged() {
			t.Errorf("%s: changed again at once", st.name)
		}
	}
	if len(layouts) != 2 {
		t.Errorf("%d layouts, want one before and one after the change of endpoints", len(layouts))
	}
	s, _ := tab.Slot(b)
	if tab.Begin(7, s, 0); !tab.VectorChanged() {
		t.Error("a request does not count as a change")
	}
}

// TestSlot asks for the slots of endpoints that come, go and get each other's slots, each twice: what was found before must not stay.
func TestSlot(t *testing.T) {
	tab := New(200, stale)
	for _, have := range [][2]int{{0, 0}, {0, 200}, {100, 200}, {100, 300}, {0, 200}, {0, 1}} {
		apply(tab, fleetOf(have[1])[have[0]:], 1, 1)
		for range 2 {
			for n, e := range fleetOf(300) {
				s, ok := tab.Slot(e.ID)
				if want := n >= have[0] && n < have[1]; ok != want || ok && tab.View().ID[s] != e.ID {
					t.Errorf("endpoints %v: endpoint %d is known: %v, at slot %d", have, n, ok, s)
				}
			}
			if s, ok := tab.Slot(0); ok {
				t.Errorf("no endpoint is known at slot %d", s)
			}
		}
	}
}

func TestHealthOfPeers(t *testing.T) {
	tab := New(2, stale)
	apply(tab, fleetOf(2), 1, 1)
	tab.Share(true)
	s := tab.Live()[0]
	tab.SetHealth(100*ms, s, Health{FailedAt: 100 * ms, Until: 600 * ms, Level: 1})
	if tab.Usable(200*ms, s) || !tab.Usable(600*ms, s) {
		t.Error("a failure that a peer saw does not cool the endpoint down")
	}
	if got, _ := tab.Candidates(200*ms, nil); len(got) != 1 {
		t.Errorf("candidates %v", got)
	}
	if tab.SetHealth(90*ms, s, Health{}); tab.Usable(200*ms, s) {
		t.Error("an older recovery counts")
	}
	if tab.SetHealth(300*ms, s, Health{}); !tab.Usable(301*ms, s) || tab.impaired != 0 {
		t.Error("a newer recovery does not count")
	}
	tab.Fail(400*ms, s, 350*ms)
	if diff := cmp.Diff([]int32{s}, tab.TakeTransitions()); diff != "" {
		t.Errorf("transitions (-want +got):\n%s", diff)
	}
	if tab.SetHealth(350*ms, s, Health{}); tab.Usable(401*ms, s) {
		t.Error("what a peer saw before an own failure counts")
	}
	if got := tab.TakeTransitions(); len(got) != 0 {
		t.Errorf("what peers told is told again: %v", got)
	}
	tab.SetHealth(500*ms, s, Health{FailedAt: 500 * ms, Until: 1 << 62, Level: 99})
	if tab.Usable(501*ms, s) || !tab.Usable(500*ms+coolDownMax, s) {
		t.Error("a peer keeps an endpoint away for longer than the longest cool-down")
	}
}

func TestMergeAllocatesNothing(t *testing.T) {
	const n = 100
	tab := New(n, stale)
	apply(tab, fleetOf(n), 1, 1)
	tab.Share(true)
	var entries []loads.Entry
	for _, e := range fleetOf(n) {
		entries = append(entries, loads.Entry{ID: e.ID, InFlight: 1, Tokens: 5})
	}
	a := vectorOf(t, 1, 1, 5, entries...)
	for i := range entries {
		entries[i].InFlight++
	}
	b := vectorOf(t, 1, 1, 6, entries...)
	tab.Merge(3, a)
	if got := testing.AllocsPerRun(100, func() {
		tab.Merge(3, a)
		tab.Merge(3, b)
		tab.Vector(&loads.Header{Epoch: 1}, nil)
	}); got != 0 {
		t.Errorf("%v allocations", got)
	}
}
