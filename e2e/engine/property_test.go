package engine

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// check verifies that each block is either free or counted by the sequences that hold it, that the free list is whole, and
// that the index leads to every hash and to nothing else.
func check(t *rapid.T, e *Engine) {
	p := e.pool
	refs := make([]int32, p.size())
	for _, s := range e.running {
		if len(s.blocks) != e.blocksFor(s.computed+s.scheduled) && s.scheduled > 0 {
			t.Fatalf("sequence %d: %d blocks for %d tokens", s.id, len(s.blocks), s.computed+s.scheduled)
		}
		for _, b := range s.blocks {
			refs[b]++
		}
	}
	for _, s := range e.waiting {
		if len(s.blocks) != 0 {
			t.Fatalf("waiting sequence %d holds %d blocks", s.id, len(s.blocks))
		}
	}
	free, hashed := 0, 0
	for b := range refs {
		if refs[b] != p.blocks[b].refs {
			t.Fatalf("block %d: %d references, held %d times", b, p.blocks[b].refs, refs[b])
		}
		if refs[b] == 0 {
			free++
		}
		if p.blocks[b].hash != 0 {
			hashed++
		}
	}
	listed := 0
	for b := p.blocks[p.size()].next; int(b) != p.size(); b = p.blocks[b].next {
		listed++
	}
	if free != p.free || listed != free {
		t.Fatalf("%d blocks without reference, %d counted, %d listed", free, p.free, listed)
	}
	for hash, b := range p.first {
		for ; b != none; b = p.blocks[b].same {
			hashed--
			if p.blocks[b].hash != hash {
				t.Fatalf("block %d is indexed under a foreign hash", b)
			}
		}
	}
	if hashed != 0 {
		t.Fatalf("%d blocks have a hash and are not indexed", hashed)
	}
}

// TestConservation runs random traffic with shared prefixes, cancellations and resets through small caches.
func TestConservation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		profile := small()
		profile.MaxRunning = rapid.IntRange(1, 6).Draw(t, "max running")
		profile.TokenBudget = rapid.IntRange(1, 80).Draw(t, "budget")
		blocks := rapid.IntRange(4, 24).Draw(t, "blocks")
		e, err := New(Config{Profile: profile, BlockTokens: 4, CapacityTokens: blocks * 4})
		if err != nil {
			t.Fatal(err)
		}
		now := time.Duration(0)
		open := map[uint64]bool{}
		settle := func(outputs []Output) {
			for _, o := range outputs {
				if !open[o.ID] {
					t.Fatalf("output for request %d, which is not open", o.ID)
				}
				if o.Finished {
					delete(open, o.ID)
				}
			}
		}
		step := func() bool {
			end, ok := e.Begin(now)
			if !ok {
				return false
			}
			check(t, e)
			if end <= now {
				t.Fatalf("step from %v to %v", now, end)
			}
			now = end
			settle(e.End())
			check(t, e)
			return true
		}
		for id := range uint64(rapid.IntRange(1, 40).Draw(t, "requests")) {
			prompt := make([]byte, 4*rapid.IntRange(1, blocks*4-1).Draw(t, "prompt"))
			for i := range prompt[rapid.IntRange(0, len(prompt)).Draw(t, "shared"):] {
				prompt[len(prompt)-1-i] = byte(id)
			}
			r := Request{ID: id, Prompt: NewPrompt(prompt, "", 4), MaxTokens: rapid.IntRange(1, 20).Draw(t, "max tokens")}
			if e.Submit(now, r) == nil {
				open[id] = true
			}
			for range rapid.IntRange(0, 3).Draw(t, "steps") {
				step()
			}
			switch rapid.IntRange(0, 9).Draw(t, "event") {
			case 0:
				victim := rapid.Uint64Range(0, id).Draw(t, "victim")
				e.Cancel(victim)
				delete(open, victim)
			case 1:
				e.ResetCache()
			}
			check(t, e)
		}
		for n := 0; step(); n++ {
			if n > 100_000 {
				t.Fatal("engine does not become idle")
			}
		}
		if len(open) != 0 || e.Stats().ActiveBlocks != 0 {
			t.Fatalf("requests %v left, %d blocks in use", open, e.Stats().ActiveBlocks)
		}
	})
}

// TestDeterminism runs the same traffic twice.
func TestDeterminism(t *testing.T) {
	run := func() (outputs []Output, stats Stats) {
		e := newEngine(t, Config{CapacityTokens: 40_000})
		now := time.Duration(0)
		for id := range uint64(60) {
			prompt := slices.Concat(text(byte(id%5), 700), text(byte(id), int(id)*13+1))
			submit(t, e, now, id, prompt, int(id%7)*40+1)
			if end, ok := e.Begin(now); ok {
				now = end
				outputs = append(outputs, e.End()...)
			}
		}
		for {
			end, ok := e.Begin(now)
			if !ok {
				return outputs, e.Stats()
			}
			now = end
			outputs = append(outputs, e.End()...)
		}
	}
	outputs1, stats1 := run()
	outputs2, stats2 := run()
	if d := cmp.Diff(outputs1, outputs2); d != "" {
		t.Errorf("outputs differ:\n%s", d)
	}
	if d := cmp.Diff(stats1, stats2); d != "" {
		t.Errorf("stats differ:\n%s", d)
	}
}

// BenchmarkStep measures a decode step of 64 running requests.
func BenchmarkStep(b *testing.B) {
	e, err := New(Config{CapacityTokens: 1 << 22})
	if err != nil {
		b.Fatal(err)
	}
	now := time.Duration(0)
	id := uint64(0)
	for b.Loop() {
		for e.Stats().Running+e.Stats().Waiting < 64 {
			id++
			r := Request{ID: id, Prompt: NewPrompt(text(byte(id), 256), "", DefaultBlockTokens), MaxTokens: 4000}
			if err := e.Submit(now, r); err != nil {
				b.Fatal(err)
			}
		}
		now, _ = e.Begin(now)
		e.End()
	}
}
