package simtest

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"github.com/zerohop/zerohop/scorers/sched"
	"github.com/zerohop/zerohop/shared/loads"
)

// workers are several workers of one Envoy, to which requests come in turn. Before a decision a worker looks at what the others
// have done, unless it did so within the interval. Records that can wait it takes over when they are asked for, and each tick.
type workers struct {
	team
	interval time.Duration // below 0: never

	logs   []memory
	known  [][]known       // by reader, then by writer
	looked []time.Duration // by reader
	ticked []time.Duration // by reader
	next   int
	ids    []uint64
}

// tick is the period of the filter's.
const tick = 100 * time.Millisecond

// known is what a worker has read of another one.
type known struct {
	seen, head int // records
	digest     loads.Digest
}

// memory is a log that keeps everything.
type memory struct {
	records [][]byte
	fetch   func(block uint64) bool
}

// Append implements sched.Log. As many records wait as in the filter.
func (m *memory) Append(record []byte) bool {
	m.records = append(m.records, slices.Clone(record))
	return len(m.records)%64 == 0
}

func (m *memory) Fetch(block uint64) bool { return m.fetch(block) }

func newWorkers(t *testing.T, w *world, n int, interval time.Duration) *workers {
	p := &workers{interval: interval, logs: make([]memory, n), looked: make([]time.Duration, n), ticked: make([]time.Duration, n)}
	for i := range n {
		s, err := sched.New(profile(2, 2, 3), uint64(i+1))
		if err != nil {
			t.Fatal(err)
		}
		s.ShareWith(&p.logs[i], uint64(i+1))
		s.Apply(w.view(), w.nanos(), w.nanos())
		p.team = append(p.team, s)
		p.known, p.looked[i] = append(p.known, make([]known, n)), -time.Hour
		p.logs[i].fetch = func(block uint64) bool { return p.fetch(i, block) }
	}
	return p
}

// look has worker i merge and fold what the others have written.
func (p *workers) look(w *world, i int) {
	if p.interval < 0 || w.now-p.looked[i] < p.interval {
		return
	}
	p.looked[i] = w.now
	all := w.now-p.ticked[i] >= tick
	if all {
		p.ticked[i] = w.now
	}
	for peer, s := range p.team {
		if peer == i {
			continue
		}
		v, err := loads.Open(s.Vector(w.nanos(), 1))
		if err != nil {
			panic(err)
		}
		p.team[i].Merge(peer, &v)
		k := &p.known[i][peer]
		k.head = int(v.Head)
		if v.Digest(&k.digest); all || k.seen < int(k.digest.First())-1 {
			p.fold(i, peer)
		}
	}
}

// fold has worker i fold what it knows to be in the log of a peer.
func (p *workers) fold(i, peer int) {
	k := &p.known[i][peer]
	for _, r := range p.logs[peer].records[k.seen:k.head] {
		if p.team[i].Fold(r) != sched.Folded {
			panic("a record was refused")
		}
	}
	k.seen = k.head
}

// fetch has worker i fold the logs whose waiting records may name a block.
func (p *workers) fetch(i int, block uint64) (found bool) {
	for peer := range p.team {
		if k := &p.known[i][peer]; k.seen < k.head && k.digest.MayName(block) {
			p.fold(i, peer)
			found = true
		}
	}
	return found
}

func (p *workers) pick(w *world, r *request, f *flight) int {
	f.worker = p.next % len(p.team)
	p.next++
	p.look(w, f.worker)
	s := p.team[f.worker]
	var prompt sched.Prompt
	prompt, p.ids = r.scheduled(p.ids)
	s.Decide(w.nanos(), &prompt, &f.d)
	s.Commit(w.nanos(), &prompt, &f.d)
	return slices.IndexFunc(w.addresses(), func(a []byte) bool { return bytes.Equal(a, s.Address(f.d.Cur)) })
}

// addresses returns the addresses of all engines.
func (w *world) addresses() [][]byte {
	var out [][]byte
	for i := range w.snaps {
		out = append(out, w.snaps[i].Address)
	}
	return out
}

// TestWorkers replays the trace over one, four and sixteen workers that share what they know: hit rate and balance are those
// of one. Workers that know of nothing but their own requests are far from it, or the comparison would say nothing.
func TestWorkers(t *testing.T) {
	if testing.Short() {
		t.Skip("seconds of virtual engines")
	}
	reqs := trace(t)
	replay := func(n int, interval time.Duration) outcome {
		w := newWorld(3_072_000)
		p := newWorkers(t, w, n, interval)
		got := w.run(reqs, p, p.team, 250*time.Millisecond)
		for i, s := range p.team {
			p.looked[i] = -time.Hour
			p.look(w, i)
			for _, slot := range []int32{0, 1, 2, 3, 4, 5, 6, 7} {
				if v := s.View(); interval >= 0 && (v.InFlight[slot] != 0 || v.InFlightTokens[slot] != 0) {
					t.Errorf("%d workers: worker %d believes that %d requests with %d tokens are left", n, i, v.InFlight[slot], v.InFlightTokens[slot])
				}
			}
		}
		return got
	}
	one := replay(1, 0)
	t.Logf("one worker: %+v", one)
	for _, n := range []int{4, 16} {
		got := replay(n, 2*time.Millisecond)
		t.Logf("%d workers: %+v", n, got)
		if got.hit < .97*one.hit || got.busiest > 1.3 {
			t.Errorf("%d workers: hit rate %.4f, busiest %.3f; one worker has %.4f, %.3f", n, got.hit, got.busiest, one.hit, one.busiest)
		}
	}
	alone := replay(4, -1)
	t.Logf("four workers that do not share: %+v", alone)
	if alone.hit > .8*one.hit {
		t.Errorf("four workers that do not share have a hit rate of %.4f, one has %.4f", alone.hit, one.hit)
	}
}
