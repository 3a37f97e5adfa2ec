package agent

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/zerohop/zerohop/shared/snapshot"
	"github.com/zerohop/zerohop/xds/discovery"
	"github.com/zerohop/zerohop/xds/publish"
	"github.com/zerohop/zerohop/xds/scrape"
)

// take makes list the endpoints that are there, and begins to drain the others.
func (f *fleet) take(ctx context.Context, list []discovery.Endpoint) {
	now := time.Now()
	f.count.Store(int64(max(len(list), len(f.members)))) // before scraping begins: the phases depend on it
	there := make(map[key]bool, len(list))
	for i := range list {
		e := &list[i]
		k := keyOf(e)
		there[k] = true
		m := f.members[k]
		if m == nil {
			m = &member{address: k.address.String()}
			f.members[k] = m
			f.untried++
			f.log.Info("endpoint added", "endpoint", k.id, "address", k.address.String())
		} else if !m.drains.IsZero() {
			m.drains = time.Time{}
			f.log.Info("endpoint is back", "endpoint", k.id, "address", k.address.String())
		}
		if !scrape.SameEngine(&m.endpoint, e, f.set.engineLabel) {
			m.scraping.end() // the page is to be read otherwise
		}
		m.endpoint = *e
		f.describe(k, m)
		f.inquire(ctx, k, m)
	}
	for k, m := range f.members {
		if !there[k] && m.drains.IsZero() {
			m.drains = now
			m.scraping.end()
			m.asking.end()
			f.tried(m)
			f.log.Info("endpoint drains", "endpoint", k.id, "address", k.address.String())
		}
	}
	if f.listed.IsZero() {
		f.listed = now
	}
}

// inquire starts what m is to be asked for and is not.
func (f *fleet) inquire(ctx context.Context, k key, m *member) {
	if m.scraping.stop == nil {
		m.before = m.sample
		f.start(ctx, &m.scraping, f.set.scraper, k, m.endpoint, f.results)
	}
	if m.asking.stop == nil && f.set.models != nil {
		f.start(ctx, &m.asking, f.set.models, k, m.endpoint, f.told)
	}
}

// start starts an inquiry of s, whose results go to the channel.
func (f *fleet) start(ctx context.Context, q *inquiry, s scraper, k key, e discovery.Endpoint, to chan<- result) {
	ctx, q.stop = context.WithCancel(ctx)
	f.runs++
	run := f.runs
	q.run = run
	f.running.Go(func() {
		s.Run(ctx, e, func(sample scrape.Sample) { send(ctx, to, result{k, run, sample}) })
	})
}

// change puts other settings into force. With another scraper all scraping starts anew; what is known stays. When it returns,
// snapshots carry what the plugins of s read, as far as it is known. It reports whether endpoints are asked for something that
// they were not asked for before.
func (f *fleet) change(ctx context.Context, s settings) (asks bool) {
	before := f.set
	if s.wants == nil {
		s.wants = &publish.Wants{}
	}
	f.set = s
	for k, m := range f.members {
		if s.scraper != before.scraper {
			m.scraping.end()
			m.scraping.heard = false
		}
		if s.models != before.models {
			m.asking.end()
			m.asking.heard = false
		}
		if m.drains.IsZero() {
			f.inquire(ctx, k, m)
		}
	}
	if !s.wants.Equal(before.wants) {
		// Filters that run the plan before go on reading what that needs.
		f.store.Want(s.wants.With(before.wants))
		f.narrow = time.Now().Add(lastWants)
		f.publish()
		asks = s.scraper != before.scraper
	}
	return asks || s.models != nil && s.models != before.models
}

// learn stores a result and reports whether it was of use.
func (f *fleet) learn(r result) bool {
	m := f.members[r.key]
	if m == nil || !m.scraping.takes(r) {
		return false
	}
	m.merge(r.sample)
	f.tried(m)
	return true
}

// merge takes over a sample. Scraping that starts anew knows nothing and counts from zero; what readers see goes on.
func (m *member) merge(s scrape.Sample) {
	if s.At.IsZero() {
		s.Metrics, s.At = m.before.Metrics, m.before.At
	}
	s.Seq += m.before.Seq
	s.Failures += m.before.Failures
	for i := range s.FailuresBy {
		s.FailuresBy[i] += m.before.FailuresBy[i]
	}
	m.sample = s
}

// answered reports whether m has answered what the newest settings ask.
func (f *fleet) answered(m *member) bool {
	return m.scraping.heard && (m.asking.heard || f.set.models == nil)
}

// tried notes that m needs no waiting for, if that is so.
func (f *fleet) tried(m *member) {
	if !m.tried && (f.answered(m) || !m.drains.IsZero()) {
		m.tried = true
		f.untried--
	}
}

// dropDrained forgets the endpoints that have drained, and reports whether there were any.
func (f *fleet) dropDrained() bool {
	draining := false
	for _, m := range f.members {
		draining = draining || !m.drains.IsZero()
	}
	if !draining {
		return false
	}
	loads, reported := f.reports.Loads(), len(f.reports.Envoys()) > 0
	now := time.Now()
	dropped := false
	for k, m := range f.members {
		if m.drains.IsZero() {
			continue
		}
		since := now.Sub(m.drains)
		inFlight := loads[snapshot.EndpointID([]byte(k.id), []byte(k.address.String()))].InFlight
		idle := reported && inFlight == 0 && since >= drainLeast
		if !idle && since < f.set.drain {
			continue
		}
		delete(f.members, k)
		dropped = true
		f.log.Info("endpoint removed", "endpoint", k.id, "address", k.address.String(), "in_flight", inFlight)
	}
	return dropped
}

// mayPublish reports whether there may be a version: the first one waits for a list, and a while for numbers.
func (f *fleet) mayPublish() bool {
	if _, err := f.store.Newest(); err == nil {
		return true
	}
	return !f.listed.IsZero() && (f.untried == 0 || time.Since(f.listed) >= firstPatience)
}

// patienceEnds reports whether the first version has waited long enough.
func (f *fleet) patienceEnds() bool {
	_, err := f.store.Newest()
	return err != nil && f.mayPublish()
}

// publish makes the present state the newest version if there may be one.
func (f *fleet) publish() {
	f.count.Store(int64(len(f.members)))
	if !f.mayPublish() {
		return
	}
	eps := make([]publish.Endpoint, 0, len(f.members))
	for k, m := range f.members {
		eps = append(eps, publish.Endpoint{Name: k.id, Address: m.address, Draining: !m.drains.IsZero(), Facts: m.facts, Sample: m.sample})
	}
	slices.SortFunc(eps, func(a, b publish.Endpoint) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Address, b.Address))
	})
	if err := f.store.Publish(eps, time.Now()); err != nil {
		f.log.Error("snapshot is not published; the one before stays", "error", err)
		return
	}
	if f.untried == 0 {
		f.ready.Store(true)
	}
	f.published()
}
