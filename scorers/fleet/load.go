package fleet

import "github.com/zerohop/zerohop/shared/loads"

// ringLen is the number of picks that are remembered to tell which of them a scrape has seen. At more picks between two
// scrapes the oldest count as seen.
const ringLen = 1024

// pick is one request of our own that has no first byte.
type pick struct {
	_ [0]func() // not comparable, for the size of the module

	at     uint64 // 0 if the entry is not in use
	serial uint32
	slot   int32
	gen    uint32
}

// Begin books a request sent to slot at now with the tokens that it is estimated to cost. The result names the pick for
// FirstByte.
func (t *Table) Begin(now uint64, slot int32, tokens int32) (serial uint32) {
	t.serial++
	p := &t.ring[t.serial%ringLen]
	if p.at != 0 {
		t.forget(p)
	}
	now = max(now, 1)
	p.at, p.serial, p.slot, p.gen = now, t.serial, slot, t.places[slot].gen
	since := int32(0)
	if now > t.seenAt(slot) {
		since = 1
	}
	t.book(slot, 1, 1, since, int64(tokens))
	return t.serial
}

// FirstByte says that a request no longer waits for its first byte, and releases tokens, which are all that Begin booked, or 0
// if they stay until End. slot and serial are those of its Begin, and gen the generation of the slot then. It must be called
// at most once for each Begin.
func (t *Table) FirstByte(slot int32, gen uint32, tokens int32, serial uint32) {
	since, valid := int32(0), t.Valid(slot, gen)
	if p := &t.ring[serial%ringLen]; p.serial == serial && p.at != 0 {
		if valid && p.at > t.seenAt(slot) {
			since = -1
		}
		p.at = 0
	}
	if valid {
		t.book(slot, 0, -1, since, -int64(tokens))
	}
}

// End releases what is left of a request after FirstByte: itself, and the tokens that FirstByte did not release. It must be
// called at most once for each Begin.
func (t *Table) End(slot int32, gen uint32, tokens int32) {
	if t.Valid(slot, gen) {
		t.book(slot, -1, 0, 0, -int64(tokens))
	}
}

// book adds to what this worker has at slot s, and follows it in what plugins and peers read. All of it stands here, since each
// request comes by three times while other code has left the caches cold.
func (t *Table) book(s, sent, pending, since int32, tokens int64) {
	p, v := &t.places[s], &t.view
	p.sent += sent
	p.pending += pending
	p.since += since
	p.booked += tokens
	v.InFlight[s] += sent
	v.InFlightTokens[s] += tokens
	v.Waiting[s] = t.waiting(p, v.Queue[s], v.InFlight[s])
	if x := &t.share; x.on {
		x.changed = true
		loads.SetEntry(x.vector, int(s), &loads.Entry{
			ID: p.id, Tokens: loads.Count(p.booked), InFlight: uint32(p.sent), Pending: uint32(p.pending), Since: uint32(p.since),
		})
	}
}

// waiting returns the effective number of waiting requests of a place. It is what was scraped plus a share for each pick since,
// own or a peer's; an endpoint that takes requests and answers none shows by its pending ones, whatever it reports. If no
// endpoint has fresh metrics, what was sent is all that is known.
func (t *Table) waiting(p *place, queue float64, inFlight int32) float64 {
	if t.plain {
		return queue
	}
	pending := p.pending + p.peerPending
	w := queue + PickShare*float64(p.since+p.peerSince)
	if least := PickShare * float64(pending); least > w { // cheaper than max, which looks for NaN
		w = least
	}
	return w + AnsweredShare*float64(inFlight-pending)
}

// forget takes a pick out of the ring before its first byte has come, since its place is wanted.
//
//go:noinline
func (t *Table) forget(p *pick) {
	if t.Valid(p.slot, p.gen) && p.at > t.seenAt(p.slot) {
		t.book(p.slot, 0, 0, -1, 0)
	}
	p.at = 0
}

// assume finds what an endpoint without fresh metrics is taken to report: the mean of the fresh ones, at the mean age of their
// scrapes. With its own requests alone it would look idle beside endpoints that have a queue, and get all the traffic.
// Endpoints that drain take no requests, so that theirs say nothing about the others.
func (t *Table) assume(now uint64) {
	n, waiting, age := 0.0, 0.0, 0.0
	for _, s := range t.live {
		if t.view.Fresh[s] && !t.places[s].draining {
			n++
			waiting += t.scraped[s]
			age += float64(now) - float64(t.view.ScrapedAt[s])
		}
	}
	t.assumed, t.assumedAt = 0, 0
	if n > 0 {
		t.assumed = waiting / n
		t.assumedAt = now - min(uint64(max(age/n, 0)), now)
	}
}

// seenAt returns the time up to which the queue length that is believed of slot has seen picks.
func (t *Table) seenAt(s int32) uint64 {
	if t.view.Fresh[s] {
		return t.view.ScrapedAt[s]
	}
	return t.assumedAt
}

// Queue returns the waiting requests of slot as scraped, without picks since: the mean of the fresh endpoints for one that is
// not fresh, and 0 if none is.
func (t *Table) Queue(s int32) float64 { return t.view.Queue[s] }

// believed computes Queue. Where own requests do not count, as in the EPP, the last number counts however old it is.
func (t *Table) believed(s int32) float64 {
	if t.view.Fresh[s] || t.plain {
		return t.scraped[s]
	}
	return t.assumed
}

// recount counts the picks in the ring that the newest scrapes have not seen.
func (t *Table) recount() {
	for s := range t.places {
		t.places[s].since = 0
	}
	for i := range t.ring {
		if p := &t.ring[i]; p.at != 0 && t.Valid(p.slot, p.gen) && p.at > t.seenAt(p.slot) {
			t.places[p.slot].since++
		}
	}
}
