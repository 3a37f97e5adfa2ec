package sched

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/zerohop/zerohop/shared/plan"
)

// holds returns by the name of each endpoint how many blocks of the prompts it is believed to hold.
func holds(s *Scheduler, prompts ...[]uint64) map[string]int32 {
	var d Decision
	p := promptOf(prompts...)
	p.Dry = true
	s.Decide(0, p, &d)
	out := map[string]int32{}
	for _, slot := range s.fleet.Live() {
		if n := s.match[slot]; n > 0 {
			out[string(s.Name(slot)[3:])] = n
		}
	}
	return out
}

// peers appends the records of a scheduler to those of another, which takes them at once.
type peers struct {
	t  *testing.T
	to []*Scheduler
}

func (p peers) Append(record []byte) bool {
	for _, s := range p.to {
		if got := s.Fold(slices.Clone(record)); got != Folded {
			p.t.Errorf("a record is answered by %v", got)
		}
	}
	return true
}

func (p peers) Fetch(uint64) bool { return false }

// TestIndexNamesWhoServed lets the first attempts of a request fail, and looks at the index of its worker and of a peer.
func TestIndexNamesWhoServed(t *testing.T) {
	head, all, other := []uint64{1, 2, 3}, []uint64{1, 2, 3, 4, 5, 6}, []uint64{7, 8}
	next := func(s *Scheduler, d *Decision, now uint64) {
		slot := s.Next(now, d)
		s.Retry(now, d, slot, s.Gen(slot))
	}
	for _, tt := range []struct {
		name   string
		parity string
		with   [][]uint64
		then   func(s *Scheduler, d *Decision)
		want   map[string]int32 // by 1 for the first choice, 2 for the next
	}{
		{"answered", "", [][]uint64{all}, func(s *Scheduler, d *Decision) {
			s.Status(11*ms, d, 200)
			s.Began(12*ms, d)
			s.Done(13*ms, d, false)
		}, map[string]int32{"1": 6}},
		{"the client left", "", [][]uint64{all}, func(s *Scheduler, d *Decision) { s.Done(13*ms, d, false) }, map[string]int32{"1": 6}},
		{"400", "", [][]uint64{all}, func(s *Scheduler, d *Decision) {
			s.Status(11*ms, d, 400)
			s.Done(0, d, false)
		}, map[string]int32{"1": 6}},
		{"no answer", "", [][]uint64{all}, func(s *Scheduler, d *Decision) { s.Done(13*ms, d, true) }, map[string]int32{"1": 3}},
		{"500", "", [][]uint64{all}, func(s *Scheduler, d *Decision) {
			s.Status(11*ms, d, 500)
			s.Done(0, d, false)
		}, map[string]int32{"1": 3}},
		{"429", "", [][]uint64{all}, func(s *Scheduler, d *Decision) {
			s.Status(11*ms, d, 429)
			s.Done(0, d, false)
		}, map[string]int32{"1": 3}},
		{"served in the second attempt", "", [][]uint64{all}, func(s *Scheduler, d *Decision) {
			next(s, d, 11*ms)
			s.Status(12*ms, d, 200)
			s.Done(0, d, false)
		}, map[string]int32{"1": 3, "2": 6}},
		{"two prompts", "", [][]uint64{all, other}, func(s *Scheduler, d *Decision) { next(s, d, 11*ms) }, map[string]int32{"1": 3, "2": 8}},
		{"an attempt at the same endpoint", "", [][]uint64{all}, func(s *Scheduler, d *Decision) {
			s.Retry(11*ms, d, d.Cur, d.CurGen)
		}, map[string]int32{"1": 6}},
		{"served in the third attempt", "", [][]uint64{all}, func(s *Scheduler, d *Decision) {
			next(s, d, 11*ms)
			next(s, d, 12*ms)
		}, map[string]int32{"1": 3, "3": 6}},
		{"an endpoint that is gone", "", [][]uint64{all}, func(s *Scheduler, d *Decision) {
			s.Retry(11*ms, d, 0, 12345)
		}, map[string]int32{"1": 3}},
		{"sent elsewhere by Envoy", "", [][]uint64{all}, func(s *Scheduler, d *Decision) {
			s.Redirect(11*ms, d, s.Next(11*ms, d))
		}, map[string]int32{"1": 3, "2": 6}},
		{"as the EPP", plan.ParityEPP, [][]uint64{all}, func(s *Scheduler, d *Decision) { next(s, d, 11*ms) }, map[string]int32{"1": 6}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := testPlan(3)
			p.Parity = tt.parity
			s, peer := newScheduler(t, p), newScheduler(t, p)
			s.ShareWith(peers{t, []*Scheduler{peer}}, 9)
			route(t, s, "A", head)
			var d Decision
			pr := promptOf(tt.with...)
			s.Decide(10*ms, pr, &d)
			s.Commit(10*ms, pr, &d)
			order := ranked(s, &d)
			tt.then(s, &d)
			want := map[string]int32{}
			for place, n := range tt.want {
				want[order[place[0]-'1':place[0]-'0']] = n
			}
			if diff := cmp.Diff(want, holds(s, tt.with...)); diff != "" {
				t.Errorf("blocks by endpoint, ranked %s (-want +got):\n%s", order, diff)
			}
			if diff := cmp.Diff(want, holds(peer, tt.with...)); diff != "" {
				t.Errorf("blocks by endpoint at the peer, ranked %s (-want +got):\n%s", order, diff)
			}
			if n := s.Stats(13 * ms).Unmoved; n != 0 {
				t.Errorf("%d requests could not be moved", n)
			}
		})
	}
}

// TestSessionFollowsToPeers retries a request of a session elsewhere: a peer sends the next turn there.
func TestSessionFollowsToPeers(t *testing.T) {
	p := sessionPlan(3, "session_id")
	s, peer := newScheduler(t, p), newScheduler(t, p)
	s.ShareWith(peers{t, []*Scheduler{peer}}, 9)
	var d Decision
	turn(t, s, 1*ms, "s", []uint64{1}, &d)
	next := s.Next(2*ms, &d)
	s.Retry(3*ms, &d, next, s.Gen(next))
	served := string(s.Name(d.Cur)[3:])
	var again Decision
	if at := turn(t, peer, 60_000*ms, "s", []uint64{9}, &again); at != served {
		t.Errorf("the next turn goes to %s, want %s, which served", at, served)
	}
}

// TestKeepIsBounded lets so many requests pass that the first is forgotten: its retry goes on, and is counted.
func TestKeepIsBounded(t *testing.T) {
	p := testPlan(2)
	s := newScheduler(t, p)
	ids := func(from uint64, n int) []uint64 {
		out := make([]uint64, n)
		for i := range out {
			out[i] = from + uint64(i)
		}
		return out
	}
	var first, last, d Decision
	pr := promptOf(ids(1, 100))
	s.Decide(1*ms, pr, &first)
	s.Commit(1*ms, pr, &first)
	for i := range uint64(keptWords/1000 + 1) {
		pr := promptOf(ids(1000*(i+1), 1000))
		s.Decide(2*ms, pr, &d)
		s.Commit(2*ms, pr, &d)
		last = d
	}
	for _, r := range []*Decision{&first, &last} {
		slot := s.Next(3*ms, r)
		s.Retry(3*ms, r, slot, s.Gen(slot))
		s.Done(4*ms, r, true)
	}
	if n := s.Stats(4 * ms).Unmoved; n != 1 {
		t.Errorf("%d requests could not be moved, want the first", n)
	}
	if got := holds(s, ids(1000*(keptWords/1000+1), 1000)); len(got) != 0 {
		t.Errorf("%v hold the last prompt, which nobody served", got)
	}
	if bytes := s.kept.bytes(); bytes > 8*keptWords+1<<12 {
		t.Errorf("%d bytes are kept", bytes)
	}
}

// TestKeeper puts picks of any size into the ring and gets the newest back.
func TestKeeper(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var k keeper
		type put struct {
			name   uint64
			n      int
			hash   uint64
			events int
		}
		var puts []put
		words := 0
		for i := range rapid.IntRange(1, 60).Draw(t, "puts") {
			x := put{n: rapid.IntRange(1, 20_000).Draw(t, "hashes"), hash: uint64(i) + 1, events: rapid.IntRange(0, 2).Draw(t, "events")}
			hashes := make([]uint64, x.n)
			hashes[0], hashes[x.n-1] = x.hash, x.hash
			k.held, k.events = append(k.held[:0], 7), k.events[:0]
			for range x.events {
				k.events = append(k.events, x.hash, x.hash)
			}
			x.name = k.put([]int32{0}, hashes)
			puts = append(puts, x)
		}
		for i := len(puts) - 1; i >= 0; i-- {
			x := &puts[i]
			got, ok := k.get(x.name)
			if words += x.n + 2 + 2*x.events; words > keptWords-20_010 { // what was left out at the end of the ring
				if words > keptWords && ok {
					t.Fatalf("%d words later pick %d is there", words, i)
				}
				continue
			}
			if !ok {
				t.Fatalf("%d words later pick %d is gone", words, i)
			}
			chain, held := got.chain(0)
			if held != 7 || len(chain) != x.n || chain[0] != x.hash || chain[x.n-1] != x.hash || len(got.events) != 2*x.events {
				t.Fatalf("pick %d: held %d, %d hashes from %d, %d events", i, held, len(chain), chain[0], len(got.events)/2)
			}
		}
	})
}

// TestStreamedAnswerTellsByItsFirstByte lets an endpoint send headers at once and nothing else, as an engine that hangs behind
// its HTTP server does: it is cooled down, a probe does not bring it back, and another worker learns of it.
func TestStreamedAnswerTellsByItsFirstByte(t *testing.T) {
	p := testPlan(2)
	s, peer := newScheduler(t, p), newScheduler(t, p)
	s.fleet.Slow(1000 * ms)
	s.ShareWith(peers{t, []*Scheduler{peer}}, 9)
	begin := func(now uint64) *Decision {
		d, pr := new(Decision), promptOf([]uint64{now})
		pr.Streams = true
		s.Decide(now, pr, d)
		s.Commit(now, pr, d)
		s.Status(now+ms, d, 200)
		return d
	}
	d := begin(10 * ms)
	bad := d.Cur
	s.Sweep(900 * ms)
	if s.fleet.CoolingDown(900*ms, bad) {
		t.Fatal("cooled down before a first byte is late")
	}
	s.Sweep(1011 * ms)
	for name, w := range map[string]*Scheduler{"worker": s, "peer": peer} {
		if !w.fleet.CoolingDown(1100*ms, bad) {
			t.Errorf("%s: an endpoint that owes a first byte is in use", name)
		}
	}
	s.Done(1200*ms, d, false) // the client has left
	var probe *Decision
	for now := uint64(1600); probe == nil && now < 1700; now += 10 {
		if x := begin(now * ms); x.Cur == bad {
			probe = x
		} else {
			s.Began((now+1)*ms, x)
			s.Done(0, x, false)
		}
	}
	if probe == nil {
		t.Fatal("no probe after the cool-down")
	}
	if !s.fleet.CoolingDown(1800*ms, bad) {
		t.Error("headers of a streamed answer count as good news")
	}
	s.Began(1900*ms, probe)
	if s.fleet.CoolingDown(1901*ms, bad) || peer.fleet.CoolingDown(1901*ms, bad) {
		t.Error("a first byte in time does not bring the endpoint back")
	}
	s.Done(0, probe, false)
	s.Sweep(60_000 * ms)
	if s.fleet.CoolingDown(60_001*ms, bad) {
		t.Error("an endpoint that owes nothing is overdue")
	}
}

// TestMoveOfCutPrompts moves a request whose prompts were cut, the second one to nothing, since the bound of blocks was lowered.
func TestMoveOfCutPrompts(t *testing.T) {
	s := newScheduler(t, testPlan(2))
	s.maxBlocks = 2
	p := promptOf([]uint64{1, 2, 3}, []uint64{4, 5})
	var d Decision
	s.Decide(1*ms, p, &d)
	s.Commit(1*ms, p, &d)
	next := s.Next(2*ms, &d)
	s.Retry(2*ms, &d, next, s.Gen(next))
	if got := s.index.SlotLen(next); got != 2 {
		t.Errorf("%d blocks were moved, want 2", got)
	}
}
