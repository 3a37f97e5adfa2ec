package sched

import (
	"github.com/zerohop/zerohop/scorers"
	"github.com/zerohop/zerohop/shared/picklog"
)

// keptWords bounds what is kept of prompts, in words of 8 bytes: 1 MiB, which is 500 prompts of 240 blocks (60 KB) or 80 of
// 1 600 (400 KB). The oldest make way for new ones.
const keptWords = 1 << 17

// keeper remembers what a pick recorded where, so that it can be moved when another endpoint serves. A prompt is forgotten by
// nothing but later ones: a ring needs no bookkeeping at the end of a request, and the bound is fixed.
//
// In the ring stand, for each pick: one word with the number of chains (16 bits), events (16 bits) and hashes (32 bits); for each
// chain the index of its first hash and the blocks that the endpoint held before, of 32 bits each; for each event the instance
// and the key; the hashes. None wraps around.
type keeper struct {
	ring []uint64
	end  uint64 // words that were ever written or left out; its remainder is where the next pick goes

	held   []uint32 // scratch by chain
	events []uint64 // scratch: instance and key of each event of the pick in progress
	starts []int32  // scratch
}

// bytes returns the memory that is in use.
func (k *keeper) bytes() int {
	return 8*(cap(k.ring)+cap(k.events)) + 4*(cap(k.held)+cap(k.starts))
}

// put keeps what held, events and the prompt say, and returns the name of it; 0 if there is nothing or no room.
func (k *keeper) put(starts []int32, hashes []uint64) uint64 {
	starts = starts[:len(k.held)]
	if len(starts) == 0 {
		hashes = nil
	}
	n := 1 + len(starts) + len(k.events) + len(hashes)
	if n == 1 || n > keptWords || len(starts) > 1<<16-1 {
		return 0
	}
	if k.ring == nil {
		k.ring = make([]uint64, keptWords)
	}
	at := int(k.end % keptWords)
	if at+n > keptWords {
		k.end += uint64(keptWords - at)
		at = 0
	}
	b := k.ring[at : at+n]
	b[0] = uint64(len(starts)) | uint64(len(k.events)/2)<<16 | uint64(len(hashes))<<32
	for i, start := range starts {
		start = min(start, int32(len(hashes))) // of a prompt that was cut off
		b[1+i] = uint64(uint32(start)) | uint64(k.held[i])<<32
	}
	if len(k.events) > 0 {
		copy(b[1+len(starts):], k.events)
	}
	copy(b[1+len(starts)+len(k.events):], hashes)
	k.end += uint64(n)
	return k.end - uint64(n) + 1
}

// kept is what the keeper has of one pick. It points into the ring.
type kept struct {
	chains, events, hashes []uint64
}

// get returns what put named; false if it has made way.
func (k *keeper) get(name uint64) (kept, bool) {
	if name == 0 || k.end-(name-1) > keptWords {
		return kept{}, false
	}
	b := k.ring[(name-1)%keptWords:]
	chains, events, hashes := b[0]&0xffff, 2*(b[0]>>16&0xffff), b[0]>>32
	b = b[1:]
	x := kept{chains: b[:chains]}
	b = b[chains:]
	x.events = b[:events]
	x.hashes = b[events : events+hashes]
	return x, true
}

// chain returns the hashes of chain i, and how many of them the endpoint held before.
func (x *kept) chain(i int) (hashes []uint64, held int) {
	start, end := uint32(x.chains[i]), uint32(len(x.hashes))
	if i+1 < len(x.chains) {
		end = uint32(x.chains[i+1])
	}
	return x.hashes[start:end], int(x.chains[i] >> 32)
}

// withdraw takes back what the pick of d recorded at slot, which did not serve it, if that is still the endpoint of generation
// gen. An endpoint that fails at once would attract what shares a prefix with requests that it never served.
func (s *Scheduler) withdraw(now uint64, d *Decision, slot int32, gen uint32) {
	x, ok := s.kept.get(d.Chain)
	if !ok {
		if d.Chain != 0 {
			s.stats.Unmoved++
			d.Chain = 0
		}
		return
	}
	if len(x.chains) == 0 || int(d.BlockTokens) != s.blockTokens || !s.fleet.Valid(slot, gen) {
		return
	}
	k := &s.kept
	k.held = k.held[:0]
	for i := range x.chains {
		chain, held := x.chain(i)
		s.index.Withdraw(chain, slot, held)
		k.held = append(k.held, uint32(held))
	}
	if s.share.log != nil {
		h := s.header(now, slot)
		s.share.record = picklog.AppendWithdrawal(s.share.record[:0], &h, k.startsOf(&x)[1:], x.hashes, k.held)
		s.share.appendUrgent()
	}
}

// transfer records what the pick of d recorded elsewhere at its current endpoint: its chains, and what it changed in plugins.
func (s *Scheduler) transfer(now uint64, d *Decision) {
	x, ok := s.kept.get(d.Chain)
	if !ok || !s.fleet.Valid(d.Cur, d.CurGen) {
		return
	}
	if len(x.chains) > 0 && int(d.BlockTokens) == s.blockTokens {
		s.share.tail = 0 // what the decision found is known is not what is left of it
		for i := range x.chains {
			chain, _ := x.chain(i)
			if s.share.log != nil {
				s.describe(chain)
			}
			held := s.index.Record(chain, d.Cur)
			x.chains[i] = uint64(uint32(x.chains[i])) | uint64(held)<<32
		}
		s.logPick(now, &Prompt{IDs: x.hashes, Starts: s.kept.startsOf(&x)}, d.Cur, picklog.Again)
	}
	for i := 0; i < len(x.events); i += 2 {
		s.foldEvent(x.events[i], scorers.Event{Key: x.events[i+1], At: now, Slot: d.Cur, Gen: d.CurGen})
		s.logEvent(now, d.Cur, x.events[i], x.events[i+1])
	}
}

// startsOf returns where the chains of x begin. It is valid until the next call.
func (k *keeper) startsOf(x *kept) []int32 {
	k.starts = k.starts[:0]
	for _, c := range x.chains {
		k.starts = append(k.starts, int32(uint32(c)))
	}
	return k.starts
}

// foldWithdrawal takes back what a peer takes back.
func (s *Scheduler) foldWithdrawal(r *picklog.Record, slot int32) FoldResult {
	if int(r.BlockTokens) != s.blockTokens {
		return OtherBlockSize
	}
	for i, from := 0, 0; i < r.Chains() && from < s.maxBlocks; i++ {
		from = s.chainOf(r, i, from)
		s.index.Withdraw(s.share.hashes, slot, r.Held(i))
	}
	return Folded
}
