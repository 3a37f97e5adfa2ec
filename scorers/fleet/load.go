package fleet

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
	t.add(slot, 1, int64(tokens))
	t.pending[slot]++
	t.serial++
	p := &t.ring[t.serial%ringLen]
	t.forget(p)
	*p = pick{at: max(now, 1), serial: t.serial, slot: slot, gen: t.gen[slot]}
	if p.at > t.seenAt(slot) {
		t.since[slot]++
	}
	t.note(slot)
	return t.serial
}

// FirstByte says that a request no longer waits for its first byte, and releases tokens, which are all that Begin booked, or 0
// if they stay until End. slot and serial are those of its Begin, and gen the generation of the slot then. It must be called
// at most once for each Begin.
func (t *Table) FirstByte(slot int32, gen uint32, tokens int32, serial uint32) {
	if p := &t.ring[serial%ringLen]; p.serial == serial {
		t.forget(p)
	}
	if !t.Valid(slot, gen) {
		return
	}
	t.add(slot, 0, -int64(tokens))
	t.pending[slot]--
	t.note(slot)
}

// End releases what is left of a request after FirstByte: itself, and the tokens that FirstByte did not release. It must be
// called at most once for each Begin.
func (t *Table) End(slot int32, gen uint32, tokens int32) {
	if t.Valid(slot, gen) {
		t.add(slot, -1, -int64(tokens))
		t.note(slot)
	}
}

// add adds to what this worker has at slot.
func (t *Table) add(s, requests int32, tokens int64) {
	t.sent[s] += requests
	t.booked[s] += tokens
	t.view.InFlight[s] += requests
	t.view.InFlightTokens[s] += tokens
}

// forget takes a pick out of the ring.
func (t *Table) forget(p *pick) {
	if p.at == 0 {
		return
	}
	if t.Valid(p.slot, p.gen) && p.at > t.seenAt(p.slot) {
		t.since[p.slot]--
		t.note(p.slot)
	}
	p.at = 0
}

// assume finds what an endpoint without fresh metrics is taken to report: the mean of the fresh ones, at the mean age of their
// scrapes. With its own requests alone it would look idle beside endpoints that have a queue, and get all the traffic.
// Endpoints that drain take no requests, so that theirs say nothing about the others.
func (t *Table) assume(now uint64) {
	n, waiting, age := 0.0, 0.0, 0.0
	for _, s := range t.live {
		if t.view.Fresh[s] && !t.draining[s] {
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
	clear(t.since)
	for i := range t.ring {
		if p := &t.ring[i]; p.at != 0 && t.Valid(p.slot, p.gen) && p.at > t.seenAt(p.slot) {
			t.since[p.slot]++
		}
	}
}

// setWaiting computes the effective number of waiting requests. It is what was scraped plus a share for each pick since, own
// or a peer's; an endpoint that takes requests and answers none shows by its pending ones, whatever it reports. If no endpoint
// has fresh metrics, what was sent is all that is known. It is not copied into its callers, for the size of the module.
//
//go:noinline
func (t *Table) setWaiting(s int32) {
	if t.plain {
		t.view.Waiting[s] = t.view.Queue[s]
		return
	}
	pending, since := t.pending[s]+t.share.pending[s], t.since[s]+t.share.since[s]
	waiting := max(PickShare*float64(pending), t.view.Queue[s]+PickShare*float64(since))
	t.view.Waiting[s] = waiting + AnsweredShare*float64(t.view.InFlight[s]-pending)
}
